/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lanes into sums; see file_compare_sums.h. */
#include "file/file_compare_sums.h"

#include <assert.h>
#include <stdlib.h>

#include "base/base_bytes.h"
#include "base/base_text.h"
#include "tally/tally_fields.def"
#include "wire/wire_kind.h"

/* ---- sums by key ----------------------------------------------------------------- */

static bool widen(struct axp__sums_table *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : 32;
    assert(t->at || !t->n);
    struct axp__sums *at = realloc(t->at, cap * sizeof *at);
    if (at) t->at = at;
    uint32_t *slots = calloc(2 * (size_t)cap, sizeof *slots);
    if (!at || !slots) {
        free(slots);
        return false;
    }
    free(t->slots);
    t->slots = slots;
    t->n_slots = 2 * cap;
    for (uint32_t i = 0; i < t->n; i++) {
        uint64_t k = axp__mix64((uint64_t)at[i].parent << 32 | at[i].name);
        while (slots[k & (t->n_slots - 1)])
            k++;
        slots[k & (t->n_slots - 1)] = i + 1;
    }
    t->cap = cap;
    return true;
}

/* The index of a key, made when new. */
static uint32_t get(struct axp__sums_table *t, uint32_t parent, uint32_t name)
{
    uint64_t k = axp__mix64((uint64_t)parent << 32 | name);
    if (t->n == t->cap && !widen(t)) {
        t->is_out_of_memory = true;
        return 0;
    }
    uint32_t *slot;
    for (; *(slot = &t->slots[k & (t->n_slots - 1)]); k++) {
        const struct axp__sums *s = &t->at[*slot - 1];
        if (s->parent == parent && s->name == name) return *slot - 1;
    }
    t->at[t->n] = (struct axp__sums){.parent = parent, .name = name};
    return (*slot = ++t->n) - 1;
}

static struct axp__sums *sums_of(struct axp__sums_table *t, uint32_t parent,
                                 uint32_t name, int side)
{
    uint32_t i = get(t, parent, name); /* which may move t->at */
    struct axp__sums *s = &t->at[i];
    s->is_there[side] = 1;
    return s;
}

/* ---- lanes into sums ------------------------------------------------------------------- */

/* One value added to what there is (is_first: nothing), as the table says. */
#define SUM_U(is, v) (is_first ? (v) : (is) + (v))
#define SUM_D(is, v)                                                           \
    (is_first ? axp__f64_bits(v) : axp__f64_bits(axp__f64_of_bits(is) + (v)))
#define MIN_U(is, v) (is_first || (v) < (is) ? (v) : (is))
#define MIN_D(is, v)                                                           \
    (is_first || (v) < axp__f64_of_bits(is) ? axp__f64_bits(v) : (is))
#define MAX_U(is, v) (is_first || (v) > (is) ? (v) : (is))
#define MAX_D(is, v)                                                           \
    (is_first || (v) > axp__f64_of_bits(is) ? axp__f64_bits(v) : (is))
#define LAST_U(is, v) ((v) ? (v) : (is))
/* Of several that were merged nobody knows which was the last. */
#define NEWEST_T(is, v) (is_merged ? 0 : (v))
#define NEWEST_D(is, v) (is_merged ? 0 : axp__f64_bits(v))
#define KEY_U(is, v) 0
#define KEY_I(is, v) 0

#define ADD(coding, member, unit, place, sum, ...)                             \
    *value = sum##_##coding(*value, r->member);                                \
    value++;

/* Before the values of a side change: where they are, and whether they are
 * the first. */
#define BEGIN(s, side)                                                         \
    uint64_t *value = (s)->value[side];                                        \
    bool is_first = !(s)->has_values[side];                                    \
    (s)->has_values[side] = 1

static void add_node(struct axp__sums *s, const struct axp__cap_node *r,
                     int side)
{
    BEGIN(s, side);
    AXP__FIELDS_NODE(ADD)
}

static void add_op(struct axp__sums *s, const struct axp__cap_op *r, int side)
{
    BEGIN(s, side);
    AXP__FIELDS_OP(ADD)
}

static void add_traffic(struct axp__sums *s, const struct axp__cap_traffic *r,
                        int side)
{
    BEGIN(s, side);
    AXP__FIELDS_TRAFFIC(ADD)
}

static void add_counter(struct axp__sums *s, const struct axp__cap_counter *r,
                        int side, bool is_merged)
{
    BEGIN(s, side);
    AXP__FIELDS_COUNTER(ADD)
}

