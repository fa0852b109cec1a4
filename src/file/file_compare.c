/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Field by field; see file_compare.h. */
#include "file/file_compare.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_bytes.h"
#include "base/base_text.h"
#include "tally/tally_fields.def"

#define MOST_SHOWN 20u

/* ---- sums by key ----------------------------------------------------------------- */

/* What is compared of a node, an op, an allocation name or a counter: its
 * fields in the order of tally_fields.def, doubles as axp__f64_bits. Of ops two
 * more: calls in the histogram, and a number that stands for all of it. */
#define VALUES 16
#define HIST_CALLS 14
#define HIST_ALL 15
struct sums {
    uint32_t parent, name; /* the key: a path, or one of the lists below */
    uint64_t value[2][VALUES];
    uint8_t is_there[2];
    uint8_t has_values[2];
};

/* In place of a path. */
#define OPS 0xfffffff0u
#define TRAFFIC 0xfffffff1u
#define COUNTERS 0xfffffff2u
#define STEPS 0xfffffff3u
#define FRAMES 0xfffffff4u
#define ROOT 0xfffffff5u

struct table {
    struct sums *at;
    uint32_t n, cap;
    uint32_t *slots;
    uint32_t n_slots;
    bool is_out_of_memory;
};

static bool widen(struct table *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : 32;
    assert(t->at || !t->n);
    struct sums *at = realloc(t->at, cap * sizeof *at);
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
static uint32_t get(struct table *t, uint32_t parent, uint32_t name)
{
    uint64_t k = axp__mix64((uint64_t)parent << 32 | name);
    if (t->n == t->cap && !widen(t)) {
        t->is_out_of_memory = true;
        return 0;
    }
    uint32_t *slot;
    for (; *(slot = &t->slots[k & (t->n_slots - 1)]); k++) {
        const struct sums *s = &t->at[*slot - 1];
        if (s->parent == parent && s->name == name) return *slot - 1;
    }
    t->at[t->n] = (struct sums){.parent = parent, .name = name};
    return (*slot = ++t->n) - 1;
}

static struct sums *sums_of(struct table *t, uint32_t parent, uint32_t name,
                            int side)
{
    uint32_t i = get(t, parent, name); /* which may move t->at */
    struct sums *s = &t->at[i];
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
#define DIMS_U(is, v) (is_merged ? 0 : (v))
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

static void add_node(struct sums *s, const struct axp__cap_node *r, int side)
{
    BEGIN(s, side);
    AXP__FIELDS_NODE(ADD)
}

static void add_op(struct sums *s, const struct axp__cap_op *r, int side,
                   bool is_merged)
{
    BEGIN(s, side);
    AXP__FIELDS_OP(ADD)
}

static void add_traffic(struct sums *s, const struct axp__cap_traffic *r,
                        int side)
{
    BEGIN(s, side);
    AXP__FIELDS_TRAFFIC(ADD)
}

static void add_counter(struct sums *s, const struct axp__cap_counter *r,
                        int side, bool is_merged)
{
    BEGIN(s, side);
    AXP__FIELDS_COUNTER(ADD)
}

static void add_nodes(struct table *t, const struct axp__cap_lane *lane,
                      int side)
{
    uint32_t *path = malloc((lane->n_nodes + 1) * sizeof *path);
    if (!path) t->is_out_of_memory = true;
    for (uint32_t i = 0; path && i < lane->n_nodes; i++) {
        const struct axp__cap_node *n = &lane->nodes[i];
        uint32_t up = i && n->parent >= 0 ? path[n->parent] : ROOT;
        path[i] = get(t, up, i ? n->name : 0);
        if (n->calls || n->allocated_bytes || n->flops > 0 || n->bytes > 0) {
            t->at[path[i]].is_there[side] = 1;
            add_node(&t->at[path[i]], n, side);
        }
    }
    for (uint32_t i = 0; path && i < lane->n_frames; i++) {
        const struct axp__cap_frame *f = &lane->frames[i];
        if (f->node <= 0) continue;
        /* by path and beginning, whatever else is open */
        struct sums *s = sums_of(t, FRAMES, (uint32_t)f->begin_ticks, side);
        s->value[side][0] += path[f->node];
        s->value[side][1] += f->begin_ticks;
        s->value[side][2] += f->child_ticks;
    }
    free(path);
}

/* What stands for all buckets of an op adds up. */
static void add_hists(struct table *t, const struct axp__cap_lane *lane,
                      int side)
{
    for (uint32_t i = 0; i < lane->n_hists; i++) {
        const struct axp__cap_hist *h = &lane->hists[i];
        bool is_step = h->op == UINT32_MAX;
        struct sums *s = sums_of(t, is_step ? STEPS : OPS,
                                 is_step ? 0 : lane->ops[h->op].name, side);
        for (uint32_t k = 0; k < AXP__HIST_BUCKETS; k++) {
            s->value[side][HIST_CALLS] += h->count[k];
            s->value[side][HIST_ALL] +=
                h->count[k] * axp__mix64(h->page * AXP__HIST_BUCKETS + k + 1);
        }
    }
}

static void add_ops(struct table *t, const struct axp__cap_lane *lane, int side,
                    bool is_merged)
{
    for (uint32_t i = 0; i < lane->n_ops; i++) {
        const struct axp__cap_op *op = &lane->ops[i];
        if (op->min_ticks > op->max_ticks) continue; /* never ended */
        add_op(sums_of(t, OPS, op->name, side), op, side, is_merged);
    }
    add_hists(t, lane, side);
}

/* As an op: all that its statistics have. */
static void add_steps(struct table *t, const struct axp__steps *steps, int side,
                      bool is_merged)
{
    const struct axp__op *stats = &steps->stats;
    struct axp__cap_op op = {.loose_calls = stats->loose_calls,
                             .loose_ticks = stats->loose_ticks,
                             .min_ticks = stats->min_ticks,
                             .max_ticks = stats->max_ticks};
    add_op(sums_of(t, STEPS, 0, side), &op, side, is_merged);
}

/* What recording took is in no timeline. (Names are those of the file.) */
static bool is_cost(const struct axp__capture *c, uint32_t name)
{
    return axp__kind_of(c->name_at(c, name).flags) == AXP__KIND_COST;
}

static void add_small(struct table *t, const struct axp__capture *c,
                      const struct axp__cap_lane *lane, int side,
                      bool is_merged)
{
    for (uint32_t i = 0; i < lane->n_traffic; i++) {
        const struct axp__cap_traffic *r = &lane->traffic[i];
        add_traffic(sums_of(t, TRAFFIC, r->name, side), r, side);
    }
    for (uint32_t i = 0; i < lane->n_counters; i++) {
        const struct axp__cap_counter *r = &lane->counters[i];
        if (is_cost(c, r->name)) continue;
        add_counter(sums_of(t, COUNTERS, r->name, side), r, side, is_merged);
    }
    if (lane->steps) add_steps(t, lane->steps, side, is_merged);
}

static void add_lane(struct table *t, const struct axp__capture *c,
                     const struct axp__cap_lane *lane, int side, bool is_merged)
{
    if (!t->at && !widen(t)) t->is_out_of_memory = true;
    if (t->is_out_of_memory) return;
    add_nodes(t, lane, side);
    add_ops(t, lane, side, is_merged);
    add_small(t, c, lane, side, is_merged);
}

/* ---- differences --------------------------------------------------------------------------- */

static bool differ(struct axp__comparison *x)
{
    return ++x->n_different <= MOST_SHOWN && x->to;
}

static void compare_number(struct axp__comparison *x, const char *what,
                           uint64_t stored, uint64_t folded)
{
    x->n_compared++;
    if (stored == folded || !differ(x)) return;
    fprintf(x->to, "  %s: stored %" PRIu64 ", folded %" PRIu64 "\n", what,
            stored, folded);
}

struct field {
    const char *label; /* NULL: not compared */
    bool is_double;
};

#define IS_DOUBLE_U false
#define IS_DOUBLE_I false
#define IS_DOUBLE_T false
#define IS_DOUBLE_D true
#define FIELD(coding, member, unit, place, sum, label)                         \
    {label, IS_DOUBLE_##coding},

static struct field field_of(const struct sums *s, int i)
{
    static const struct field node[VALUES] = {AXP__FIELDS_NODE(FIELD)};
    static const struct field op[VALUES] = {
        AXP__FIELDS_OP(FIELD){"calls in histogram", false},
        {"histogram", false}};
    static const struct field traffic[VALUES] = {AXP__FIELDS_TRAFFIC(FIELD)};
    static const struct field counter[VALUES] = {AXP__FIELDS_COUNTER(FIELD)};
    static const struct field frame[VALUES] = {
        {"path", false}, {"begin", false}, {"child ticks", false}};
    const struct field *fields = s->parent == OPS || s->parent == STEPS ? op
                                 : s->parent == TRAFFIC  ? traffic
                                 : s->parent == COUNTERS ? counter
                                 : s->parent == FRAMES   ? frame
                                                         : node;
    return fields[i];
}

/* The name in a message: what a file says reaches the terminal as ASCII. */
static void put_name(struct axp__comparison *x, const struct sums *s)
{
    const struct axp__capture *c = x->stored;
    const char *text = s->parent == STEPS    ? "steps"
                       : s->parent == FRAMES ? "an open scope"
                                             : c->name_at(c, s->name).text;
    for (size_t i = 0; text[i] && i < 60; i++)
        fputc(text[i] < 0x20 || text[i] > 0x7e ? '?' : text[i], x->to);
}

/* Sums of doubles depend on the order in which threads were merged. */
static bool is_same(struct field f, uint64_t a, uint64_t b, bool is_merged)
{
    if (a == b || !f.is_double || !is_merged) return a == b;
    double x = axp__f64_of_bits(a), y = axp__f64_of_bits(b);
    return fabs(x - y) <= 1e-9 * (fabs(x) + fabs(y));
}

static void compare_sums(struct axp__comparison *x, const struct sums *s,
                         uint32_t row, bool is_merged)
{
    for (int i = 0; i < VALUES; i++) {
        struct field f = field_of(s, i);
        uint64_t a = s->value[0][i], b = s->value[1][i];
        if (!f.label) continue;
        x->n_compared++;
        if (is_same(f, a, b, is_merged) || !differ(x)) continue;
        fprintf(x->to, "  row %" PRIu32 ", ", row);
        put_name(x, s);
        if (f.is_double)
            fprintf(x->to, ", %s: stored %.17g, folded %.17g\n", f.label,
                    axp__f64_of_bits(a), axp__f64_of_bits(b));
        else
            fprintf(x->to, ", %s: stored %" PRIu64 ", folded %" PRIu64 "\n",
                    f.label, a, b);
    }
}

/* Scopes that another thread has ended, and this one has not noticed yet, are
 * not shown as open; words know nothing of it. */
static bool is_claimed(const struct sums *s, uint64_t n_hidden)
{
    return s->parent == FRAMES && !s->is_there[0] && n_hidden;
}

static void compare_table(struct axp__comparison *x, const struct table *t,
                          uint32_t row, bool is_merged, uint64_t n_hidden)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const struct sums *s = &t->at[i];
        if (is_claimed(s, n_hidden)) continue;
        if (s->is_there[0] || s->is_there[1])
            compare_sums(x, s, row, is_merged);
    }
    if (t->is_out_of_memory) x->is_out_of_memory = true;
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* The lanes of a capture's rows, by the ids of these. */
struct lane_at {
    uint32_t id;
    const struct axp__cap_lane *lane;
};

struct lanes {
    struct lane_at *at;
    size_t n;
};

static int by_id(const void *a, const void *b)
{
    const struct lane_at *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static bool list_lanes(struct lanes *l, const struct axp__capture *c)
{
    l->n = 0;
    l->at = malloc((c->n_lanes + 1) * sizeof *l->at);
    for (size_t i = 0; l->at && i < c->n_lanes; i++)
        if (c->lanes[i].row >= 0)
            l->at[l->n++] =
                (struct lane_at){c->rows[c->lanes[i].row].id, &c->lanes[i]};
    if (l->n) qsort(l->at, l->n, sizeof *l->at, by_id);
    return l->at;
}

static const struct axp__cap_lane *lane_of(const struct lanes *l,
                                           uint32_t row_id)
{
    struct lane_at key = {.id = row_id};
    const struct lane_at *found =
        l->n ? bsearch(&key, l->at, l->n, sizeof key, by_id) : NULL;
    return found ? found->lane : NULL;
}

static void compare_row(struct axp__comparison *x,
                        const struct axp__cap_lane *stored,
                        const struct lanes *again)
{
    const struct axp__cap_row *row = &x->stored->rows[stored->row];
    const struct axp__cap_lane *folded = lane_of(again, row->id);
    struct table t = {0};
    uint64_t n_hidden = 0;
    add_lane(&t, x->stored, stored, 0, false);
    if (folded) add_lane(&t, x->stored, folded, 1, false);
    for (uint32_t i = 0; i < stored->n_frames; i++)
        n_hidden += stored->frames[i].node <= 0;
    compare_table(x, &t, row->id, false, n_hidden);
    if (folded) {
        const struct axp__cap_row *other = &x->folded->rows[folded->row];
        compare_number(x, "first event of a row", row->first, other->first);
        compare_number(x, "events of a row", row->n_events, other->n_events);
        if (other->last > row->last && !stored->n_frames)
            compare_number(x, "last event of a row", row->last, other->last);
    }
    free(t.at);
    free(t.slots);
}

/* Rows whose threads were merged, against the sum that was stored. */
static void compare_merged(struct axp__comparison *x,
                           const struct lanes *stored)
{
    struct table t = {0};
    for (size_t i = 0; i < x->stored->n_lanes; i++)
        if (x->stored->lanes[i].row < 0)
            add_lane(&t, x->stored, &x->stored->lanes[i], 0, true);
    for (size_t i = 0; i < x->folded->n_lanes; i++) {
        const struct axp__cap_lane *lane = &x->folded->lanes[i];
        if (lane->row < 0 || !lane_of(stored, x->folded->rows[lane->row].id))
            add_lane(&t, x->stored, lane, 1, true);
    }
    compare_table(x, &t, 0, true, 0);
    free(t.at);
    free(t.slots);
}

/* ---- memory -------------------------------------------------------------------------------------- */

uint64_t axp__compare_apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* One thread's peaks are exact. Of several each may have a block in flight. */
uint64_t axp__compare_allowed(uint64_t n_with_memory, uint64_t largest_block)
{
    return n_with_memory > 1 ? n_with_memory * largest_block : 0;
}

static void compare_about(struct axp__comparison *x, const char *what,
                          uint64_t stored, uint64_t folded, uint64_t allowed)
{
    if (axp__compare_apart(stored, folded) <= allowed)
        x->n_compared++;
    else
        compare_number(x, what, stored, folded);
}

static void compare_live(struct axp__comparison *x,
                         const struct axp__cap_live *stored,
                         const struct axp__cap_live *folded, uint64_t allowed)
{
    compare_number(x, "kind of an allocation name", stored->kind, folded->kind);
    compare_number(x, "live bytes of a name", stored->current_bytes,
                   folded->current_bytes);
    compare_about(x, "peak of a name", stored->peak_bytes, folded->peak_bytes,
                  allowed);
    compare_about(x, "bytes of a name at the peak", stored->at_peak_bytes,
                  folded->at_peak_bytes, allowed ? UINT64_MAX : 0);
    if (allowed) return;
    compare_number(x, "bytes of a name at the first step",
                   stored->first_step_bytes, folded->first_step_bytes);
    compare_number(x, "since when a name is live", stored->since_ticks,
                   folded->since_ticks);
}

static void compare_memory(struct axp__comparison *x)
{
    const struct axp__capture *a = x->stored, *b = x->folded;
    uint64_t allowed = axp__compare_allowed(x->n_with_memory, x->largest_block);
    size_t k = 0;
    compare_number(x, "live bytes", a->current_bytes, b->current_bytes);
    compare_about(x, "peak of memory", a->peak_bytes, b->peak_bytes, allowed);
    compare_number(x, "devices with memory", a->n_domains, b->n_domains);
    for (size_t i = 0; i < a->n_domains; i++) {
        const struct axp__cap_domain *stored = &a->domains[i];
        const struct axp__cap_domain *folded =
            axp__cap_find_domain(b, stored->device);
        if (!folded) continue;
        compare_number(x, "live bytes of a device", stored->current_bytes,
                       folded->current_bytes);
        compare_about(x, "peak of a device", stored->peak_bytes,
                      folded->peak_bytes, allowed);
    }
    for (size_t i = 0; i < a->n_live; i++) {
        while (k < b->n_live && b->live[k].name < a->live[i].name)
            k++;
        if (k < b->n_live && b->live[k].name == a->live[i].name)
            compare_live(x, &a->live[i], &b->live[k], allowed);
        else if (a->live[i].peak_bytes)
            compare_number(x, "peak of a name", a->live[i].peak_bytes, 0);
    }
}

void axp__compare(struct axp__comparison *x)
{
    struct lanes stored = {0}, folded = {0};
    if (!list_lanes(&stored, x->stored) || !list_lanes(&folded, x->folded))
        x->is_out_of_memory = true;
    for (size_t i = 0; i < x->stored->n_lanes && !x->is_out_of_memory; i++)
        if (x->stored->lanes[i].row >= 0)
            compare_row(x, &x->stored->lanes[i], &folded);
    if (!x->is_out_of_memory) compare_merged(x, &stored);
    free(stored.at);
    free(folded.at);
    compare_memory(x);
    compare_number(x, "steps", x->stored->n_steps, x->folded->n_steps);
    compare_number(x, "events", x->stored->n_events, x->folded->n_events);
    if (x->to && x->n_different > MOST_SHOWN)
        fprintf(x->to, "  and %" PRIu64 " more\n", x->n_different - MOST_SHOWN);
}
