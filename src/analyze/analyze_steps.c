/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps of a timeline; see analyze_steps.h. */
#include "analyze/analyze_steps.h"

#include <stdlib.h>

#include "analyze/analyze_graph.h"
#include "analyze/analyze_pace.h"
#include "analyze/analyze_step_pass.h"
#include "base/base_number.h"
#include "base/base_order.h"

#define LEAST_STEPS 5u
#define SLOW 2.0        /* times the median */
#define WARM 1.5        /* … */
#define MOST 0.5        /* of an operation's time */
#define MOST_SPECIFIC 8 /* it says in which steps */
#define MAY_DRIFT 1.05  /* of kept steps: a rule asks for more */

/* ---- whether to look at all -------------------------------------------------------- */

static double mean_of(const struct axp__step *steps, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t i = from; i < to; i++)
        sum += (double)(steps[i].end_ticks - steps[i].begin_ticks);
    return to > from ? sum / (to - from) : 0;
}

/* Steps of a lane that were kept from all over the run, but for the first. */
static bool may_drift(const struct axp__steps *s)
{
    if (!s || s->n_sampled < 7) return false;
    uint32_t third = (s->n_sampled - 1) / 3;
    return mean_of(s->sampled, s->n_sampled - third, s->n_sampled) >
           MAY_DRIFT * mean_of(s->sampled, 1, 1 + third);
}

/* The statistics of all steps are exact: what they do not show is not there. */
static bool is_worth(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    if (!c->has_timeline || v->steps.count < LEAST_STEPS) return false;
    if ((double)v->steps.max_ns >= SLOW * (double)v->steps.p50_ns) return true;
    for (size_t i = 0; i < c->n_lanes; i++)
        if (may_drift(c->lanes[i].steps)) return true;
    return false;
}

/* ---- times --------------------------------------------------------------------------- */

static axp_ns length(const struct axp__marked_step *s)
{
    return s->end_ns - s->begin_ns;
}

/* The part q of the lengths from..to is not longer; room for all of them. */
static axp_ns quantile(const struct axp__step_look *look, const size_t part[2],
                       double q, axp_ns *room)
{
    size_t n = part[1] - part[0];
    for (size_t i = 0; i < n; i++)
        room[i] = length(&look->at[part[0] + i]);
    if (!n) return 0;
    qsort(room, n, sizeof *room, axp__by_u64);
    size_t at = (size_t)(q * (double)n);
    if ((double)at < q * (double)n) at++;
    return room[at ? at - 1 : 0];
}

/* As the medians of the first two thirds go on backwards, for half of a third; but
 * no less than the quickest of the first: who grew at once had not grown before. */
static axp_ns start_of(const struct axp__step_look *look, const size_t early[2],
                       axp_ns middle, axp_ns *room)
{
    axp_ns least = quantile(look, early, 0.1, room), is = look->early_ns;
    axp_ns grown = middle > is ? (middle - is) / 2 : 0;
    return is > least + grown ? is - grown : least;
}

static bool set_times(struct axp__step_look *look)
{
    axp_ns *room = malloc((look->n + 1) * sizeof *room);
    if (!room) return false;
    size_t all[2] = {0, look->n}, most = look->n / 10 ? look->n / 10 : 1;
    double median = (double)quantile(look, all, 0.5, room);
    while (look->settled < most &&
           (double)length(&look->at[look->settled]) > WARM * median)
        look->settled++;
    size_t from = look->settled, third = (look->n - from) / 3;
    size_t settled[2] = {from, look->n}, early[2] = {from, from + third};
    size_t late[2] = {look->n - third, look->n};
    size_t middle[2] = {early[1], late[0]};
    look->median_ns = quantile(look, settled, 0.5, room);
    look->p99_ns = quantile(look, settled, 0.99, room);
    look->early_ns = quantile(look, early, 0.5, room);
    look->late_ns = quantile(look, late, 0.5, room);
    look->start_ns =
        start_of(look, early, quantile(look, middle, 0.5, room), room);
    free(room);
    return true;
}

static unsigned groups_of(const struct axp__step_look *look, size_t i)
{
    size_t third = (look->n - look->settled) / 3;
    unsigned groups = 0;
    if (!i && look->has_first) groups |= 1u << AXP__STEP_FIRST;
    if (i < look->settled) return groups;
    if (i < look->settled + third) groups |= 1u << AXP__STEP_EARLY;
    if (i >= look->n - third) groups |= 1u << AXP__STEP_LATE;
    bool is_slow =
        (double)length(&look->at[i]) >= SLOW * (double)look->median_ns;
    return groups | 1u << (is_slow ? AXP__STEP_SLOW : AXP__STEP_USUAL);
}

