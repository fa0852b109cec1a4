/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was folded, as a capture: the counterpart of record_capture.c, where
 * nobody else changes anything. */
#include <string.h>

#include "file/file_fold.h"
#include "wire/wire_body.h"

#define EACH(t, type, r, first)                                                \
    struct type *r = (first) ? axp__arena_at(&(t)->arena, first) : NULL;       \
    r;                                                                         \
    r = r->next ? axp__arena_at(&(t)->arena, r->next) : NULL

static void copy_op(struct axp__cap_op *to, const struct axp__op *op)
{
    *to = (struct axp__cap_op){.name = op->name,
                               .loose_calls = op->loose_calls,
                               .loose_ticks = op->loose_ticks,
                               .repeat_ticks = op->repeat_ticks,
                               .min_ticks = op->min_ticks,
                               .max_ticks = op->max_ticks,
                               .n_dims = op->n_dims,
                               .lifetime_ticks = op->lifetime_ticks};
    memcpy(to->dims, op->dims, sizeof to->dims);
}

static void copy_node(struct axp__cap_node *to, const struct axp__tally *t,
                      const struct axp__node *n)
{
    *to = (struct axp__cap_node){.name = n->name,
                                 .category = n->category,
                                 .is_recursive = n->is_recursive,
                                 .declares = n->declares,
                                 .calls = n->calls,
                                 .total_ticks = n->total_ticks,
                                 .self_ticks = n->self_ticks};
    const struct axp__node_extra *x = axp__tally_peek_extra(t, n);
    if (!x) return;
    to->allocated_bytes = x->allocated_bytes;
    to->flops = x->flops;
    to->bytes = x->bytes;
    to->n_flops_calls = x->n_flops_calls;
    to->n_bytes_calls = x->n_bytes_calls;
    to->flops_ticks = x->flops_ticks;
    to->bytes_ticks = x->bytes_ticks;
    to->dtype = x->dtype;
}

static void copy_hists(struct axp__cap_lane *to, const struct axp__tally *t,
                       const struct axp__op *op, uint32_t index)
{
    for (uint32_t i = 0; i < AXP__HIST_PAGES; i++) {
        if (!op->hist[i]) continue;
        struct axp__cap_hist *h = &to->hists[to->n_hists++];
        h->op = index;
        h->page = i;
        const struct axp__hist_page *page =
            axp__arena_at(&t->arena, op->hist[i]);
        memcpy(h->count, page->count, sizeof h->count);
    }
}

static uint32_t count_hists(const struct axp__op *op)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < AXP__HIST_PAGES; i++)
        n += op->hist[i] != 0;
    return n;
}

/* How many of each there are, and room for them. */
static bool size_lane(struct axp__capture *c, struct axp__cap_lane *to,
                      struct axp__tally *t)
{
    uint32_t n_hists = 0;
    for (EACH(t, axp__node, n, t->first.nodes))
        to->n_nodes++;
    for (EACH(t, axp__op, op, t->first.ops)) {
        to->n_ops++;
        n_hists += count_hists(op);
    }
    for (EACH(t, axp__traffic, r, t->first.traffic))
        to->n_traffic++;
    for (EACH(t, axp__counter, r, t->first.counters))
        to->n_counters++;
    struct axp__steps *steps = axp__tally_steps(t);
    if (steps) n_hists += count_hists(&steps->stats);
    to->n_frames = (uint32_t)(t->top - t->frames);
    to->ops = axp__cap_take(c, to->n_ops, sizeof *to->ops);
    to->nodes = axp__cap_take(c, to->n_nodes, sizeof *to->nodes);
    to->hists = axp__cap_take(c, n_hists, sizeof *to->hists);
    to->frames = axp__cap_take(c, to->n_frames, sizeof *to->frames);
    to->traffic = axp__cap_take(c, to->n_traffic, sizeof *to->traffic);
    to->counters = axp__cap_take(c, to->n_counters, sizeof *to->counters);
    if (steps) to->steps = axp__cap_take(c, 1, sizeof *to->steps);
    return to->ops && to->nodes && to->hists && to->frames && to->traffic &&
           to->counters && (to->steps || !steps);
}

static void copy_frames(struct axp__cap_lane *to, const struct axp__tally *t,
                        const axp__ref *refs)
{
    for (uint32_t i = 0; i < to->n_frames; i++) {
        const struct axp__frame *f = &t->frames[i + 1];
        uint32_t flags = axp__frame_flags(f);
        to->frames[i] = (struct axp__cap_frame){
            .node = axp__cap_index_of(refs, to->n_nodes,
                                      axp__path_ref(f->node->path)),
            .flags = flags,
            .begin_ticks = f->begin_ticks,
            .charged_ticks =
                flags & AXP__F_MOVED ? f->charged_ticks : f->begin_ticks,
            .child_ticks = axp__frame_child_ticks(f)};
    }
}

