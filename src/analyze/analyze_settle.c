/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From what all rules said to one finding a cause, none of which promises what
 * another does; see analyze.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "analyze/analyze_asleep.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"
#include "graph/graph_gain.h"

/* ---- one cause, one finding ------------------------------------------------------ */

/* Drafts about one op next to each other, the one that speaks first. */
static int by_op(const void *a, const void *b)
{
    const struct axp__draft *x = a, *y = b;
    if (x->op != y->op) return (uintptr_t)x->op > (uintptr_t)y->op ? 1 : -1;
    if (x->specificity != y->specificity)
        return x->specificity < y->specificity ? 1 : -1;
    return (x->rule > y->rule) - (x->rule < y->rule);
}

static void add_evidence(struct axp__analysis *a, struct axp__draft *to,
                         struct axp__draft *from)
{
    for (size_t i = 0; i < from->n_metrics; i++)
        axp__draft_metric(to, from->metrics[i].key, from->metrics[i].value);
    /* How much of a sampled function's time was with the lock nobody knows. */
    bool is_beside =
        to->rule == AXP__RULE_lock_contention && from->op->is_sampled;
    if (from->description && !is_beside)
        axp__draft_say(a, to, "%s", from->description);
    free(from->description);
    free(from->advice);
    from->description = from->advice = NULL;
}

/* Rules that say why somebody waits. */
static bool names_cause(const struct axp__draft *d)
{
    switch (d->rule) {
    case AXP__RULE_load_imbalance:
    case AXP__RULE_lock_contention:
    case AXP__RULE_serial_phase:
    case AXP__RULE_input_bound:
    case AXP__RULE_comm_bound:
    case AXP__RULE_copy_bound: return true;
    default: return false;
    }
}

/* Waits of which it is not known what they are for are what others name. */
static void drop_last(struct axp__analysis *a)
{
    bool has_cause = false;
    for (size_t i = 0; i < a->n_drafts; i++)
        has_cause |= names_cause(&a->drafts[i]);
    for (size_t i = 0; i < a->n_drafts; i++)
        a->drafts[i].is_gone = has_cause && a->drafts[i].is_last;
}

/* What is said about time that may all be ours, or more of it than is not: a rule
 * that knows a saving does not know whose time it is, either. */
static void drop_unsure(struct axp__analysis *a)
{
    for (size_t i = 0; i < a->n_drafts; i++) {
        struct axp__draft *d = &a->drafts[i];
        if (!d->op || !d->op->doubt_ns) continue;
        if (d->has_saving && !d->op->is_doubtful) continue;
        if (!axp__sure_ns(d->op)) d->is_gone = true;
        axp_ns all = d->op->total_ns, doubt = d->op->doubt_ns;
        axp_ns most = all > doubt ? all - doubt : 0;
        if (d->has_saving && d->saving_ns > most) d->saving_ns = most;
    }
}

/* Why a device is idle: what its launches take is LaunchBound's. */
static void explain_idle(struct axp__analysis *a)
{
    for (size_t i = 0; i < a->n_drafts; i++) {
        struct axp__draft *why = &a->drafts[i];
        if (why->rule != AXP__RULE_launch_bound) continue;
        for (size_t k = 0; k < a->n_drafts; k++) {
            struct axp__draft *idle = &a->drafts[k];
            if (idle->rule != AXP__RULE_device_idle ||
                idle->name != why->device || idle->is_gone)
                continue;
            add_evidence(a, why, idle);
            idle->is_gone = true;
        }
    }
}

static void drop_gone(struct axp__analysis *a)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->n_drafts; i++) {
        if (a->drafts[i].is_gone) {
            free(a->drafts[i].description);
            free(a->drafts[i].advice);
        } else if (kept++ != i) { /* a copy onto itself is not defined */
            a->drafts[kept - 1] = a->drafts[i];
        }
    }
    a->n_drafts = kept;
}

