/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Field by field; see file_compare.h. */
#include "file/file_compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/base_bytes.h"
#include "file/file_compare_sums.h"
#include "tally/tally_fields.def"

#define MOST_SHOWN 20u

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

static struct field field_of(const struct axp__sums *s, int i)
{
    static const struct field node[AXP__SUMS_VALUES] = {
        AXP__FIELDS_NODE(FIELD)};
    static const struct field op[AXP__SUMS_VALUES] = {
        AXP__FIELDS_OP(FIELD){"calls in histogram", false},
        {"histogram", false}};
    static const struct field traffic[AXP__SUMS_VALUES] = {
        AXP__FIELDS_TRAFFIC(FIELD)};
    static const struct field counter[AXP__SUMS_VALUES] = {
        AXP__FIELDS_COUNTER(FIELD)};
    static const struct field frame[AXP__SUMS_VALUES] = {
        {"path", false}, {"begin", false}, {"child ticks", false}};
    const struct field *fields =
        s->parent == AXP__SUMS_OPS || s->parent == AXP__SUMS_STEPS ? op
        : s->parent == AXP__SUMS_TRAFFIC                           ? traffic
        : s->parent == AXP__SUMS_COUNTERS                          ? counter
        : s->parent == AXP__SUMS_FRAMES                            ? frame
                                                                   : node;
    return fields[i];
}

/* The name in a message: what a file says reaches the terminal as ASCII. */
static void put_name(struct axp__comparison *x, const struct axp__sums *s)
{
    const struct axp__capture *c = x->stored;
    const char *text = s->parent == AXP__SUMS_STEPS ? "steps"
                       : s->parent == AXP__SUMS_FRAMES
                           ? "an open scope"
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

static void compare_sums(struct axp__comparison *x, const struct axp__sums *s,
                         uint32_t row, bool is_merged)
{
    for (int i = 0; i < AXP__SUMS_VALUES; i++) {
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
static bool is_claimed(const struct axp__sums *s, uint64_t n_hidden)
{
    return s->parent == AXP__SUMS_FRAMES && !s->is_there[0] && n_hidden;
}

static void compare_table(struct axp__comparison *x,
                          const struct axp__sums_table *t, uint32_t row,
                          bool is_merged, uint64_t n_hidden)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const struct axp__sums *s = &t->at[i];
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
    struct axp__sums_table t = {0};
    uint64_t n_hidden = 0;
    axp__sums_add(&t, x->stored, stored, 0, false);
    if (folded) axp__sums_add(&t, x->stored, folded, 1, false);
    for (uint32_t i = 0; i < stored->n_frames; i++)
        n_hidden += stored->frames[i].node <= 0;
    compare_table(x, &t, row->id, false, n_hidden);
    if (folded) {
        const struct axp__cap_row *other = &x->folded->rows[folded->row];
        /* What it allocated before is in no timeline. */
        if (other->first < row->first || !stored->n_places)
            compare_number(x, "first event of a row", row->first, other->first);
        compare_number(x, "events of a row", row->n_events, other->n_events);
        if (other->last > row->last && !stored->n_frames)
            compare_number(x, "last event of a row", row->last, other->last);
    }
    axp__sums_fini(&t);
}

/* Rows whose threads were merged, against the sum that was stored. */
static void compare_merged(struct axp__comparison *x,
                           const struct lanes *stored)
{
    struct axp__sums_table t = {0};
    for (size_t i = 0; i < x->stored->n_lanes; i++)
        if (x->stored->lanes[i].row < 0)
            axp__sums_add(&t, x->stored, &x->stored->lanes[i], 0, true);
    for (size_t i = 0; i < x->folded->n_lanes; i++) {
        const struct axp__cap_lane *lane = &x->folded->lanes[i];
        if (lane->row < 0 || !lane_of(stored, x->folded->rows[lane->row].id))
            axp__sums_add(&t, x->stored, lane, 1, true);
    }
    compare_table(x, &t, 0, true, 0);
    axp__sums_fini(&t);
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

/* A part of a run that was over before its first step was has no step in its
 * timeline, and those before it were counted. */
static void compare_steps(struct axp__comparison *x)
{
    uint64_t stored = x->stored->n_steps, folded = x->folded->n_steps;
    if (!folded && stored == x->stored->part.first_step) folded = stored;
    compare_number(x, "steps", stored, folded);
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
    compare_steps(x);
    compare_number(x, "events", x->stored->n_events, x->folded->n_events);
    if (x->to && x->n_different > MOST_SHOWN)
        fprintf(x->to, "  and %" PRIu64 " more\n", x->n_different - MOST_SHOWN);
}
