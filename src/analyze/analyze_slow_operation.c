/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SlowOperation: an operation whose own time is a large part of the time of
 * the threads it ran on. docs/rules/slow_operation.md
 *
 * Where its work and the machine's peaks are known, what could be regained is
 * its distance from the roof: most of the time in a product at 95 % of the
 * peak is nothing to act on. Who reaches as much of the roof as LowThroughput
 * asks for does what good code does, and is Low: more is gained by doing less. So
 * it is where the work was declared by the scopes around it. Then, and where
 * nothing is declared, all of its time is the bound. Waiting is no operation that
 * could be faster: who was waited for is. */
#include <math.h>

#include "analyze/analyze_above.h"
#include "analyze/analyze_roof_advice.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"
#include "model/model_overhead.h"

static const char *suggestion_for(const axp_op *op)
{
    if (op->is_kernel)
        return "see in the call tree who calls it: read and write less often "
               "and more at once, keep memory instead of giving it back, start "
               "fewer threads and processes";
    switch (op->category) {
    case AXP_CAT_DATA: return "load ahead, on other threads or in advance";
    case AXP_CAT_COMM:
        return "overlap it with computing, send less, or less often";
    case AXP_CAT_COPY:
        return "copy less, in larger pieces, or beside the computing";
    case AXP_CAT_IO: return "read or write less, or beside the computing";
    default: break;
    }
    if (op->n_flops_calls || op->n_bytes_calls)
        return "axprof machine measures what its GFLOP/s and GB/s could be: far "
               "below, change the implementation; close to it, the algorithm, "
               "the precision or the amount of work";
    return "look for a better algorithm, a faster library or work to leave "
           "out; declare its work (AXP_SCOPE_WORK) to see how far it is from "
           "what the machine can do";
}

static void say_sampled(struct axp__analysis *a, struct axp__draft *d,
                        const axp_op *op, const char *percent)
{
    const char *what =
        op->is_kernel ? ", for system calls, faults and switches" : "";
    char time[32], error[32];
    axp__draft_say(
        a, d,
        "takes %s %% (± %s) of all processor time%s: %s, in %llu of "
        "%llu samples",
        percent, axp__fixed(error, sizeof error, 100 * op->share_error, 1),
        what, axp_format_ns(time, sizeof time, op->self_ns),
        (unsigned long long)op->samples, (unsigned long long)a->v->n_sampled);
    axp__draft_metric(d, "samples", (double)op->samples);
    axp__draft_metric(d, "share_error", op->share_error);
}

/* "reaches 51 % of what arithmetic on 2 threads allows": how far it is. */
static const char *roof_text(const struct axp__roof *r, double share,
                             char out[128])
{
    char part[32], threads[48];
    snprintf(out, 128, "reaches %s %% of what %s%s%s allows",
             axp__fixed(part, sizeof part, 100 * share, 0),
             r->level ? "the bandwidth of " : "", axp__roof_bound(r),
             axp__roof_on_threads(r, threads));
    return out;
}

/* Who speaks in its place says how far it is: this is no evidence. */
static void advise_by_roof(struct axp__analysis *a, struct axp__draft *d,
                           const axp_op *op, const struct axp__roof *r)
{
    char text[128];
    roof_text(r, r->ran_share, text);
    axp__draft_advise(a, d,
                      "%s %s: so much of its time is work that has to be done; "
                      "the rest is to be regained by %s, and more only by less "
                      "work",
                      axp__spoken(op->name, "it"), text,
                      r->level ? "moving fewer bytes, in order"
                               : "better use of the vector units");
    axp__draft_metric(d, "roof_share", r->share);
}

static void say_above(struct axp__analysis *a, struct axp__draft *d,
                      const struct axp__above *above)
{
    char reached[32], allowed[32], text[128],
        more[64] = "the scope around it declares, "
                   "which";
    if (above->n_more)
        snprintf(more, sizeof more,
                 "%zu scopes around it declare, the largest of which",
                 above->n_more + 1);
    axp__digits3(reached, sizeof reached, above->roof->flops / 1e9);
    axp__digits3(allowed, sizeof allowed, above->roof->roof_flops / 1e9);
    axp__draft_say(a, d, "it does the work that %s reaches %s of %s GFLOP/s",
                   more, reached, allowed);
    axp__draft_say(a, d, "%s", roof_text(above->roof, above->share, text));
    axp__draft_metric(d, "roof_share", above->share);
}

