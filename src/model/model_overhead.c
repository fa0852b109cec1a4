/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What recording took of what threads worked: counted events times what each
 * was measured to cost (model_cost.c), and what can be changed where it is much.
 *
 * Samples that fell into code of ours say the same in another way, which knows
 * caches and page faults of the real program, but not the kernel's part. Where
 * there are enough of them, what is stated lies in what they allow: so one report
 * has one number. Functions by compiler hooks are the exception: hooks are called
 * whether or not somebody records, so that samples have more than recording
 * took, and the text says what each number is of.
 *
 * Not here  how far single times are to be believed: model_ops.c. */
#include "model/model_overhead.h"

#include <stdio.h>

#include "base/base_number.h"
#include "model/model_functions.h"

#define LEAST_SHARE 0.02
#define ENOUGH_SAMPLES 100u /* their error is allowed for */
#define MUCH_MORE 1.25      /* in samples than is stated: that needs a word */

/* Whether functions, by that name or NULL: any, were recorded by compiler
 * hooks. */
static bool has_function(const axp_view *v, const char *name)
{
    const struct axp__capture *c = v->capture;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 0; k < c->lanes[i].n_ops; k++) {
            uint32_t id = c->lanes[i].ops[k].name;
            if (axp__view_kind(v, id) == AXP__KIND_FUNCTION &&
                (!name || axp__view_name(v, id) == name))
                return true;
        }
    return false;
}

/* Calls of threads: spans of tracks cost them nothing. */
static uint64_t count_calls(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    uint64_t spans = 0, calls = 0;
    for (size_t i = 0; i < v->n_ops; i++)
        calls += v->ops[i].calls;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 1; c->lanes[i].is_track && k < c->lanes[i].n_nodes;
             k++)
            spans += c->lanes[i].nodes[k].calls;
    return calls > spans ? calls - spans : 0;
}

struct own_time { /* of the program's threads, and of it what recording took */
    axp_ns work, own;
};

double axp__ran_ns(const axp_view *v)
{
    double sum = 0;
    for (size_t i = 0; i < v->n_threads; i++)
        sum += (double)v->threads[i].cpu_ns;
    return sum > (double)v->sampled_ns ? sum : (double)v->sampled_ns;
}

static bool is_outside(const axp_view *v, int64_t row)
{
    return row < 0 || axp__row_is_outside(v, &v->capture->rows[row]);
}

/* Who had no processor had none while it recorded, too; what was told from outside
 * was for all of them. */
static struct own_time own_time(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct own_time t = {0, 0};
    double others = axp__ran_ns(v), ran = 0,
           all = 0; /* others record nothing */
    for (size_t i = 0; i < c->n_rows; i++) {
        if (c->rows[i].track || is_outside(v, (int64_t)i)) continue;
        axp_ns work = axp__view_at_work(v, i);
        t.work += work;
        ran += (double)work / axp__view_longer(v, i);
    }
    others -= ran;
    if (others > 0) t.work += axp__whole(others), ran += others;
    double longer = ran > 0 ? (double)t.work / ran : 1;
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        all = (double)axp__lane_own_ns(v, lane);
        t.own +=
            axp__whole(all * (is_outside(v, lane->row)
                                  ? longer
                                  : axp__view_longer(v, (size_t)lane->row)));
    }
    return t;
}

/* What recording took, by what was recorded; ns of the threads that did. */
struct parts {
    double all, memory, follow, start, counters, scopes;
};

static double part_of(double most, double left)
{
    return most < left ? most : left;
}

static struct parts parts_of(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct parts p = {.follow =
                          (double)axp__view_cost_ns(v, "axprof.follow_ns"),
                      .start = (double)axp__view_cost_ns(v, "axprof.start_ns"),
                      .memory = (double)axp__view_memory_ns(v),
                      .counters = (double)axp__view_counters_ns(v)};
    for (size_t i = 0; i < c->n_lanes; i++)
        p.all += (double)axp__lane_own_ns(v, &c->lanes[i]);
    p.scopes = p.all;
    p.scopes -= part_of(p.follow, p.scopes);
    p.scopes -= part_of(p.start, p.scopes);
    p.scopes -= part_of(p.memory, p.scopes);
    p.scopes -= part_of(p.counters, p.scopes);
    return p;
}

struct taker { /* of the time that recording took: what can be changed */
    const char *before, *after; /* of "about 7 % of what threads worked" */
    uint64_t count;
    const char *name;
};

static uint64_t count_tracked(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 0; k < c->lanes[i].n_traffic; k++)
            n += c->lanes[i].traffic[k].n_allocs +
                 c->lanes[i].traffic[k].n_frees;
    return n;
}

