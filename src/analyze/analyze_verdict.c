/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The verdict; see analyze_verdict.h. */
#include "analyze/analyze_verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "analyze/analyze_asleep.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"
#include "graph/graph.h"
#include "symbol/symbol_signature.h"

#define NAME_BYTES 60u
#define SECOND 0.1        /* of the run, from which on what is second is said */
#define WORTH_A_WORD 0.05 /* and from which on what is Low is */

struct sentence {
    char text[1000];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *s,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(s->text + s->len, sizeof s->text - s->len, format, args);
    va_end(args);
    if (n > 0) s->len += (size_t)n;
    if (s->len >= sizeof s->text) s->len = sizeof s->text - 1;
}

/* A name, or its beginning: whole characters. */
static void cut_end(const char *name, char out[NAME_BYTES + 4])
{
    size_t len = strlen(name);
    bool is_cut = len > NAME_BYTES;
    if (is_cut) len = NAME_BYTES;
    while (is_cut && len && ((unsigned char)name[len] & 0xc0) == 0x80)
        len--;
    memcpy(out, name, len);
    memcpy(out + len, is_cut ? "…" : "", is_cut ? sizeof "…" : 1);
}

/* Of a long one of C++ the arguments give way first. */
static const char *cut(const char *name, char out[NAME_BYTES + 4])
{
    char *types = NULL, *all = NULL;
    if (strlen(name) <= NAME_BYTES) return name;
    types = axp__signature_fold(name, '<', '>');
    if (types && strlen(types) > NAME_BYTES)
        all = axp__signature_fold(types, '(', ')');
    cut_end(all ? all : types ? types : name, out);
    free(types);
    free(all);
    return out;
}

static const char *percent(double share, char out[32])
{
    double value = 100 * share;
    return axp__fixed(out, 32, value, value < 9.95 ? 1 : 0);
}

/* ---- what the run's time is ----------------------------------------------------------- */

struct part {
    const char *name;
    double share; /* of the run; of functions, of the processor time */
};

struct parts {
    struct part at[2]; /* most first */
    size_t n;
    bool is_sampled;
};

static void add_part(struct parts *p, const char *name, double share)
{
    struct part one = {name, share};
    if (p->n < 2)
        p->at[p->n++] = one;
    else if (share > p->at[1].share)
        p->at[1] = one;
    if (p->n == 2 && p->at[1].share > p->at[0].share) {
        one = p->at[0];
        p->at[0] = p->at[1];
        p->at[1] = one;
    }
}

static bool add_path(const axp_view *v, struct parts *p)
{
    const struct axp__recorded *of = NULL;
    if (axp__graph_recorded(v, &of)) return false;
    size_t n = of ? axp_replay_parts(of->replay, NULL, 0) : 0;
    axp_path_part *all = calloc(n + 1, sizeof *all);
    if (!all) return false;
    if (n) axp_replay_parts(of->replay, all, n);
    for (size_t i = 0; i < n; i++)
        if (!all[i].is_own) add_part(p, all[i].name, all[i].share);
    free(all);
    return true;
}

/* What only waits beside the others is no part of what the run is. */
static double share_of(const struct axp__analysis *a, const axp_op *op)
{
    axp_ns most, ns = axp__wall_ns(a->wall, op);
    if (axp__asleep_most(a->v, op, &most) && most < ns) ns = most;
    return (double)ns / (double)a->v->duration_ns;
}

static void add_ops(const struct axp__analysis *a, struct parts *p)
{
    const axp_view *v = a->v;
    double wall = (double)v->duration_ns;
    for (size_t i = 0; i < v->n_ops && wall > 0; i++) {
        const axp_op *op = &v->ops[i];
        if (p->n < 2 || (double)op->self_ns > p->at[1].share * wall)
            add_part(p, op->name, share_of(a, op));
    }
    if (v->n_ops) return;
    p->is_sampled = v->n_functions != 0;
    for (size_t i = 0; i < v->n_functions; i++)
        if (!axp__library_has(&a->library, i) && !v->functions[i].is_own)
            add_part(p, v->functions[i].name, v->functions[i].time_share);
    for (size_t i = 0; i < a->library.n; i++)
        add_part(p, a->library.all[i].op.name, a->library.all[i].op.time_share);
}