/* What of its time could be regained, as far as that is known. */
static void set_fraction(struct axp__analysis *a, struct axp__draft *d,
                         const axp_op *op)
{
    const struct axp__roof *roof = axp__roof_of(a, op);
    struct axp__above above;
    bool is_above = !roof && axp__above_find(a, op, &above);
    double share = roof ? roof->ran_share : is_above ? above.share : 0;
    bool is_close =
        (roof || is_above) &&
        100 * share >= a->threshold[AXP__T_low_throughput_roof_percent];
    d->is_bound = is_close || (!roof && !is_above);
    if (is_close) d->band = AXP_LOW;
    d->fraction = d->is_bound ? 1 : fmax(0, 1 - share);
    d->confidence = d->is_bound ? 0.5 : 0.7;
    if (is_above) {
        say_above(a, d, &above);
        d->suggestion =
            "see the roofline for what binds each of these: far below it, a "
            "tuned library, larger operands, work that is spread evenly over "
            "the threads; close to it, the algorithm or the precision";
    } else if (roof) {
        advise_by_roof(a, d, op, roof);
    }
}

/* What can be changed of a library is who calls it, and how often. */
static void set_called(struct axp__analysis *a, struct axp__draft *d,
                       const struct axp__called *e)
{
    const char *name = axp__spoken(e->op.name, "it");
    const char *caller = axp__spoken(e->caller, "the program");
    d->parts = e->parts;
    d->n_parts = e->n_parts;
    axp__draft_say(a, d,
                   e->n_parts > 1
                       ? "that is with what it calls in its library; %s calls "
                         "it for most of that time"
                       : "%s calls it for most of that time",
                   caller);
    axp__draft_advise(a, d,
                      "call %s less often in %s, or for more at once; or put "
                      "something cheaper in its place there (an approximation, "
                      "a form that the compiler makes vectors of, a faster "
                      "library)",
                      name, caller);
}

static void say_faults(struct axp__analysis *a, struct axp__draft *d,
                       const char *time, const char *by)
{
    const struct axp__kernel_use *k = &a->kernel;
    char many[64] = "";
    if (k->faults > 0)
        snprintf(many, sizeof many, ", of which the run has %.0f", k->faults);
    axp__draft_say(a, d,
                   "%s of that is for %s, which %s%s there: page faults%s",
                   time, by, k->fills ? "fills memory by " : "calls nothing",
                   k->fills ? axp__spoken(k->fills, "a library") : "", many);
}

static void say_kernel(struct axp__analysis *a, struct axp__draft *d)
{
    const struct axp__kernel_use *k = &a->kernel;
    const char *by = axp__spoken(k->by, "the program");
    const char *call = axp__spoken(k->call, "a library");
    char time[32];
    axp_format_ns(time, sizeof time, k->ns);
    if (k->call)
        axp__draft_say(a, d, "%s of that is for %s, which %s calls", time, call,
                       by);
    else if (k->is_fault)
        say_faults(a, d, time, by);
    else
        axp__draft_say(a, d, "%s of that is below %s", time, by);
}

/* What is called for it goes with it, unless that is a finding itself. */
static void set_kernel_parts(struct axp__analysis *a, struct axp__draft *d)
{
    const struct axp__kernel_use *k = &a->kernel;
    double least = a->threshold[AXP__T_slow_operation_percent] / 100;
    if ((double)k->with_ns >= least * (double)a->v->sampled_ns) return;
    d->parts = k->parts;
    d->n_parts = k->n_parts;
    d->with_ns = k->with_ns;
}

/* What can be changed is who asks it, or touches what is not there. */
static void set_kernel(struct axp__analysis *a, struct axp__draft *d)
{
    const struct axp__kernel_use *k = &a->kernel;
    const char *by = axp__spoken(k->by, "the program");
    const char *call = axp__spoken(k->call, "the library");
    if (!k->by) return;
    d->file = k->file;
    d->line = k->line;
    d->has_place = true;
    set_kernel_parts(a, d);
    say_kernel(a, d);
    if (k->call)
        axp__draft_advise(
            a, d,
            "call %s less often in %s, and for more at once: read "
            "and write larger pieces, keep memory instead of "
            "giving it back, start fewer threads and processes",
            call, by);
    else if (k->is_fault)
        axp__draft_advise(a, d,
                          "keep the memory that %s touches and use it again, "
                          "instead of giving it back: the kernel has to find "
                          "and clear each page that is touched for the first "
                          "time; or ask for larger pages (MADV_HUGEPAGE)",
                          by);
    else
        axp__draft_advise(a, d, "ask the kernel less often in %s", by);
}