static struct taker memory_taker(const axp_view *v)
{
    if (v->heap.n_allocs)
        return (struct taker){"blocks of memory: recording took ",
                              ", most of it to follow them; --memory sample "
                              "costs less",
                              v->heap.n_allocs, NULL};
    return (struct taker){"allocations and frees by axp_track_alloc and its "
                          "kin: recording took ",
                          ", most of it for them; track fewer, and larger ones",
                          count_tracked(v), NULL};
}

static struct taker counter_taker(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct taker t = {
        "values of counters: recording took ",
        ", most of it for them; give the counter that has most of "
        "them fewer",
        0, NULL};
    uint64_t most = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 0; k < c->lanes[i].n_counters; k++) {
            const struct axp__cap_counter *of = &c->lanes[i].counters[k];
            if (axp__view_kind(v, of->name) == AXP__KIND_COST) continue;
            t.count += of->n;
            if (of->n <= most) continue;
            most = of->n;
            t.name = axp__view_name(v, of->name);
        }
    return t;
}

static struct taker scope_taker(const axp_view *v)
{
    struct taker t = {"scopes: recording them took ",
                      "; widen the one that is called most", count_calls(v),
                      v->most_called};
    if (t.name && has_function(v, t.name)) {
        t.before = "calls of functions: recording them took ";
        t.after = "; build the one that is called most without hooks";
    }
    return t;
}

/* Whichever took most of it. */
static struct taker most_taking(const axp_view *v, const struct parts *p)
{
    double most = p->scopes;
    if (p->counters > most) most = p->counters;
    if (p->memory > most) most = p->memory;
    if (p->follow > most && p->follow >= p->start)
        return (struct taker){"threads: recording took ",
                              ", most of it to start them so that each is "
                              "sampled; --sample off takes none",
                              v->n_threads, NULL};
    if (p->start > most)
        return (struct taker){"processes: recording took ",
                              ", most of it to load axprof into each program; "
                              "--without all takes none",
                              axp__view_n_processes(v), NULL};
    return p->scopes >= most     ? scope_taker(v)
           : p->counters >= most ? counter_taker(v)
                                 : memory_taker(v);
}

/* What samples allow of code of ours, in ns of the threads, and as a share. */
struct met {
    double least, most, share;
};

/* False: they are too few to say. */
static bool samples_met(const axp_view *v, struct met *met)
{
    double seen = 0;
    if (v->n_sampled < ENOUGH_SAMPLES || !v->sampled_ns) return false;
    for (size_t i = 0; i < v->n_functions; i++)
        if (v->functions[i].is_own) seen += (double)v->functions[i].self_ns;
    met->share = seen / (double)v->sampled_ns;
    double error = axp__share_error(met->share, (double)v->n_sampled);
    double least = met->share > error ? met->share - error : 0;
    met->least = least * axp__ran_ns(v);
    met->most = (met->share + error) * axp__ran_ns(v);
    return true;
}

/* What recording took, by what samples met of it. What it took to have threads
 * sampled is the kernel's time; to load us, the kernel's, the loader's and ours. */
static double settled(const axp_view *v, const struct parts *p, bool has_hooks)
{
    double unseen = part_of(p->follow + p->start, p->all);
    double ours = p->all - unseen;
    struct met met;
    if (!samples_met(v, &met)) return p->all;
    if (ours > met.most) return unseen + met.most;
    if (ours + p->start >= met.least || has_hooks) return p->all;
    return unseen - p->start + met.least;
}

static double share_of(const axp_view *v, const struct parts *p, bool has_hooks)
{
    struct own_time t = own_time(v);
    double by = p->all > 0 ? settled(v, p, has_hooks) / p->all : 0;
    double own = (double)t.own * by;
    double share = t.work ? own / (double)t.work : 0;
    bool is_much =
        share >= LEAST_SHARE && own >= LEAST_SHARE / 4 * (double)v->duration_ns;
    return !is_much ? 0 : share < 1 ? share : 1;
}

struct axp__overhead axp__overhead(const axp_view *v)
{
    struct parts p = parts_of(v);
    struct taker of = most_taking(v, &p);
    bool has_hooks = has_function(v, NULL);
    double share = share_of(v, &p, has_hooks);
    struct axp__overhead o = {
        .count = share > 0 ? of.count : 0, .name = of.name, .share = share};
    struct met met;
    int n = snprintf(o.text, sizeof o.text,
                     "%sabout %.1f %% of what threads worked%s", of.before,
                     share * 100, of.after);
    if (has_hooks && samples_met(v, &met) && met.share > MUCH_MORE * share)
        snprintf(o.text + n, sizeof o.text - (size_t)n,
                 "; code of axprof's has %.0f %% of the processor time, for "
                 "hooks are called where nothing is recorded, too",
                 met.share * 100);
    return o;
}