/* ---- the second pass: what was done in them ---------------------------------------------- */

struct sorter {
    struct axp__step_look *look;
    size_t i;        /* the step that goes on */
    unsigned groups; /* that it is in */
};

static bool widen(struct axp__step_look *look)
{
    size_t cap = 2 * look->ops.n + 64;
    for (int k = 0; k < 2 * AXP__N_STEP_GROUPS; k++) {
        double **at = k < AXP__N_STEP_GROUPS
                          ? &look->own[k]
                          : &look->others[k - AXP__N_STEP_GROUPS];
        double *wider = realloc(*at, cap * sizeof *wider);
        if (!wider) return false;
        memset(wider + look->cap_ops, 0, (cap - look->cap_ops) * sizeof *wider);
        *at = wider;
    }
    look->cap_ops = cap;
    return true;
}

static bool on_time(void *ctx, uint32_t row, uint32_t op, axp_ns from,
                    axp_ns to)
{
    struct sorter *s = ctx;
    struct axp__step_look *look = s->look;
    if (op >= look->cap_ops && !widen(look)) return false;
    if (s->i >= look->n) return true;
    axp_ns begin = look->at[s->i].begin_ns;
    if (from < begin) from = begin;
    for (int k = 0; k < AXP__N_STEP_GROUPS && from < to; k++)
        if (s->groups >> k & 1)
            (row == look->row ? look->own : look->others)[k][op] +=
                (double)(to - from);
    return true;
}

static bool on_end(void *ctx, uint32_t process, const struct axp__record *r)
{
    struct sorter *s = ctx;
    (void)process, (void)r;
    for (int k = 0; k < AXP__N_STEP_GROUPS && s->i < s->look->n; k++) {
        if (!(s->groups >> k & 1)) continue;
        s->look->n_in[k]++;
        s->look->ns_in[k] += length(&s->look->at[s->i]);
    }
    s->i++;
    s->groups = s->i < s->look->n ? groups_of(s->look, s->i) : 0;
    return true;
}

static bool sort_times(struct axp__step_look *look)
{
    struct sorter s = {look, 0, groups_of(look, 0)};
    struct axp__step_pass pass = {.v = look->v,
                                  .ops = &look->ops,
                                  .process = look->process,
                                  .ctx = &s,
                                  .on_time = on_time,
                                  .on_step = on_end};
    return widen(look) && axp__step_pass_run(&pass);
}

/* ---- made and freed ------------------------------------------------------------------------ */

void axp__step_look_destroy(struct axp__step_look *look)
{
    if (!look) return;
    for (int k = 0; k < AXP__N_STEP_GROUPS; k++) {
        free(look->own[k]);
        free(look->others[k]);
    }
    axp__graph_ops_fini(&look->ops);
    free(look->at);
    free(look);
}

bool axp__step_look_create(const axp_view *v, struct axp__step_look **out)
{
    *out = NULL;
    if (!is_worth(v)) return true;
    struct axp__step_look *look = calloc(1, sizeof *look);
    if (!look) return false;
    look->v = v;
    bool ok = axp__graph_ops_init(&look->ops, v) && axp__steps_find(look);
    if (ok && look->n < LEAST_STEPS) {
        axp__step_look_destroy(look);
        return true;
    }
    if (ok && set_times(look) && sort_times(look)) {
        *out = look;
        return true;
    }
    axp__step_look_destroy(look);
    return false;
}

bool axp__step_may_be_starved(const struct axp__analysis *a, axp_ns longer_ns)
{
    for (size_t i = 0; i < a->v->n_threads; i++)
        if (2 * a->v->threads[i].ready_ns >= longer_ns) return true;
    return false;
}

/* ---- what differs ---------------------------------------------------------------------------- */

static double mean(const struct axp__step_look *look, double *const *sums,
                   enum axp__step_group group, uint32_t op)
{
    size_t n = look->n_in[group];
    return n ? sums[group][op] / (double)n : 0;
}

static bool is_wait(const struct axp__step_look *look, uint32_t op)
{
    const struct axp__graph_op *is = &look->ops.at[op];
    return is->is_wait || is->category == AXP_CAT_SYNC;
}

