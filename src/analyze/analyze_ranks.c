/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ranks, and those that are slower than the others; see analyze_ranks.h and
 * docs/rules/load_imbalance.md
 *
 *   rank 0  forward──backward──[all_reduce········]
 *   rank 1  forward──backward──[all_reduce········]   work: forward, backward
 *   rank 2  forward────backward────────[all_reduce]   behind: a straggler
 */
#include "analyze/analyze_ranks.h"

#include <math.h>
#include <stdlib.h>

#include "base/base_number.h"
#include "base/base_order.h"

#define NORMAL 0.6745 /* MAD of a normal distribution, in deviations */
#define LEAST_SPREAD                                                           \
    0.001        /* of the median, taken for MAD: clocks are no better */
#define FEWEST 3 /* ranks among which one can stand out */

struct rank {
    int32_t rank;
    const struct axp__cap_lane *lane;
    double work_ns;
    struct axp__life life;
};

struct ranks {
    struct rank *at; /* by number */
    size_t n;
    bool has_failed; /* no memory */
};

/* ---- who they are -------------------------------------------------------------------------- */

static bool is_work(const struct axp__cap_node *n)
{
    return n->category != AXP_CAT_SYNC && n->category != AXP_CAT_COMM;
}

static double work_of(const axp_view *v, const struct axp__cap_lane *lane)
{
    uint64_t ticks = 0;
    for (uint32_t i = 1; i < lane->n_nodes; i++)
        if (is_work(&lane->nodes[i])) ticks += lane->nodes[i].self_ticks;
    return (double)axp__view_ns(v, ticks);
}

/* By number, the busiest thread of each first. */
static int by_rank(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->rank != y->rank) return x->rank > y->rank ? 1 : -1;
    if (x->work_ns != y->work_ns) return x->work_ns < y->work_ns ? 1 : -1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

static struct ranks find(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    struct ranks r = {.at = calloc(c->n_lanes + 1, sizeof *r.at)};
    size_t n = 0;
    r.has_failed = !r.at;
    for (size_t i = 0; r.at && i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        const struct axp__cap_row *row =
            &c->rows[lane->row < 0 ? 0 : lane->row];
        if (lane->row < 0 || lane->is_track || row->rank < 0) continue;
        r.at[n++] = (struct rank){row->rank, lane, work_of(v, lane),
                                  v->lives[lane->row]};
    }
    if (n) qsort(r.at, n, sizeof *r.at, by_rank);
    for (size_t i = 0; i < n; i++)
        if (!i || r.at[i].rank != r.at[i - 1].rank) r.at[r.n++] = r.at[i];
    return r;
}

static double own_time(const axp_view *v, const struct rank *r,
                       const char *name)
{
    uint64_t ticks = 0;
    for (uint32_t i = 1; i < r->lane->n_nodes; i++)
        if (axp__view_name(v, r->lane->nodes[i].name) == name)
            ticks += r->lane->nodes[i].self_ticks;
    return (double)axp__view_ns(v, ticks);
}

double axp__ranks_part(struct axp__analysis *a, const axp_op *op)
{
    struct ranks r = find(a->v);
    double least = 0, most = 0;
    for (size_t i = 0; i < r.n; i++) {
        double own = own_time(a->v, &r.at[i], op->name);
        least = i ? fmin(least, own) : own;
        most = fmax(most, own);
    }
    if (r.has_failed) a->has_failed = true;
    size_t n = r.n;
    free(r.at);
    return n > 1 && most > 0 ? least / most : 1;
}

/* ---- how far apart -------------------------------------------------------------------------- */

struct spread {
    const struct rank *slow, *fast;
    double mean_ns;
    double z; /* of the slowest; 0: too few */
};

static double median(double *at, size_t n)
{
    qsort(at, n, sizeof *at, axp__by_f64);
    return n % 2 ? at[n / 2] : (at[n / 2 - 1] + at[n / 2]) / 2;
}

static bool measure(struct spread *s, const struct ranks *r)
{
    double *at = calloc(r->n, sizeof *at);
    if (!at) return false;
    s->slow = s->fast = &r->at[0];
    for (size_t i = 0; i < r->n; i++) {
        if (r->at[i].work_ns > s->slow->work_ns) s->slow = &r->at[i];
        if (r->at[i].work_ns < s->fast->work_ns) s->fast = &r->at[i];
        s->mean_ns += r->at[i].work_ns / (double)r->n;
        at[i] = r->at[i].work_ns;
    }
    double middle = median(at, r->n);
    for (size_t i = 0; i < r->n; i++)
        at[i] = fabs(r->at[i].work_ns - middle);
    double mad = fmax(median(at, r->n), LEAST_SPREAD * middle);
    if (r->n >= FEWEST && mad > 0)
        s->z = NORMAL * (s->slow->work_ns - middle) / mad;
    free(at);
    return true;
}

