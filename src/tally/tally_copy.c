/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Record by record; see tally_copy.h. */
#include "tally/tally_copy.h"

#include "tally/tally_fields.def"
#include "tally/tally_heap.h"

/* Repeats `copy` until the version was even and the same throughout. A writer
 * that was stopped in the middle (by a debugger, or in a handler that waits)
 * must not stop the reader: what is there is then taken as it is. */
#define CONSISTENTLY(s, version, copy)                                         \
    do {                                                                       \
        uint32_t before_, after_, tries_ = 0;                                  \
        do {                                                                   \
            before_ = axp__get_acquire(version);                               \
            copy;                                                              \
            __atomic_thread_fence(__ATOMIC_ACQUIRE);                           \
            after_ = axp__get(version);                                        \
        } while ((before_ != after_ || before_ & 1) &&                         \
                 ++tries_ < (s)->most_tries);                                  \
    } while (0)

/* ---- lists --------------------------------------------------------------------- */

static const void *at(const struct axp__copy_source *s, axp__ref ref,
                      size_t bytes)
{
    return ref ? s->at(s, ref, bytes) : NULL;
}

/* The record after the one at `ref`. Refs rise along a list, so that one that
 * goes in circles ends. */
static const void *next_of(const struct axp__copy_source *s, axp__ref *ref,
                           const axp__ref *link, size_t bytes)
{
    axp__ref next = axp__get_acquire(link);
    if (next <= *ref || (s->n_left && !*s->n_left)) return NULL;
    if (s->n_left) --*s->n_left;
    *ref = next;
    return at(s, next, bytes);
}

/* Each record r of a list, at ref_, until there are so many. */
#define EACH(s, type, r, list, n, most)                                        \
    axp__ref ref_ = 0, go_ = 1;                                                \
    go_;                                                                       \
    go_ = 0)                                                                   \
    for (const struct type *r =                                                \
             next_of(s, &ref_, &(s)->first->list, sizeof *r);                  \
         r && (n) < (most);                                                    \
         (n)++, r = next_of(s, &ref_, &r->next, sizeof *r)

static const void *arena_at(const struct axp__copy_source *s, axp__ref ref,
                            size_t bytes)
{
    const struct axp__tally *t = s->ctx;
    (void)bytes;
    return axp__arena_at(&t->arena, ref);
}

struct axp__copy_source axp__copy_from(const struct axp__tally *t,
                                       bool is_changing)
{
    return (struct axp__copy_source){.at = arena_at,
                                     .ctx = t,
                                     .first = &t->first,
                                     .most_pages = UINT32_MAX,
                                     .most_tries =
                                         is_changing ? AXP__MAX_TRIES : 1};
}

/* ---- how many -------------------------------------------------------------------- */

static const struct axp__steps *steps_of(const struct axp__copy_source *s)
{
    return at(s, axp__get_acquire(&s->first->steps), sizeof(struct axp__steps));
}

static uint32_t count_pages(const struct axp__op *op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < AXP__HIST_PAGES; i++)
        n += axp__get_acquire(&op->hist[i]) != 0;
    return n;
}

bool axp__copy_size(struct axp__capture *c, struct axp__cap_lane *to,
                    const struct axp__copy_source *s)
{
    uint64_t n_pages = 0;
    /* Nodes before ops: an op is there before its nodes. */
    for (EACH(s, axp__node, n, nodes, to->n_nodes, UINT32_MAX))
        ;
    for (EACH(s, axp__op, op, ops, to->n_ops, UINT32_MAX))
        n_pages += count_pages(op);
    for (EACH(s, axp__traffic, r, traffic, to->n_traffic, UINT32_MAX))
        ;
    for (EACH(s, axp__counter, r, counters, to->n_counters, UINT32_MAX))
        ;
    for (EACH(s, axp__heap_place, r, places, to->n_places, UINT32_MAX))
        ;
    const struct axp__steps *steps = steps_of(s);
    if (steps) n_pages += count_pages(&steps->stats) + 1;
    to->n_hists = (uint32_t)(n_pages < s->most_pages ? n_pages : s->most_pages);
    to->ops = axp__cap_take(c, to->n_ops, sizeof *to->ops);
    to->nodes = axp__cap_take(c, to->n_nodes, sizeof *to->nodes);
    to->hists = axp__cap_take(c, to->n_hists, sizeof *to->hists);
    to->traffic = axp__cap_take(c, to->n_traffic, sizeof *to->traffic);
    to->counters = axp__cap_take(c, to->n_counters, sizeof *to->counters);
    to->places = axp__cap_take(c, to->n_places, sizeof *to->places);
    if (steps) to->steps = axp__cap_take(c, 1, sizeof *to->steps);
    return to->ops && to->nodes && to->hists && to->traffic && to->counters &&
           to->places && (to->steps || !steps);
}