static void say_parts(struct sentence *s, const struct parts *p)
{
    char name[NAME_BYTES + 4], share[32];
    if (!p->n || p->at[0].share <= 0) return;
    say(s, "%s %% of the %s is %s", percent(p->at[0].share, share),
        p->is_sampled ? "processor time" : "run", cut(p->at[0].name, name));
    if (p->n > 1 && p->at[1].share >= SECOND)
        say(s, ", %s %% %s", percent(p->at[1].share, share),
            cut(p->at[1].name, name));
}

/* ---- what to change -------------------------------------------------------------------- */

/* What is done about a finding; %s is its name. */
static const char *change_of(axp_finding_type type)
{
    switch (type) {
    case AXP_SLOW_OPERATION: return "a faster %s";
    case AXP_HIGH_CALL_COUNT: return "fewer calls of %s";
    case AXP_MEMORY_HOTSPOT: return "a smaller %s, which fills the memory,";
    case AXP_MEMORY_LEAK: return "freeing %s";
    case AXP_LOW_THROUGHPUT: return "%s at the speed that the machine allows";
    case AXP_LOAD_IMBALANCE: return "dividing %s evenly";
    case AXP_LOCK_CONTENTION: return "holding the lock for less than all of %s";
    case AXP_SERIAL_PHASE:
        return "dividing %s among the threads that wait for it";
    case AXP_INPUT_BOUND: return "doing %s ahead, beside the computing,";
    case AXP_MEMORY_GROWTH: return "a %s that does not grow with every step";
    case AXP_ALLOCATION_CHURN: return "keeping the memory of %s between steps";
    case AXP_SYNC_WAIT: return "ending %s sooner";
    case AXP_IO_WAIT: return "doing the I/O of %s ahead";
    case AXP_OVERSUBSCRIPTION: return "having as many %s as processors";
    case AXP_STEP_OUTLIERS: return "sparing slow steps the extra time of %s";
    case AXP_STEP_DRIFT: return "keeping %s from growing slower";
    case AXP_SLOW_START: return "sparing the first step the extra time of %s";
    case AXP_COMM_BOUND:
    case AXP_COPY_BOUND: return "doing %s beside the computing";
    case AXP_DEVICE_IDLE: return "a %s that always has work";
    case AXP_MEMORY_BOUND:
    case AXP_BANDWIDTH_SATURATED: return "moving less memory in %s";
    case AXP_COMPUTE_BOUND: return "less arithmetic in %s";
    case AXP_LATENCY_BOUND: return "more of %s at once";
    case AXP_IMPLAUSIBLE_WORK: return "the work that %s declares";
    case AXP_PRECISION: return "computing %s with narrower numbers";
    case AXP_SHAPE_UNFRIENDLY: return "giving %s sides that fill vectors";
    case AXP_PEAK_PRESSURE: return "holding less than %s does at the peak";
    case AXP_TEMPORARY_ALLOCATIONS: return "keeping the memory of %s";
    case AXP_CALL_OVERHEAD: return "fewer and larger calls of %s";
    case AXP_LAUNCH_BOUND: return "fewer and larger launches of %s";
    case AXP_FRAGMENTATION: return "freeing what %s allocates together";
    default: return NULL;
    }
}

/* Whether that is several things: calls give, and a call gives. */
static bool is_of_several(axp_finding_type type)
{
    const char *change = change_of(type);
    return change && !strncmp(change, "fewer", 5);
}

static const axp_metric *metric_of(const axp_finding *f, const char *key)
{
    for (size_t i = 0; i < f->n_metrics; i++)
        if (!strcmp(f->metrics[i].key, key)) return &f->metrics[i];
    return NULL;
}

/* Of one thread's work alone less than half is what it is named after. */
static bool is_of_much(const axp_finding *f)
{
    const axp_metric *part = metric_of(f, "part_percentage");
    return f->type == AXP_SERIAL_PHASE && part && part->value < 50;
}