/* Runs that were one after the other do not wait for each other. */
static bool are_at_once(const struct ranks *r)
{
    axp_ns last_begin = 0, first_end = UINT64_MAX;
    for (size_t i = 0; i < r->n; i++) {
        if (r->at[i].life.begin > last_begin) last_begin = r->at[i].life.begin;
        if (r->at[i].life.end < first_end) first_end = r->at[i].life.end;
    }
    return last_begin < first_end;
}

/* ---- what is said of it ---------------------------------------------------------------------- */

/* Of which operation the slow one did most more than the others on average. */
static bool find_name(const axp_view *v, const struct ranks *r,
                      const struct rank *slow, uint32_t *out)
{
    double *more = calloc(v->capture->n_names + (size_t)1, sizeof *more);
    double most = 0;
    if (!more) return false;
    for (size_t i = 0; i < r->n; i++) {
        const struct axp__cap_lane *lane = r->at[i].lane;
        double times = &r->at[i] == slow ? 1 : -1 / (double)(r->n - 1);
        for (uint32_t k = 1; k < lane->n_nodes; k++)
            if (is_work(&lane->nodes[k]) &&
                lane->nodes[k].name < v->capture->n_names)
                more[lane->nodes[k].name] +=
                    times * (double)lane->nodes[k].self_ticks;
    }
    *out = UINT32_MAX;
    for (uint32_t i = 0; i < v->capture->n_names; i++) {
        if (more[i] <= most) continue;
        most = more[i];
        *out = i;
    }
    free(more);
    return true;
}

static const axp_op *op_of(const axp_view *v, const char *name)
{
    for (size_t i = 0; i < v->n_ops; i++)
        if (v->ops[i].name == name && !v->ops[i].device) return &v->ops[i];
    return NULL;
}

static void describe(struct axp__analysis *a, struct axp__draft *d,
                     const struct ranks *r, const struct spread *s)
{
    bool stands_out = s->z > a->threshold[AXP__T_load_imbalance_rank_z];
    char slow[32], fast[32], mean[32], saved[32];
    axp_format_ns(slow, sizeof slow, axp__whole(s->slow->work_ns));
    axp_format_ns(fast, sizeof fast, axp__whole(s->fast->work_ns));
    axp_format_ns(mean, sizeof mean, axp__whole(s->mean_ns));
    axp_format_ns(saved, sizeof saved, d->saving_ns);
    axp__draft_say(a, d,
                   "of %zu ranks the slowest, rank %d, worked %s, the fastest, "
                   "rank %d, %s, and the mean is %s; %s, and most of what it "
                   "does more is here",
                   r->n, (int)s->slow->rank, slow, (int)s->fast->rank, fast,
                   mean,
                   stands_out ? "it stands out from the others"
                              : "none stands out from the others");
    if (stands_out)
        axp__draft_advise(
            a, d,
            "see why rank %d is slower at %s than the others: its processor or "
            "device (clock, heat, other programs) if its work is the same, else "
            "its part of the data; as fast as the mean the run would be %s "
            "shorter",
            (int)s->slow->rank, axp__spoken(d->name, "this"), saved);
    else
        axp__draft_advise(
            a, d,
            "divide the work of %s among the ranks by how long it takes, such "
            "as by the lengths of sequences: rank %d does most of it; divided "
            "evenly the run would be %s shorter",
            axp__spoken(d->name, "this"), (int)s->slow->rank, saved);
    axp__draft_metric(d, "rank", s->slow->rank);
    axp__draft_metric(d, "ranks", (double)r->n);
    axp__draft_metric(d, "slow_to_fast", s->slow->work_ns / s->fast->work_ns);
    axp__draft_metric(d, "balance", s->mean_ns / s->slow->work_ns);
    if (r->n >= FEWEST) axp__draft_metric(d, "modified_z", s->z);
}

static bool look_at(struct axp__analysis *a, const struct ranks *r)
{
    const double *t = a->threshold;
    struct spread s = {0};
    uint32_t name;
    if (!measure(&s, r)) return false;
    double saving = s.slow->work_ns - s.mean_ns;
    if (!(s.fast->work_ns > 0) ||
        s.slow->work_ns <
            t[AXP__T_load_imbalance_rank_ratio] * s.fast->work_ns ||
        100 * saving <
            t[AXP__T_load_imbalance_saving_percent] * (double)a->v->duration_ns)
        return true;
    if (!find_name(a->v, r, s.slow, &name)) return false;
    if (name == UINT32_MAX) return true;
    const char *text = axp__view_name(a->v, name);
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_load_imbalance, text);
    if (!d) return true;
    d->op = op_of(a->v, text);
    d->specificity = 5;
    d->has_saving = true;
    d->saving_ns = axp__whole(saving);
    d->confidence = s.z > t[AXP__T_load_imbalance_rank_z] ? 0.8 : 0.6;
    describe(a, d, r, &s);
    return true;
}

void axp__ranks_look(struct axp__analysis *a)
{
    struct ranks r = find(a->v);
    bool ok = !r.has_failed;
    if (ok && r.n > 1 && are_at_once(&r)) ok = look_at(a, &r);
    if (!ok) a->has_failed = true;
    free(r.at);
}