static void group(struct axp__analysis *a)
{
    size_t kept = 0;
    if (!a->n_drafts) return;
    qsort(a->drafts, a->n_drafts, sizeof *a->drafts, by_op);
    for (size_t i = 0; i < a->n_drafts; i++) {
        struct axp__draft *d = &a->drafts[i];
        struct axp__draft *last = kept ? &a->drafts[kept - 1] : NULL;
        if (d->op && last && last->op == d->op)
            add_evidence(a, last, d);
        else if (kept++ != i) /* a copy onto itself is not defined */
            a->drafts[kept - 1] = *d;
    }
    a->n_drafts = kept;
}

/* ---- savings ----------------------------------------------------------------------- */

/* At no time can more be regained than there is: where the drafts want more of
 * a slice of the wall time, each gets its part. */
static void share(struct axp__analysis *a)
{
    double part[AXP__WALL_SLICES], wanted[AXP__WALL_SLICES] = {0};
    double slice = (double)a->v->duration_ns / AXP__WALL_SLICES;
    for (size_t i = 0; i < a->n_drafts; i++) {
        if (!a->drafts[i].op || a->drafts[i].has_saving) continue;
        axp__wall_spread(a->wall, a->drafts[i].op, part);
        for (int k = 0; k < AXP__WALL_SLICES; k++)
            wanted[k] += part[k] * a->drafts[i].fraction;
    }
    for (size_t i = 0; i < a->n_drafts; i++) {
        struct axp__draft *d = &a->drafts[i];
        double sum = 0;
        if (!d->op || d->has_saving) continue;
        axp__wall_spread(a->wall, d->op, part);
        for (int k = 0; k < AXP__WALL_SLICES; k++)
            sum += part[k] / (wanted[k] > 1 ? wanted[k] : 1);
        d->saving_ns = axp__whole(sum * d->fraction * slice);
        if (d->saving_ns > axp__sure_ns(d->op))
            d->saving_ns = axp__sure_ns(d->op);
        d->saving_ns += d->with_ns;
    }
}

#define WORTH_SAYING 1.1 /* so many times what samples stand for */

/* A bound has in it what stands beside the op, which makes it no more severe: that a
 * run has no processor is no op's fault. A replay that is believed has it already. */
static void add_beside_one(struct axp__analysis *a, struct axp__draft *d)
{
    double by = axp__wall_beside(a->v, d->op), was = (double)d->saving_ns;
    double wall = (double)a->v->duration_ns, all = fmin(by * was, wall);
    char time[32];
    if (!(all > was)) return;
    d->saving_ns = axp__whole(all);
    axp_severity least = axp__band_by_saving(was / wall);
    if (d->is_capped && least < d->band) d->band = least;
    if (by < WORTH_SAYING) return;
    axp_format_ns(time, sizeof time, axp__whole(all - was));
    axp__draft_say(a, d,
                   "%s of what it gives back is its share of the time that no "
                   "sample is of: without a processor, or too short to be seen",
                   time);
}

static void add_beside(struct axp__analysis *a)
{
    const axp_graph *g = NULL;
    if (!axp__graph_trusted(a->v, &g)) a->has_failed = true;
    for (size_t i = 0; i < a->n_drafts && !g; i++) {
        struct axp__draft *d = &a->drafts[i];
        if (d->op && !d->has_saving && d->is_bound) add_beside_one(a, d);
    }
}

#define MOST_REPLAYS 32u

/* Who was off its processor for a reason that nobody saw, while others ran, may
 * have waited for these, by a pipe or a socket: a bound has in it what that would
 * be shorter. While nobody ran it was for nobody's sake. */
static void add_unseen(struct axp__analysis *a, struct axp__draft *d)
{
    const struct axp__gain_part one = {d->op, 1 - d->fraction};
    axp_ns gain = 0;
    if (!axp__graph_gain_most(a->v, d->n_parts ? d->parts : &one,
                              d->n_parts ? d->n_parts : 1, &gain))
        a->has_failed = true;
    gain = gain > a->still_ns ? gain - a->still_ns : 0;
    if (gain <= d->saving_ns) return;
    d->saving_ns = gain;
    if (d->band > AXP_HIGH) d->band = AXP_HIGH; /* as of IoWait in no scope */
}

/* A processor that it had is one that others of the program stood ready for: to a
 * replay they have none then whatever happens. */