/* ---- fields ------------------------------------------------------------------------ */

#define GET_U(from) axp__get(from)
#define GET_T(from) axp__get(from)
#define GET_D(from) axp__get_f64(from)

/* What the record itself has, and what its extra has. */
#define OWN(coding, member, unit, place, ...) OWN_##place(coding, member)
#define OWN_own(coding, member) to->member = GET_##coding(&r->member);
#define OWN_extra(coding, member)
#define OWN_apart(coding, member)
#define EXTRA(coding, member, unit, place, ...) EXTRA_##place(coding, member)
#define EXTRA_own(coding, member)
#define EXTRA_extra(coding, member) to->member = GET_##coding(&x->member);
#define EXTRA_apart(coding, member)

static void copy_op(struct axp__cap_op *to, const struct axp__op *r)
{
    AXP__FIELDS_OP(OWN)
}

static void copy_node(struct axp__cap_node *to, const struct axp__node *r,
                      const struct axp__copy_source *s)
{
    const struct axp__node_extra *x =
        at(s, axp__get_acquire(&r->extra), sizeof *x);
    const struct axp__op *op = at(s, r->op, sizeof *op);
    to->name = op ? op->name : r->name;
    to->shape = to->name == r->name ? 0 : r->name;
    AXP__FIELDS_NODE(OWN)
    to->declares = r->declares & (AXP__F_FLOPS | AXP__F_BYTES);
    if (!x) return;
    AXP__FIELDS_NODE(EXTRA)
}

static void copy_traffic(struct axp__cap_traffic *to,
                         const struct axp__traffic *r)
{
    AXP__FIELDS_TRAFFIC(OWN)
}

static void copy_counter(struct axp__cap_counter *to,
                         const struct axp__counter *r)
{
    AXP__FIELDS_COUNTER(OWN)
}

/* Over steps; nothing is said of a few. Each is a sum over lanes and processes,
 * whose numbers of steps may differ. */
static void copy_growth(struct axp__cap_place *to, struct axp__heap_place r,
                        uint32_t n_steps)
{
    if (n_steps < AXP__LEAST_STEPS) return;
    axp__heap_place_step(&r, n_steps);
    struct axp__growth g =
        axp__growth_of(r.half_bytes, r.power_bytes,
                       (uint64_t)axp__heap_place_held(&r), n_steps);
    to->growth_early = g.early;
    to->growth_late = g.late;
    to->step_allocs =
        (double)(int64_t)(r.n_allocs - r.first_allocs) / (n_steps - 1);
    to->step_bytes =
        (double)(int64_t)(r.allocated_bytes - r.first_bytes) / (n_steps - 1);
}

static uint64_t ticks_of(const struct axp__copy_source *s, uint32_t when)
{
    if (!when || s->when_shift > AXP__HEAP_MOST_SHIFT) return s->start_ticks;
    return s->start_ticks + ((uint64_t)(when - 1) << s->when_shift);
}