/* What it took to load axprof into the run's programs is mostly the kernel's time:
 * so much of a share is ours. */
static double loading_share(const axp_view *v, const axp_op *op)
{
    double loading = (double)axp__view_cost_ns(v, "axprof.start_ns");
    double ran = axp__ran_ns(v);
    return op->is_kernel && ran > 0 ? fmin(1, loading / ran) : 0;
}

static struct axp__draft *add(struct axp__analysis *a, const axp_op *op)
{
    static const double steps[3] = {25, 35, 50};
    double percent = 100 * op->time_share, sure = 100 * axp__sure_share(op);
    char time[32], part[32];
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_slow_operation, op->name);
    if (!d) return NULL;
    d->op = op;
    d->specificity = 1;
    d->band = axp__band(sure, steps);
    d->is_capped = true;
    d->suggestion = suggestion_for(op);
    axp__fixed(part, sizeof part, percent, 1);
    axp_format_ns(time, sizeof time, op->self_ns);
    axp__draft_metric(d, "time_percentage", percent);
    axp__draft_metric(d, "total_time_ms", (double)op->total_ns / 1e6);
    if (op->is_sampled) {
        say_sampled(a, d, op, part);
    } else {
        axp__draft_say(a, d, "takes %s %% of its threads' time: %s in %llu %s",
                       part, time, (unsigned long long)op->calls,
                       op->calls == 1 ? "call" : "calls");
        axp__draft_metric(d, "call_count", (double)op->calls);
    }
    set_fraction(a, d, op);
    if (op->is_kernel) {
        d->fraction *= 1 - fmin(1, loading_share(a->v, op) / op->time_share);
        set_kernel(a, d);
    }
    return d;
}

/* SyncWait's, where nobody can be named. */
static bool is_wait(const axp_op *op)
{
    return op->is_wait || op->category == AXP_CAT_SYNC;
}

/* What the profiler takes is not the program's to change. */
static struct axp__draft *look_at(struct axp__analysis *a, const axp_op *op)
{
    double least = a->threshold[AXP__T_slow_operation_percent] / 100;
    double wall = (double)a->v->duration_ns *
                  a->threshold[AXP__T_slow_operation_min_wall_percent] / 100;
    bool is_slow = !is_wait(op) && !op->is_own &&
                   axp__sure_share(op) - loading_share(a->v, op) >= least &&
                   axp__wall_reaches(a->wall, op, wall);
    return is_slow ? add(a, op) : NULL;
}

static void look_at_functions(struct axp__analysis *a)
{
    const axp_view *v = a->v;
    for (size_t i = 0; i < v->n_functions; i++)
        if (!axp__library_has(&a->library, i)) look_at(a, &v->functions[i]);
}

static void say_outside(struct axp__analysis *a, struct axp__draft *d)
{
    axp__draft_say(a, d, "that is where no scope was open");
}

/* The system's libraries by what the program calls there. */
static void look_at_library(struct axp__analysis *a, bool is_marked)
{
    for (size_t i = 0; i < a->library.n; i++) {
        struct axp__draft *d = look_at(a, &a->library.all[i].op);
        if (!d) continue;
        set_called(a, d, &a->library.all[i]);
        if (is_marked) say_outside(a, d);
    }
}

void axp__rule_slow_operation(struct axp__analysis *a)
{
    for (size_t i = 0; i < a->v->n_ops; i++)
        look_at(a, &a->v->ops[i]);
    double least = a->threshold[AXP__T_slow_operation_samples];
    if ((double)a->v->n_sampled < least) return;
    bool is_marked = axp__is_marked(a->v);
    if (!is_marked) look_at_functions(a);
    look_at_library(a, is_marked);
    for (size_t i = 0; i < a->n_outside; i++) {
        struct axp__draft *d = look_at(a, &a->outside[i]);
        if (d) say_outside(a, d);
    }
}
