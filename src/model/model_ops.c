/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations: all nodes of a name, over all threads, as one.
 *
 * Sums are made in ticks, per op, and converted once, so that rounding does
 * not grow with threads. Tracks are in nanoseconds already.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_category.h"
#include "base/base_number.h"
#include "model/model_view.h"
#include "record/record_thread.h"

struct sums { /* index 0: ticks; 1: ns of tracks */
    uint32_t name;
    uint64_t calls, ended;
    uint64_t total[2], self[2], min[2], max[2];
    uint64_t sum[2]; /* of single calls: recursion each time */
    uint64_t flops_time[2], bytes_time[2], lifetime[2];
    uint64_t own;  /* ticks in self[0] that recording took */
    double doubt;  /* ticks in it that may be ours beyond that */
    axp_ns beside; /* that was told beside scopes, and may be in it */
    uint64_t n_flops_calls, n_bytes_calls;
    double flops, bytes;
    double work_of[AXP_C128 + 1]; /* by type */
    uint64_t category_self[AXP__N_CATEGORIES];
    struct axp__weighted *weighted;
    size_t n_weighted, max_weighted;
    bool is_of_track; /* which has spans of that name */
};

struct table {
    struct sums *sums;
    size_t n, cap;
    uint32_t *slots; /* index + 1 */
    size_t n_slots;
};

static size_t slot_of(const struct table *t, uint32_t name)
{
    size_t i = name * 2654435761u & (t->n_slots - 1);
    while (t->slots[i] && t->sums[t->slots[i] - 1].name != name)
        i = (i + 1) & (t->n_slots - 1);
    return i;
}

static struct sums *get(struct table *t, uint32_t name)
{
    size_t i = slot_of(t, name);
    if (!t->slots[i]) {
        struct sums *s = &t->sums[t->n];
        *s = (struct sums){.name = name, .min = {UINT64_MAX, UINT64_MAX}};
        t->slots[i] = (uint32_t)++t->n;
    }
    return &t->sums[t->slots[i] - 1];
}

static bool init_table(struct table *t, const struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_lanes; i++)
        t->cap += c->lanes[i].n_ops + c->lanes[i].n_nodes;
    t->n_slots = 16;
    while (t->n_slots < t->cap * 2)
        t->n_slots *= 2;
    t->sums = calloc(t->cap + 1, sizeof *t->sums);
    t->slots = calloc(t->n_slots, sizeof *t->slots);
    return t->sums && t->slots;
}

/* ---- what several files need --------------------------------------------------- */

uint64_t axp__frame_total(const axp_view *v, const struct axp__cap_lane *lane,
                          uint32_t i)
{
    uint64_t end = axp__cap_lane_end(v->capture, lane);
    uint64_t begin = lane->frames[i].begin_ticks;
    return end > begin ? end - begin : 0;
}

uint64_t axp__frame_self(const axp_view *v, const struct axp__cap_lane *lane,
                         uint32_t i)
{
    uint64_t total = axp__frame_total(v, lane, i);
    uint64_t within = lane->frames[i].child_ticks;
    if (i + 1 < lane->n_frames) { /* the open child's part */
        uint64_t end = axp__cap_lane_end(v->capture, lane);
        uint64_t from = lane->frames[i + 1].charged_ticks;
        within += end > from ? end - from : 0;
    }
    return total > within ? total - within : 0;
}

uint64_t axp__view_percentile(const struct axp__weighted *w, size_t n, double q)
{
    uint64_t all = 0, seen = 0;
    for (size_t i = 0; i < n; i++)
        all += w[i].count;
    uint64_t rank = axp__whole(ceil(q * (double)all));
    for (size_t i = 0; i < n; i++) {
        seen += w[i].count;
        if (seen >= rank && w[i].count) return w[i].value;
    }
    return 0;
}