static void add_nodes(struct axp__sums_table *t,
                      const struct axp__cap_lane *lane, int side)
{
    uint32_t *path = malloc((lane->n_nodes + 1) * sizeof *path);
    if (!path) t->is_out_of_memory = true;
    for (uint32_t i = 0; path && i < lane->n_nodes; i++) {
        const struct axp__cap_node *n = &lane->nodes[i];
        uint32_t up = i && n->parent >= 0 ? path[n->parent] : AXP__SUMS_ROOT;
        path[i] = get(t, up, i ? n->shape ? n->shape : n->name : 0);
        if (n->calls || n->allocated_bytes || n->flops > 0 || n->bytes > 0) {
            t->at[path[i]].is_there[side] = 1;
            add_node(&t->at[path[i]], n, side);
        }
    }
    for (uint32_t i = 0; path && i < lane->n_frames; i++) {
        const struct axp__cap_frame *f = &lane->frames[i];
        if (f->node <= 0) continue;
        /* by path and beginning, whatever else is open */
        struct axp__sums *s =
            sums_of(t, AXP__SUMS_FRAMES, (uint32_t)f->begin_ticks, side);
        s->value[side][0] += path[f->node];
        s->value[side][1] += f->begin_ticks;
        s->value[side][2] += f->child_ticks;
    }
    free(path);
}

/* What stands for all buckets of an op adds up. */
static void add_hists(struct axp__sums_table *t,
                      const struct axp__cap_lane *lane, int side)
{
    for (uint32_t i = 0; i < lane->n_hists; i++) {
        const struct axp__cap_hist *h = &lane->hists[i];
        bool is_step = h->op == UINT32_MAX;
        struct axp__sums *s =
            sums_of(t, is_step ? AXP__SUMS_STEPS : AXP__SUMS_OPS,
                    is_step ? 0 : lane->ops[h->op].name, side);
        for (uint32_t k = 0; k < AXP__HIST_BUCKETS; k++) {
            s->value[side][AXP__SUMS_HIST_CALLS] += h->count[k];
            s->value[side][AXP__SUMS_HIST_ALL] +=
                h->count[k] * axp__mix64(h->page * AXP__HIST_BUCKETS + k + 1);
        }
    }
}

static void add_ops(struct axp__sums_table *t, const struct axp__cap_lane *lane,
                    int side)
{
    for (uint32_t i = 0; i < lane->n_ops; i++) {
        const struct axp__cap_op *op = &lane->ops[i];
        if (op->min_ticks > op->max_ticks) continue; /* never ended */
        add_op(sums_of(t, AXP__SUMS_OPS, op->name, side), op, side);
    }
    add_hists(t, lane, side);
}

/* What a recorder's op has. */
#define OWN(coding, member, unit, place, ...) OWN_##place(member)
#define OWN_own(member) op.member = r->member;
#define OWN_apart(member)

/* As an op: all that its statistics have. */
static void add_steps(struct axp__sums_table *t, const struct axp__steps *steps,
                      int side)
{
    const struct axp__op *r = &steps->stats;
    struct axp__cap_op op = {0};
    AXP__FIELDS_OP(OWN)
    add_op(sums_of(t, AXP__SUMS_STEPS, 0, side), &op, side);
}

/* What recording took is in no timeline. (Names are those of the file.) */
static bool is_cost(const struct axp__capture *c, uint32_t name)
{
    return axp__kind_of(c->name_at(c, name).flags) == AXP__KIND_COST;
}

static void add_small(struct axp__sums_table *t, const struct axp__capture *c,
                      const struct axp__cap_lane *lane, int side,
                      bool is_merged)
{
    for (uint32_t i = 0; i < lane->n_traffic; i++) {
        const struct axp__cap_traffic *r = &lane->traffic[i];
        add_traffic(sums_of(t, AXP__SUMS_TRAFFIC, r->name, side), r, side);
    }
    for (uint32_t i = 0; i < lane->n_counters; i++) {
        const struct axp__cap_counter *r = &lane->counters[i];
        if (is_cost(c, r->name)) continue;
        add_counter(sums_of(t, AXP__SUMS_COUNTERS, r->name, side), r, side,
                    is_merged);
    }
    if (lane->steps) add_steps(t, lane->steps, side);
}

void axp__sums_add(struct axp__sums_table *t, const struct axp__capture *c,
                   const struct axp__cap_lane *lane, int side, bool is_merged)
{
    if (!t->at && !widen(t)) t->is_out_of_memory = true;
    if (t->is_out_of_memory) return;
    add_nodes(t, lane, side);
    add_ops(t, lane, side);
    add_small(t, c, lane, side, is_merged);
}

void axp__sums_fini(struct axp__sums_table *t)
{
    free(t->at);
    free(t->slots);
}