/* Nobody makes the kernel faster: who asks it may do with less. */
static const char *change_of_kernel(const struct axp__analysis *a,
                                    const char **name)
{
    *name = a->kernel.by ? a->kernel.by : "kernel";
    return a->kernel.by ? "asking the kernel for less in %s"
                        : "asking the %s for less";
}

/* Where something is marked a scope may be called as it is. */
static bool is_kernels(const struct axp__analysis *a, const axp_finding *f)
{
    if (axp__is_marked(a->v)) return false;
    for (size_t i = 0; i < a->v->n_functions; i++)
        if (a->v->functions[i].is_kernel)
            return f->type == AXP_SLOW_OPERATION &&
                   !strcmp(f->name, a->v->functions[i].name);
    return false;
}

static void say_name(struct sentence *s, const struct axp__analysis *a,
                     const axp_finding *f)
{
    char buf[NAME_BYTES + 4];
    const char *name = f->name, *change = change_of(f->type);
    if (is_kernels(a, f)) change = change_of_kernel(a, &name);
    name = cut(name, buf);
    if (f->type == AXP_OVERSUBSCRIPTION) name = "threads";
    if (is_of_much(f))
        change = "dividing what one thread does while others wait for it";
    if (f->type == AXP_IO_WAIT && !metric_of(f, "io_percentage"))
        change = f->name[0] == '(' ? "less waiting" /* nobody knows where */
                                   : "less waiting in %s"; /* maybe a sleep */
    if (f->type == AXP_LOCK_CONTENTION && f->saving_is_bound)
        change = "not waiting for the lock in %s"; /* a library's */
    const char *at = change ? strstr(change, "%s") : NULL;
    if (at)
        say(s, "%.*s%s%s", (int)(at - change), change, name, at + 2);
    else if (change)
        say(s, "%s", change);
    else
        say(s, "%s (%s)", name, f->type_name);
}

static void say_change(struct sentence *s, const struct axp__analysis *a,
                       const axp_finding *f)
{
    char share[32];
    if (!f->saving_ns) {
        say(s, "first to change: ");
        say_name(s, a, f);
        if (s->text[s->len - 1] == ',') s->len--;
        return;
    }
    say_name(s, a, f);
    say(s, " %s back %s%s %%", is_of_several(f->type) ? "give" : "gives",
        f->saving_is_bound ? "at most " : "", percent(f->saving_share, share));
}

/* ---- nothing to change ------------------------------------------------------------------- */

static const axp_finding *finding_of(const axp_findings *f, const axp_op *op)
{
    for (size_t i = 0; i < f->n; i++)
        if (!strcmp(f->all[i].name, op->name)) return &f->all[i];
    return NULL;
}

/* Of what a finding says that is to be gained, what doing the same faster gains:
 * near its roof all of an operation's time is the bound, for doing less. */
static double with_same_work(const axp_finding *f)
{
    bool is_near = f->type == AXP_MEMORY_BOUND ||
                   f->type == AXP_BANDWIDTH_SATURATED ||
                   f->type == AXP_COMPUTE_BOUND ||
                   (f->type == AXP_SLOW_OPERATION && f->saving_is_bound);
    for (size_t i = 0; is_near && i < f->n_metrics; i++)
        if (!strcmp(f->metrics[i].key, "roof_share"))
            return f->saving_share * fmax(0, 1 - f->metrics[i].value);
    return f->saving_share;
}

/* All of the time of one that no finding is about, of the run; 0: there is one, or
 * it is no more than `most`. */
static double unnamed_share(const struct axp__analysis *a,
                            const axp_findings *f, const axp_op *op,
                            double most)
{
    double wall = (double)a->v->duration_ns;
    double by = axp__wall_beside(a->v, op);
    if (!(wall > 0) || op->is_wait ||
        op->is_own || /* ours gives back nothing */
        op->category == AXP_CAT_SYNC ||
        by * (double)op->self_ns <= most * wall || finding_of(f, op))
        return 0;
    return fmin(1, by * (double)axp__wall_ns(a->wall, op) / wall);
}

/* No change of one operation gives back more: what findings say, and all of the
 * time of others. */
struct most {
    double share;
    bool is_same;     /* unless it does less */
    bool is_function; /* that was sampled: several can have one cause */
};