static void copy_times(struct axp__cap_place *to,
                       const struct axp__heap_place *r,
                       const struct axp__copy_source *s)
{
    const struct axp__heap_ages *ages =
        at(s, axp__get_acquire(&r->ages), sizeof *ages);
    uint32_t first = axp__get(&r->first_when), row = axp__get(&r->row);
    bool is_one = first && row != AXP__ROW_SEVERAL;
    to->first_ticks = ticks_of(s, first);
    to->last_ticks = ticks_of(s, axp__get(&r->last_when));
    to->n_rows = is_one ? 1 : first ? 2 : 0;
    to->row = is_one ? row : 0;
    for (unsigned i = 0; ages && i < AXP__AGES; i++)
        to->lived[i] = axp__get(&ages->n[i]);
}

static void copy_place(struct axp__cap_place *to,
                       const struct axp__heap_place *r,
                       const struct axp__copy_source *s)
{
    AXP__FIELDS_PLACE(OWN)
    to->at_peak_bytes = axp__heap_place_at_peak(r, (uint32_t)s->heap_now);
    copy_growth(to, *r, (uint32_t)(s->heap_now >> 32));
    copy_times(to, r, s);
}

/* ---- records ------------------------------------------------------------------------- */

void axp__copy_nodes(struct axp__cap_lane *to, axp__ref *refs,
                     const struct axp__copy_source *s)
{
    static const uint32_t no_version = 0;
    uint32_t i = 0;
    for (EACH(s, axp__node, n, nodes, i, to->n_nodes)) {
        const struct axp__op *op = at(s, n->op, sizeof *op);
        const uint32_t *version = op ? &op->version : &no_version;
        CONSISTENTLY(s, version, copy_node(&to->nodes[i], n, s));
        refs[i] = ref_;
        to->nodes[i].parent = axp__cap_index_of(refs, i, n->parent);
        if (i && to->nodes[i].parent < 0) to->nodes[i].parent = 0;
    }
    to->n_nodes = i;
}

static void copy_pages(struct axp__cap_lane *to, uint32_t n_pages,
                       const struct axp__copy_source *s,
                       const struct axp__op *op, uint32_t index)
{
    for (uint32_t i = 0; i < AXP__HIST_PAGES && to->n_hists < n_pages; i++) {
        const struct axp__hist_page *page =
            at(s, axp__get_acquire(&op->hist[i]), sizeof *page);
        if (!page) continue;
        struct axp__cap_hist *h = &to->hists[to->n_hists++];
        h->op = index;
        h->page = i;
        for (uint32_t k = 0; k < AXP__HIST_BUCKETS; k++)
            h->count[k] = axp__get(&page->count[k]);
    }
}

static void copy_words(void *to, const void *from, size_t bytes)
{
    const uint64_t *words = from;
    uint64_t *copy = to;
    for (size_t i = 0; i < bytes / 8; i++)
        copy[i] = axp__get(&words[i]);
}

void axp__copy_ops(struct axp__cap_lane *to, uint32_t n_pages,
                   const struct axp__copy_source *s)
{
    uint32_t i = 0;
    to->n_hists = 0;
    for (EACH(s, axp__op, op, ops, i, to->n_ops)) {
        CONSISTENTLY(s, &op->version, copy_op(&to->ops[i], op));
        copy_pages(to, n_pages, s, op, i);
    }
    to->n_ops = i;
    const struct axp__steps *steps = to->steps ? steps_of(s) : NULL;
    if (!steps) return;
    _Static_assert(sizeof *steps % 8 == 0, "copied by words");
    CONSISTENTLY(s, &steps->stats.version,
                 copy_words(to->steps, steps, sizeof *steps));
    copy_pages(to, n_pages, s, &steps->stats, UINT32_MAX);
}

void axp__copy_small(struct axp__cap_lane *to, const struct axp__copy_source *s)
{
    uint32_t i = 0, k = 0;
    for (EACH(s, axp__traffic, r, traffic, i, to->n_traffic))
        copy_traffic(&to->traffic[i], r);
    to->n_traffic = i;
    for (EACH(s, axp__counter, r, counters, k, to->n_counters))
        CONSISTENTLY(s, &r->version, copy_counter(&to->counters[k], r));
    to->n_counters = k;
    k = 0;
    for (EACH(s, axp__heap_place, r, places, k, to->n_places))
        copy_place(&to->places[k], r, s);
    to->n_places = k;
}