static uint32_t most_more(const struct axp__step_look *look,
                          double *const *sums, const enum axp__step_group of[2],
                          bool is_work)
{
    uint32_t found = AXP__OP_OUTSIDE;
    double most = 0;
    for (uint32_t i = 0; i < look->ops.n && i < look->cap_ops; i++) {
        double more = mean(look, sums, of[0], i) - mean(look, sums, of[1], i);
        if (more <= most ||
            (is_work && (i < AXP__N_NO_OPS || is_wait(look, i))))
            continue;
        most = more;
        found = i;
    }
    return found;
}

/* False without memory, too: then one is named. */
static bool has_more_of_all(const struct axp__step_look *look,
                            double *const *sums,
                            const enum axp__step_group of[2])
{
    size_t n = look->ops.n < look->cap_ops ? look->ops.n : look->cap_ops;
    double *all = calloc(2 * n + 1, sizeof *all), *more = all + n;
    if (!all) return false;
    for (uint32_t i = 0; i < n; i++) {
        double is = mean(look, sums, of[0], i);
        double was = mean(look, sums, of[1], i);
        all[i] = is + was;
        more[i] = is - was;
    }
    bool is_alike = axp__pace_is_alike(&look->ops, n, all, more);
    free(all);
    return is_alike;
}

static struct axp__step_cause all_of(const struct axp__step_look *look,
                                     double *const *sums,
                                     const enum axp__step_group of[2])
{
    struct axp__step_cause cause = {.name = AXP__STEP_ALL,
                                    .is_all = true,
                                    .is_elsewhere = sums == look->others};
    for (uint32_t i = AXP__N_NO_OPS; i < look->ops.n && i < look->cap_ops;
         i++) {
        if (is_wait(look, i)) continue;
        cause.is_ns += mean(look, sums, of[0], i);
        cause.was_ns += mean(look, sums, of[1], i);
    }
    return cause;
}

struct axp__step_cause axp__step_cause_of(const struct axp__step_look *look,
                                          enum axp__step_group is,
                                          enum axp__step_group was)
{
    const enum axp__step_group of[2] = {is, was};
    double *const *sums = look->own;
    uint32_t op = most_more(look, sums, of, false);
    if (op >= AXP__N_NO_OPS && is_wait(look, op)) {
        uint32_t other = most_more(look, look->others, of, true);
        if (other >= AXP__N_NO_OPS) {
            sums = look->others;
            op = other;
        }
    }
    /* In a first step all is cold, and one operation the more so. */
    if (is != AXP__STEP_FIRST && has_more_of_all(look, sums, of))
        return all_of(look, sums, of);
    bool is_named = op >= AXP__N_NO_OPS;
    return (struct axp__step_cause){.name = is_named ? look->ops.at[op].text
                                                     : "(no scope)",
                                    .op = axp__ops_view_op(&look->ops, op),
                                    .is_ns = mean(look, sums, is, op),
                                    .was_ns = mean(look, sums, was, op),
                                    .is_elsewhere = sums == look->others};
}

void axp__step_cause_say(struct axp__analysis *a, struct axp__draft *d,
                         const struct axp__step_cause *cause, double more_ns)
{
    char is[32], was[32];
    /* Whoever changes it regains no more than its part. */
    if (cause->op && (double)d->saving_ns > more_ns)
        d->saving_ns = axp__whole(more_ns);
    if (cause->op && more_ns >= MOST * (double)cause->op->self_ns) {
        d->op = cause->op;
        d->specificity = MOST_SPECIFIC;
    }
    if (cause->is_all) { /* it may be the machine's, all of it */
        d->is_bound = d->is_capped = true;
        d->band = AXP_MEDIUM;
    }
    d->file = cause->op ? cause->op->file : NULL;
    d->line = cause->op ? cause->op->line : 0;
    axp__draft_say(a, d, "%s %s of it, and %s of the others%s",
                   cause->op       ? "this takes"
                   : cause->is_all ? "its operations take"
                                   : "what is in no scope takes",
                   axp_format_ns(is, sizeof is, axp__whole(cause->is_ns)),
                   axp_format_ns(was, sizeof was, axp__whole(cause->was_ns)),
                   cause->is_elsewhere ? ", on threads that it waits for" : "");
    axp__draft_metric(d, "op_ms", cause->is_ns / 1e6);
    axp__draft_metric(d, "op_usual_ms", cause->was_ns / 1e6);
}