static void add_unnamed(const struct axp__analysis *a, const axp_findings *f,
                        const axp_op *op, struct most *most)
{
    double share = unnamed_share(a, f, op, most->share);
    if (share <= most->share) return;
    most->share = share;
    most->is_function = op->is_sampled;
}

static struct most most_to_gain(const struct axp__analysis *a,
                                const axp_findings *f)
{
    const axp_view *v = a->v;
    struct most most = {0};
    double bound = 0;
    for (size_t i = 0; i < f->n; i++) {
        most.share = fmax(most.share, with_same_work(&f->all[i]));
        bound = fmax(bound, f->all[i].saving_share);
    }
    for (size_t i = 0; i < v->n_ops; i++)
        add_unnamed(a, f, &v->ops[i], &most);
    for (size_t i = 0; i < v->n_functions && !axp__is_marked(v); i++)
        if (!axp__library_has(&a->library, i))
            add_unnamed(a, f, &v->functions[i], &most);
    for (size_t i = 0; i < a->library.n; i++)
        add_unnamed(a, f, &a->library.all[i].op, &most);
    for (size_t i = 0; i < a->n_outside; i++)
        add_unnamed(a, f, &a->outside[i], &most);
    most.is_same = bound > most.share;
    return most;
}

static void say_looked(struct sentence *s, const axp_view *v)
{
    const char *comma = " Looked at: ";
    struct {
        uint64_t n;
        const char *one, *many;
    } of[] = {{v->n_ops, "operation", "operations"},
              {v->n_ops ? 0 : v->n_functions, "function", "functions"},
              {v->n_threads > 1 ? v->n_threads : 0, "thread", "threads"},
              {v->n_tracks, "track", "tracks"},
              {v->steps.count, "step", "steps"},
              {v->memory.n_allocs, "allocation", "allocations"},
              {v->heap.n_allocs, "block of the heap", "blocks of the heap"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (!of[i].n) continue;
        say(s, "%s%llu %s", comma, (unsigned long long)of[i].n,
            of[i].n == 1 ? of[i].one : of[i].many);
        comma = ", ";
    }
    if (*comma == ',') say(s, ".");
}

/* ---- nothing to judge ---------------------------------------------------------------------- */

/* The run was over before; it may have had no steps at all. */
static char *no_part(const axp_view *v)
{
    return strdup(
        v->capture->part.first_step
            ? "Nothing was recorded: the part of the run that was asked for "
              "never came. The run ended before it had marked so many steps."
            : "Nothing was recorded: the part of the run that was asked for "
              "never came. The run ended before.");
}

static const axp_warning *warned(const axp_view *v, const char *code)
{
    for (size_t i = 0; i < v->n_warnings; i++)
        if (!strcmp(v->warnings[i].code, code)) return &v->warnings[i];
    return NULL;
}

/* It may have recorded much: what to change is no matter of its own. */
static bool say_unrecorded(struct sentence *s, const axp_view *v)
{
    const axp_warning *w = warned(v, "unrecorded_processes");
    if (!w) return false;
    say(s,
        "Nothing could be judged: what the program did could not be "
        "recorded%s%s%s.",
        w->name ? " (" : "", w->name ? w->name : "", w->name ? ")" : "");
    return true;
}

/* Why, and what would change that; NULL: something can be. */
static const char *unjudged(const axp_view *v)
{
    if (v->n_tracks || v->memory.n_allocs || v->steps.count ||
        axp__is_marked(v) ||
        (v->n_functions && v->n_sampled >= AXP__FEW_SAMPLES))
        return NULL;
    if (warned(v, "left_running")) /* as of a daemon */
        return "No time could be judged: what the program started went on "
               "when it had ended, and was not looked at from then on; start "
               "it so that it stays in the foreground.";
    if (v->n_functions)
        return "No time could be judged: so little processor time was used "
               "that too few samples were taken; --sample 10000 takes more.";
    if (v->heap.n_allocs)
        return "No time could be judged: no scope, sample or step was "
               "recorded; what the allocator handed out stands below.";
    return "Nothing could be judged: no scope, allocation or step was "
           "recorded. Mark what matters with AXP_SCOPE, or build with "
           "-finstrument-functions; \"axprof doctor PROGRAM\" says what fits "
           "a program. If it is marked: macros record to the global profiler, "
           "whose file axp_global_open chooses, not options.path.";
}

/* A run that did hardly anything but wait, and not for a processor. */
#define LEAST_USED 0.1       /* of the run, of all threads together */
#define SHORT_RUN 100000000u /* ns: its beginning and end are much of it */

static bool say_waiting(struct sentence *s, const axp_view *v)
{
    char used[32], wall[32];
    uint64_t cpu_ns = 0, ready_ns = 0;
    for (size_t i = 0; i < v->n_threads; i++) {
        cpu_ns += v->threads[i].cpu_ns;
        ready_ns += v->threads[i].ready_ns;
    }
    double wanted = (double)cpu_ns + (double)ready_ns;
    if (!cpu_ns || v->duration_ns < SHORT_RUN ||
        wanted > LEAST_USED * (double)v->duration_ns)
        return false;
    axp_format_ns(used, sizeof used, cpu_ns);
    axp_format_ns(wall, sizeof wall, v->duration_ns);
    say(s,
        "A processor was used for %s of %s: the rest of the run is waiting for "
        "something outside the program (input, a timer, another process, a "
        "network). AXP_SCOPE around what waits tells which.",
        used, wall);
    return true;
}

/* The first that may be worth a word though it is Low, and not by less work
 * alone; NULL: none. */
static const axp_finding *worth_a_word(const axp_findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        double share = f->all[i].saving_share;
        if (share >= WORTH_A_WORD && with_same_work(&f->all[i]) >= share)
            return &f->all[i];
    }
    return NULL;
}