int axp__view_by_weight_value(const void *a, const void *b)
{
    const struct axp__weighted *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

size_t axp__view_add_page(const axp_view *v, const struct axp__cap_lane *lane,
                          uint32_t page, struct axp__weighted *out)
{
    const struct axp__cap_hist *h = &lane->hists[page];
    size_t n = 0;
    for (uint32_t k = 0; k < AXP__HIST_BUCKETS; k++) {
        if (!h->count[k]) continue;
        uint64_t mid = axp__hist_mid(h->page, k);
        if (out)
            out[n] = (struct axp__weighted){
                lane->is_track ? mid : axp__view_ns(v, mid), h->count[k]};
        n++;
    }
    return n;
}

/* ---- adding up -------------------------------------------------------------------- */

static void add_op(struct table *t, const struct axp__cap_lane *lane,
                   const struct axp__cap_op *op)
{
    struct sums *s = get(t, op->name);
    int u = lane->is_track;
    s->calls += op->loose_calls;
    s->ended += op->loose_calls;
    s->total[u] += op->loose_ticks - op->repeat_ticks;
    s->sum[u] += op->loose_ticks;
    if (op->min_ticks < s->min[u]) s->min[u] = op->min_ticks;
    if (op->max_ticks > s->max[u]) s->max[u] = op->max_ticks;
    s->lifetime[u] += op->lifetime_ticks;
    s->is_of_track |= lane->is_track;
}

static bool add_nodes(const axp_view *v, struct table *t,
                      const struct axp__cap_lane *lane)
{
    int u = lane->is_track;
    uint64_t *costs = axp__lane_costs(v->capture, lane);
    double doubt = axp__lane_doubt(v, lane);
    uint16_t *category = calloc(lane->n_nodes + 1, sizeof *category);
    bool ok = costs && category;
    for (uint32_t i = 1; ok && i < lane->n_nodes; i++) {
        const struct axp__cap_node *n = &lane->nodes[i];
        category[i] = n->category      ? n->category
                      : n->parent >= 0 ? category[n->parent]
                                       : 0;
        struct sums *s = get(t, n->name);
        s->calls += n->calls;
        s->ended += n->calls;
        if (!n->is_recursive) s->total[u] += n->total_ticks;
        s->sum[u] += n->total_ticks;
        s->self[u] += n->self_ticks;
        s->own += costs[i];
        s->doubt += (double)costs[i] * doubt;
        s->n_flops_calls += n->n_flops_calls;
        s->n_bytes_calls += n->n_bytes_calls;
        s->flops_time[u] += n->flops_ticks;
        s->bytes_time[u] += n->bytes_ticks;
        s->flops += n->flops;
        s->bytes += n->bytes;
        if (n->dtype) s->work_of[n->dtype] += n->flops + n->bytes + 1;
        s->category_self[category[i]] += n->self_ticks + 1;
    }
    free(costs);
    free(category);
    return ok;
}

static void add_frames(const axp_view *v, struct table *t,
                       const struct axp__cap_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_frames; i++) {
        const struct axp__cap_frame *f = &lane->frames[i];
        if (f->node <= 0) continue;
        uint32_t name = lane->nodes[f->node].name;
        struct sums *s = get(t, name);
        uint64_t total = axp__frame_total(v, lane, i);
        s->calls++;
        s->sum[0] += total;
        if (total < s->min[0]) s->min[0] = total;
        if (total > s->max[0]) s->max[0] = total;
        if (!lane->nodes[f->node].is_recursive && !(f->flags & AXP__F_REPEAT))
            s->total[0] += total;
        s->self[0] += axp__frame_self(v, lane, i);
        if (f->flags & AXP__F_FLOPS) s->flops_time[0] += total;
        if (f->flags & AXP__F_BYTES) s->bytes_time[0] += total;
    }
}

/* Own time that the nodes of a lane are left with. */
static axp_ns kept_ns(const axp_view *v, const struct axp__cap_lane *lane)
{
    uint64_t *costs = axp__lane_costs(v->capture, lane), sum = 0;
    for (uint32_t i = 1; costs && i < lane->n_nodes; i++)
        sum += lane->nodes[i].self_ticks > costs[i]
                   ? lane->nodes[i].self_ticks - costs[i]
                   : 0;
    free(costs);
    return axp__view_ns(v, sum);
}

/* The lifetime of a row counts for each op that ran on it, once, without what
 * recording took of it; with what is in their own times too (add_beside). If what
 * is left is less than they are left with, a call cost less here than where that
 * was measured, and by so much nobody knows their shares. */
static void add_lifetimes(const axp_view *v, struct table *t,
                          const struct axp__cap_lane *lane)
{
    if (lane->row < 0) return; /* merged ones brought theirs */
    struct axp__life at = v->lives[lane->row];
    axp_ns life = at.end - at.begin, most = life / 10 * 9;
    axp_ns own = axp__lane_own_ns(v, lane) - axp__lane_beside_ns(v, lane);
    axp_ns kept = kept_ns(v, lane), excess = 0;
    life -= own < most ? own : most; /* what is left is never quite nothing */
    if (own && life < kept) {
        excess = kept - life;
        life = kept;
    }
    for (uint32_t i = 0; i < lane->n_ops; i++) {
        struct sums *s = get(t, lane->ops[i].name);
        s->beside += excess;
        if (s->calls) s->lifetime[1] += life;
    }
}