static bool copy_lane(struct axp__capture *c, struct axp__cap_lane *to,
                      struct axp__tally *t)
{
    uint32_t i = 0;
    if (!size_lane(c, to, t)) return false;
    axp__ref *refs = axp__cap_take(c, to->n_nodes, sizeof *refs);
    if (!refs) return false;
    axp__ref ref = t->first.nodes;
    for (EACH(t, axp__node, n, t->first.nodes)) {
        refs[i] = ref;
        copy_node(&to->nodes[i], t, n);
        to->nodes[i].parent = axp__cap_index_of(refs, i, n->parent);
        ref = n->next;
        i++;
    }
    i = 0;
    for (EACH(t, axp__op, op, t->first.ops)) {
        copy_op(&to->ops[i], op);
        copy_hists(to, t, op, i++);
    }
    if (to->steps) {
        *to->steps = *axp__tally_steps(t);
        copy_hists(to, t, &to->steps->stats, UINT32_MAX);
    }
    i = 0;
    for (EACH(t, axp__traffic, r, t->first.traffic))
        to->traffic[i++] =
            (struct axp__cap_traffic){r->name, r->n_allocs, r->n_frees,
                                      r->allocated_bytes, r->freed_bytes};
    i = 0;
    for (EACH(t, axp__counter, r, t->first.counters))
        to->counters[i++] = (struct axp__cap_counter){
            r->name, r->n,   r->last_ticks, r->last, r->min,
            r->max,  r->sum, r->held_ticks, r->area};
    copy_frames(to, t, refs);
    axp__cap_declare(to);
    return true;
}

/* ---- memory and rows ------------------------------------------------------------ */

static void count_live(void *ctx, struct axp__live_name *live)
{
    (void)live;
    ++*(size_t *)ctx;
}

struct live_copy {
    struct axp__capture *c;
    struct axp__memory *m;
};

static void copy_live(void *ctx, struct axp__live_name *live)
{
    struct live_copy *x = ctx;
    struct axp__live_state s = axp__memory_read(x->m, &live->account);
    x->c->live[x->c->n_live++] =
        (struct axp__cap_live){.name = live->name,
                               .kind = live->kind,
                               .current_bytes = axp__live_bytes(s.held),
                               .peak_bytes = live->account.peak_bytes,
                               .at_peak_bytes = axp__live_bytes(s.held_at_peak),
                               .first_step_bytes = live->first_step_bytes,
                               .since_ticks = s.since_ticks,
                               .since_row = s.since_row};
}

static bool copy_memory(struct axp__fold *f, struct axp__capture *c)
{
    size_t n = 0;
    axp__memory_each(&f->memory, count_live, &n);
    c->live = axp__cap_take(c, n, sizeof *c->live);
    if (!c->live) return false;
    axp__memory_each(&f->memory, copy_live, &(struct live_copy){c, &f->memory});
    c->current_bytes = axp__memory_current(&f->memory);
    c->peak_bytes = axp__memory_peak(&f->memory);
    c->peak_ticks = f->memory.peak_ticks;
    return true;
}

/* Records by id, each once. */
static const struct axp__row_record *find_record(
    const struct axp__row_record *rows, size_t n, uint32_t id)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (rows[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && rows[low].id == id ? &rows[low] : NULL;
}

static void set_row(struct axp__cap_row *to, const struct axp__fold_row *r,
                    const struct axp__row_record *known,
                    const struct axp__capture *c)
{
    *to = (struct axp__cap_row){.id = r->id,
                                .process_id = c->process_id,
                                .rank = c->rank,
                                .first = r->first_ticks,
                                .last = r->last_ticks,
                                .n_events = r->n_events,
                                .busy = r->busy_ticks,
                                .waited = r->waited_ticks};
    if (to->last < to->first) to->last = to->first;
    if (known) {
        to->track = known->track;
        to->name = known->name < AXP__MAX_NAMES ? known->name : 0;
        to->tid = known->tid;
    }
    if (!r->is_track) return;
    to->first = r->first_ns == UINT64_MAX ? 0 : r->first_ns;
    to->last = r->last_ns;
}

bool axp__fold_to_capture(struct axp__fold *f, struct axp__capture *c,
                          const struct axp__row_record *rows, size_t n_rows)
{
    c->rows = axp__cap_take(c, f->n_rows, sizeof *c->rows);
    c->lanes = axp__cap_take(c, f->n_rows + 1, sizeof *c->lanes);
    if (!c->rows || !c->lanes || !copy_memory(f, c)) return false;
    for (size_t i = 0; i < f->n_rows; i++) {
        struct axp__fold_row *r = f->row[i];
        if (!r || r->first_ticks == UINT64_MAX) continue;
        if (!r->is_merged) {
            struct axp__cap_lane *lane = &c->lanes[c->n_lanes++];
            if (!copy_lane(c, lane, &r->tally)) return false;
            lane->row = (int32_t)c->n_rows;
            lane->is_track = r->is_track;
        }
        set_row(&c->rows[c->n_rows++], r, find_record(rows, n_rows, r->id), c);
        c->n_events += r->n_events;
    }
    if (f->merged) {
        struct axp__cap_lane *lane = &c->lanes[c->n_lanes++];
        if (!copy_lane(c, lane, &f->merged->tally)) return false;
        lane->row = -1;
    }
    c->n_steps = f->n_steps;
    c->end_ticks = f->end_ticks;
    return true;
}