static void say_healthy(struct sentence *s, const struct axp__analysis *a,
                        const axp_findings *f, const struct parts *parts)
{
    char share[32];
    struct most most = most_to_gain(a, f);
    say(s, "%s more than %s %%%s",
        most.is_function ? "No one function gives back" : "Nothing to gain by",
        percent(most.share, share), most.is_same ? " with the same work" : "");
    if (parts->n && parts->at[0].share > 0) say(s, ": ");
    say_parts(s, parts);
    say(s, ".");
    say_looked(s, a->v);
}

/* Where we took much of what there is, what is left is no picture of the program. */
#define MUCH_OURS 0.25 /* of the processor time */
static bool say_ours(struct sentence *s, const axp_view *v)
{
    char share[32];
    double ours = 0;
    for (size_t i = 0; i < v->n_functions; i++)
        if (v->functions[i].is_own) ours += v->functions[i].time_share;
    if (ours < MUCH_OURS) return false;
    say(s,
        "%s %% of the processor time is axprof's own: the rest is no picture of "
        "the program. Record less of it (fewer calls, --memory sample, "
        "--without NAME).",
        percent(ours, share));
    return true;
}

char *axp__verdict(const struct axp__analysis *a, const axp_findings *f)
{
    struct sentence s = {.len = 0};
    struct parts parts = {.n = 0};
    const char *why = f->n ? NULL : unjudged(a->v);
    if (a->v->has_no_part) return no_part(a->v);
    if (why)
        return strdup(say_unrecorded(&s, a->v) || say_waiting(&s, a->v) ? s.text
                                                                        : why);
    if (!add_path(a->v, &parts)) return NULL;
    if (!parts.n) add_ops(a, &parts);
    bool is_healthy = !f->n || f->all[0].severity == AXP_LOW;
    const axp_finding *said = is_healthy ? worth_a_word(f) : &f->all[0];
    bool is_ours = say_ours(&s, a->v);
    if (said) {
        if (is_ours) say(&s, " Of what there is beside it: ");
        size_t before = s.len;
        say_parts(&s, &parts);
        if (s.len > before) say(&s, "; ");
        if (is_healthy) say(&s, "no finding is above Low: ");
        say_change(&s, a, said);
        say(&s, ".");
    } else if (!is_ours) {
        say_healthy(&s, a, f, &parts);
    }
    if (s.text[0] >= 'a' && s.text[0] <= 'z')
        s.text[0] = (char)(s.text[0] - 'a' + 'A');
    return strdup(s.text);
}