/* What calls of muted functions and calls by name took is in the time of those
 * that called them, which may be any of the lane's. */
static void add_beside(const axp_view *v, struct table *t,
                       const struct axp__cap_lane *lane)
{
    axp_ns beside = axp__lane_beside_ns(v, lane);
    for (uint32_t i = 0; beside && i < lane->n_ops; i++)
        get(t, lane->ops[i].name)->beside += beside;
}

/* First how many there are, then they themselves. */
static bool add_pages(const axp_view *v, struct table *t)
{
    const struct axp__capture *c = v->capture;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < c->n_lanes; i++) {
            const struct axp__cap_lane *lane = &c->lanes[i];
            for (uint32_t k = 0; k < lane->n_hists; k++) {
                if (lane->hists[k].op == UINT32_MAX) continue;
                struct sums *s = get(t, lane->ops[lane->hists[k].op].name);
                if (pass == 0) {
                    s->max_weighted += axp__view_add_page(v, lane, k, NULL);
                    continue;
                }
                if (!s->weighted)
                    s->weighted =
                        malloc((s->max_weighted + 1) * sizeof *s->weighted);
                if (!s->weighted) return false;
                s->n_weighted +=
                    axp__view_add_page(v, lane, k, s->weighted + s->n_weighted);
            }
        }
    return true;
}

/* ---- an op ------------------------------------------------------------------------- */

static void set_percentiles(axp_op *op, struct sums *s)
{
    qsort(s->weighted, s->n_weighted, sizeof *s->weighted,
          axp__view_by_weight_value);
    axp_ns *out[3] = {&op->p50_ns, &op->p95_ns, &op->p99_ns};
    const double q[3] = {0.5, 0.95, 0.99};
    for (int i = 0; i < 3; i++) {
        axp_ns p = axp__view_percentile(s->weighted, s->n_weighted, q[i]);
        if (p < op->min_ns) p = op->min_ns;
        if (p > op->max_ns) p = op->max_ns;
        *out[i] = p;
    }
}

static void set_extremes(const axp_view *v, axp_op *op, struct sums *s)
{
    axp_ns low =
        s->min[0] == UINT64_MAX ? UINT64_MAX : axp__view_ns(v, s->min[0]);
    axp_ns high = axp__view_ns(v, s->max[0]);
    op->min_ns = low < s->min[1] ? low : s->min[1];
    op->max_ns = high > s->max[1] ? high : s->max[1];
    op->avg_ns = s->calls ? axp__view_sum_ns(v, s->sum) / s->calls : 0;
    if (op->avg_ns < op->min_ns) op->avg_ns = op->min_ns; /* rounding */
    if (s->n_weighted)
        set_percentiles(op, s);
    else /* all calls are open: their time so far stands for them */
        op->p50_ns = op->p95_ns = op->p99_ns = op->avg_ns;
}

static void set_doubt(const axp_view *v, axp_op *op, const struct sums *s,
                      axp_ns life)
{
    axp_ns beside = s->beside < op->total_ns ? s->beside : op->total_ns;
    op->doubt_ns = axp__view_ns(v, axp__whole(s->doubt)) + beside;
    op->is_doubtful = (double)op->doubt_ns > (double)life * 0.05;
}

/* The type that most of its work was of. */
static axp_dtype main_dtype(const struct sums *s)
{
    unsigned best = AXP_DTYPE_UNKNOWN;
    for (unsigned i = 0; i <= AXP_C128; i++)
        if (s->work_of[i] > s->work_of[best]) best = i;
    return (axp_dtype)best;
}

static void make_op(axp_view *v, axp_op *op, struct sums *s)
{
    const struct axp__capture *c = v->capture;
    struct axp__cap_name name = c->name_at(c, s->name);
    uint64_t own = s->own < s->self[0] ? s->own : s->self[0];
    uint64_t self[2] = {s->self[0] - own, s->self[1]};
    uint64_t best = 0;
    *op = (axp_op){.name = name.text,
                   .calls = s->calls,
                   .total_ns = axp__view_sum_ns(v, s->total),
                   .self_ns = axp__view_sum_ns(v, self),
                   .flops = s->flops,
                   .bytes = s->bytes,
                   .n_flops_calls = s->n_flops_calls,
                   .n_bytes_calls = s->n_bytes_calls,
                   .flops_ns = axp__view_sum_ns(v, s->flops_time),
                   .bytes_ns = axp__view_sum_ns(v, s->bytes_time),
                   .dtype = main_dtype(s),
                   .file = name.file,
                   .line = name.line,
                   .is_wait = axp__kind_of(name.flags) == AXP__KIND_WAIT,
                   .device = axp__cap_device(c, axp__device_of(name.flags))};
    for (int i = 1; i < AXP__N_CATEGORIES; i++)
        if (s->category_self[i] > best) {
            best = s->category_self[i];
            op->category = (axp_cat)i;
        }
    axp_ns life = axp__view_sum_ns(v, s->lifetime);
    op->time_share = life ? (double)op->self_ns / (double)life : 0;
    if (op->time_share > 1) op->time_share = 1;
    set_doubt(v, op, s, life);
    set_extremes(v, op, s);
}