static void add_freed(struct axp__analysis *a, struct axp__draft *d,
                      axp_ns most)
{
    if (!(a->crowd.all_ready_ns > 0)) return;
    double freed = (double)d->saving_ns + a->crowd.all_ready_ns;
    axp_ns all = freed < (double)most ? axp__whole(freed) : most;
    bool is_most = all >= 2 * d->saving_ns; /* else the replay has it */
    d->freed_ns = all - d->saving_ns;
    d->saving_ns = all;
    if (is_most && d->band > AXP_MEDIUM) d->band = AXP_MEDIUM;
}

static void replay_one(struct axp__analysis *a, struct axp__draft *d)
{
    axp_ns most = axp__sure_ns(d->op) + d->with_ns;
    if (d->n_parts
            ? !axp__graph_gain_of(a->v, d->parts, d->n_parts, &d->saving_ns)
            : !axp__graph_gain(a->v, d->op, 1 - d->fraction, &d->saving_ns))
        a->has_failed = true;
    if (d->is_bound && d->saving_ns < most) add_unseen(a, d);
    if (d->is_bound && d->saving_ns < most) add_freed(a, d, most);
    if (d->is_bound)
        most = axp__whole(axp__wall_beside(a->v, d->op) * (double)most);
    if (d->saving_ns > most) d->saving_ns = most; /* it counts ours too */
}

/* Where it is known who waited for whom, a replay knows better: time that is
 * hidden behind another thread regains nothing. Single gains do not add up to
 * more than the run: each is part of what its path consists of. */
static void replay(struct axp__analysis *a)
{
    unsigned n = 0;
    for (size_t i = 0; i < a->n_drafts && n < MOST_REPLAYS; i++) {
        struct axp__draft *d = &a->drafts[i];
        if (!d->op || d->has_saving || !d->saving_ns) continue;
        n++;
        replay_one(a, d);
    }
}

/* What is hidden behind others by waiting alone is nobody's cause. */
static void wake(struct axp__analysis *a)
{
    double least = (double)a->v->duration_ns *
                   a->threshold[AXP__T_slow_operation_min_wall_percent] / 100;
    for (size_t i = 0; i < a->n_drafts; i++) {
        struct axp__draft *d = &a->drafts[i];
        axp_ns most;
        if (!d->op || d->has_saving || !d->saving_ns) continue;
        if (!axp__asleep_most(a->v, d->op, &most)) a->has_failed = true;
        if (most >= d->saving_ns) continue;
        d->saving_ns = most;
        d->is_gone = (double)most < least;
    }
    drop_gone(a);
}

static int by_saving(const void *a, const void *b)
{
    const struct axp__draft *x = a, *y = b;
    bool all_x = x->is_bound && !x->has_saving;
    bool all_y = y->is_bound && !y->has_saving;
    if (all_x != all_y) return all_x ? 1 : -1;
    if (x->saving_ns != y->saving_ns)
        return x->saving_ns < y->saving_ns ? 1 : -1;
    int order = strcmp(x->name, y->name);
    return order ? order : (int)x->rule - (int)y->rule;
}

/* Some are about the same time though no operation says so: those that save less
 * have what is left of the run, and last those that know no better than all of
 * an operation's time. What is freed for others is in nobody's time. */
static void limit(struct axp__analysis *a)
{
    axp_ns left = a->v->duration_ns;
    if (a->n_drafts)
        qsort(a->drafts, a->n_drafts, sizeof *a->drafts, by_saving);
    for (size_t i = 0; i < a->n_drafts; i++) {
        struct axp__draft *d = &a->drafts[i];
        axp_ns own = d->saving_ns - d->freed_ns;
        if (own > left) own = left;
        left -= own;
        d->saving_ns = own + d->freed_ns;
        if (d->saving_ns > a->v->duration_ns) d->saving_ns = a->v->duration_ns;
    }
}

void axp__drafts_settle(struct axp__analysis *a)
{
    drop_last(a);
    drop_unsure(a);
    explain_idle(a);
    drop_gone(a);
    group(a);
    share(a);
    add_beside(a);
    replay(a);
    wake(a);
    limit(a);
}