static int by_self(const void *a, const void *b)
{
    const axp_op *x = a, *y = b;
    if (x->self_ns != y->self_ns) return x->self_ns < y->self_ns ? 1 : -1;
    return axp__view_by_name(x, y);
}

static void make_process(axp_view *v, struct sums *s)
{
    axp_op op;
    make_op(v, &op, s);
    v->processes[v->n_processes++] = (axp_process_info){
        op.name, op.calls, op.total_ns, op.avg_ns, op.max_ns};
}

static int by_life(const void *a, const void *b)
{
    const axp_process_info *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    return axp__view_by_name(*(const axp_op *const *)a,
                             *(const axp_op *const *)b);
}

/* If it is, and those alike are in the order of the list. */
static void choose_most_called(const axp_op **most, const axp_op *op)
{
    const axp_op *was = *most;
    if (!was || op->calls > was->calls ||
        (op->calls == was->calls && by_self(op, was) < 0))
        *most = op;
}

/* The lives of processes are no operations. */
static bool make_lists(axp_view *v, struct table *t)
{
    v->ops = calloc(t->n + 1, sizeof *v->ops);
    v->processes = calloc(t->n + 1, sizeof *v->processes);
    const axp_op *most = NULL;
    if (!v->ops || !v->processes) return false;
    for (size_t i = 0; i < t->n; i++) {
        struct sums *s = &t->sums[i];
        if (!s->calls) continue;
        if (axp__view_kind(v, s->name) == AXP__KIND_PROCESS) {
            make_process(v, s);
            continue;
        }
        axp_op *op = &v->ops[v->n_ops++];
        make_op(v, op, s);
        if (!s->is_of_track) choose_most_called(&most, op);
    }
    v->most_called = most ? most->name : NULL;
    qsort(v->ops, v->n_ops, sizeof *v->ops, by_self);
    v->ops_by_name = calloc(v->n_ops + 1, sizeof *v->ops_by_name);
    if (!v->ops_by_name) return false;
    for (size_t i = 0; i < v->n_ops; i++)
        v->ops_by_name[i] = &v->ops[i];
    qsort(v->ops_by_name, v->n_ops, sizeof *v->ops_by_name, by_name);
    qsort(v->processes, v->n_processes, sizeof *v->processes, by_life);
    return true;
}

bool axp__view_make_ops(axp_view *v)
{
    struct axp__capture *c = v->capture;
    struct table t = {0};
    bool ok = init_table(&t, c);
    for (size_t i = 0; ok && i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        for (uint32_t k = 0; k < lane->n_ops; k++)
            add_op(&t, lane, &lane->ops[k]);
        ok = add_nodes(v, &t, lane);
        add_frames(v, &t, lane);
    }
    for (size_t i = 0; ok && i < c->n_lanes; i++) {
        add_lifetimes(v, &t, &c->lanes[i]);
        add_beside(v, &t, &c->lanes[i]);
    }
    ok = ok && add_pages(v, &t) && make_lists(v, &t);
    for (size_t i = 0; t.sums && i < t.n; i++)
        free(t.sums[i].weighted);
    free(t.sums);
    free(t.slots);
    return ok;
}

/* ---- the public calls ----------------------------------------------------------------- */

/* Time of the calls that declared: known, or their part of the total. */
static double rate(double amount, uint64_t n, axp_ns known, const axp_op *op)
{
    double ns = (double)known;
    if (!n || !op->calls) return NAN;
    if (known == 0) ns = (double)op->total_ns * (double)n / (double)op->calls;
    return ns > 0 ? amount / ns : NAN;
}

double axp_op_gflops(const axp_op *op)
{
    if (!op) return NAN;
    return rate(op->flops, op->n_flops_calls, op->flops_ns, op);
}

double axp_op_gbps(const axp_op *op)
{
    if (!op) return NAN;
    return rate(op->bytes, op->n_bytes_calls, op->bytes_ns, op);
}
