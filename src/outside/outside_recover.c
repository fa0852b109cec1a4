/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A capture out of a spool.
 *
 * The spool is the profiler's memory as it was when the process died: structs
 * that point at each other by addresses of that process. The table of extents
 * says where each lies in the file; whatever is looked at is asked for by
 * address and length, and what no extent holds is not there.
 *
 * Place    what record_capture.c is for a profiler that lives.
 * Input    untrusted, and perhaps still being written to: read into memory of
 *          our own first, then checked. Lists are followed for so many steps
 *          as the file could hold records.
 * Halves   a record that was being changed is taken as it is. It is off by at
 *          most the event that was not finished; file_recount.c sets it right
 *          from the words.
 * Words    of chunks stay in the file until they are asked for.
 */
#include "outside/outside_recover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base_text.h"
#include "record/record_lane.h"
#include "outside/outside_image.h"
#include "record/record_spool.h"
#include "record/record_warning.h"
#include "tally/tally_memory.h"

/* ---- records by ref ----------------------------------------------------------------- */

struct tally { /* one that is being read */
    struct axp__image *m;
    const struct axp__lane *lane;
};

/* An address in the process that was; it may be any number. */
static const void *past(const void *base, size_t offset)
{
    return (const void *)((uintptr_t)base + offset);
}

static const void *by_ref(const struct tally *t, axp__ref ref, size_t bytes)
{
    const struct axp__arena *a = &t->lane->tally.arena;
    uint32_t seg = ref >> AXP__SEG_SHIFT;
    size_t offset = (size_t)(ref & ((1u << AXP__SEG_SHIFT) - 1)) * 8;
    const char *base;
    if (!ref || offset + bytes > AXP__SEG_BYTES) return NULL;
    if (seg < AXP__SEGS_NEAR) {
        base = a->near_segs[seg];
    } else {
        char *const *far =
            axp__image_at(t->m, a->far_segs, AXP__SEGS_FAR * sizeof *far);
        if (!far || seg - AXP__SEGS_NEAR >= AXP__SEGS_FAR) return NULL;
        base = far[seg - AXP__SEGS_NEAR];
    }
    return base ? axp__image_at(t->m, past(base, offset), bytes) : NULL;
}

/* The record after one of a list; refs rise from record to record, and all
 * lists together have no more records than the file could hold. So one that
 * goes in circles ends. */
static const void *next_of(const struct tally *t, axp__ref *at, axp__ref next,
                           size_t bytes)
{
    if (next <= *at || !t->m->n_left) return NULL;
    t->m->n_left--;
    *at = next;
    return by_ref(t, next, bytes);
}

#define EACH(t, type, r, first)                                                \
    axp__ref at_ = 0, go_ = 1;                                                 \
    go_;                                                                       \
    go_ = 0)                                                                   \
    for (const type *r = next_of(t, &at_, first, sizeof(type)); r;             \
         r = next_of(t, &at_, r->next, sizeof(type))

#define COUNT(t, type, first, n)                                               \
    do                                                                         \
        for (EACH(t, type, r_, first))                                         \
            (n)++;                                                             \
    while (0)

static void add_hists(const struct tally *t, struct axp__cap_lane *to,
                      uint32_t cap, const struct axp__op *op, uint32_t index)
{
    for (uint32_t i = 0; i < AXP__HIST_PAGES; i++) {
        const struct axp__hist_page *page =
            op->hist[i] ? by_ref(t, op->hist[i], sizeof *page) : NULL;
        if (!page) continue;
        if (to->n_hists == cap) return;
        struct axp__cap_hist *h = &to->hists[to->n_hists++];
        h->op = index;
        h->page = i;
        memcpy(h->count, page->count, sizeof h->count);
    }
}

static void get_op(struct axp__cap_op *to, const struct axp__op *op)
{
    to->name = op->name;
    to->loose_calls = op->loose_calls;
    to->loose_ticks = op->loose_ticks;
    to->repeat_ticks = op->repeat_ticks;
    to->min_ticks = op->min_ticks;
    to->max_ticks = op->max_ticks;
    to->n_dims = op->n_dims <= 6 ? op->n_dims : 0;
    memcpy(to->dims, op->dims, sizeof to->dims);
    to->lifetime_ticks = op->lifetime_ticks;
}

static void get_node(const struct tally *t, struct axp__cap_node *to,
                     const struct axp__node *n)
{
    const struct axp__node_extra *x =
        n->extra ? by_ref(t, n->extra, sizeof *x) : NULL;
    to->name = n->name;
    to->category = n->category;
    to->is_recursive = n->is_recursive;
    to->declares = n->declares & (AXP__F_FLOPS | AXP__F_BYTES);
    to->calls = n->calls;
    to->total_ticks = n->total_ticks;
    to->self_ticks = n->self_ticks;
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

static bool get_nodes(const struct tally *t, struct axp__cap_lane *to,
                      axp__ref *refs)
{
    uint32_t i = 0;
    for (EACH(t, struct axp__node, n, t->lane->tally.first.nodes)) {
        if (i == to->n_nodes) break;
        refs[i] = at_;
        get_node(t, &to->nodes[i], n);
        to->nodes[i].parent = axp__cap_index_of(refs, i, n->parent);
        if (i && to->nodes[i].parent < 0) to->nodes[i].parent = 0;
        i++;
    }
    to->n_nodes = i;
    return i > 0;
}

static void get_ops(const struct tally *t, struct axp__cap_lane *to)
{
    uint32_t i = 0, cap = to->n_hists;
    to->n_hists = 0;
    for (EACH(t, struct axp__op, op, t->lane->tally.first.ops)) {
        if (i == to->n_ops) break;
        get_op(&to->ops[i], op);
        add_hists(t, to, cap, op, i++);
    }
    to->n_ops = i;
    if (to->steps) add_hists(t, to, cap, &to->steps->stats, UINT32_MAX);
}

static void get_small(const struct tally *t, struct axp__cap_lane *to)
{
    uint32_t i = 0;
    for (EACH(t, struct axp__traffic, r, t->lane->tally.first.traffic)) {
        if (i == to->n_traffic) break;
        to->traffic[i++] =
            (struct axp__cap_traffic){r->name, r->n_allocs, r->n_frees,
                                      r->allocated_bytes, r->freed_bytes};
    }
    i = 0;
    for (EACH(t, struct axp__counter, r, t->lane->tally.first.counters)) {
        if (i == to->n_counters) break;
        to->counters[i++] = (struct axp__cap_counter){
            r->name, r->n,   r->last_ticks, r->last, r->min,
            r->max,  r->sum, r->held_ticks, r->area};
    }
}

/* A page of a histogram is as large as 16 of the smallest records. */
static uint32_t count_hists(const struct tally *t)
{
    uint64_t n = AXP__HIST_PAGES, most = t->m->n_backed / 512 + n;
    for (EACH(t, struct axp__op, op, t->lane->tally.first.ops))
        for (uint32_t k = 0; k < AXP__HIST_PAGES && n < most; k++)
            n += op->hist[k] != 0;
    return (uint32_t)n;
}

static bool size_lane(const struct tally *t, struct axp__cap_lane *to)
{
    struct axp__capture *c = t->m->c;
    const struct axp__lists *first = &t->lane->tally.first;
    COUNT(t, struct axp__node, first->nodes, to->n_nodes);
    COUNT(t, struct axp__op, first->ops, to->n_ops);
    COUNT(t, struct axp__traffic, first->traffic, to->n_traffic);
    COUNT(t, struct axp__counter, first->counters, to->n_counters);
    to->n_hists = count_hists(t);
    to->nodes = axp__cap_take(c, to->n_nodes, sizeof *to->nodes);
    to->ops = axp__cap_take(c, to->n_ops, sizeof *to->ops);
    to->traffic = axp__cap_take(c, to->n_traffic, sizeof *to->traffic);
    to->counters = axp__cap_take(c, to->n_counters, sizeof *to->counters);
    to->hists = axp__cap_take(c, to->n_hists, sizeof *to->hists);
    const struct axp__steps *steps =
        first->steps ? by_ref(t, first->steps, sizeof *steps) : NULL;
    if (steps) {
        to->steps = axp__cap_take(c, 1, sizeof *steps);
        if (to->steps) *to->steps = *steps;
    }
    return to->nodes && to->ops && to->traffic && to->counters && to->hists &&
           (to->steps || !steps);
}

/* ---- open scopes ---------------------------------------------------------------------- */

static void get_frame(const struct tally *t, struct axp__cap_frame *to,
                      const struct axp__frame *f, const axp__ref *refs,
                      uint32_t n_refs)
{
    const struct axp__node *node = axp__image_at(t->m, f->node, sizeof *node);
    to->node = node ? axp__cap_index_of(refs, n_refs, axp__path_ref(node->path))
                    : AXP__CAP_ROOT;
    to->flags = axp__frame_flags(f);
    to->begin_ticks = f->begin_ticks;
    to->charged_ticks =
        to->flags & AXP__F_MOVED ? f->charged_ticks : f->begin_ticks;
    to->child_ticks = axp__frame_child_ticks(f);
    if (to->flags & AXP__F_NAMED) { /* ended by another, not settled yet? */
        const struct axp__named *slot =
            axp__image_at(t->m, f->site, sizeof *slot);
        if (slot && slot->state && !(slot->state & 1)) to->node = AXP__CAP_ROOT;
    }
}

static bool get_frames(const struct tally *t, struct axp__cap_lane *to,
                       const axp__ref *refs)
{
    const struct axp__tally *from = &t->lane->tally;
    uint64_t depth = (uint64_t)((uintptr_t)from->top - (uintptr_t)from->frames);
    if (depth % sizeof(struct axp__frame)) return true;
    depth /= sizeof(struct axp__frame);
    if (!depth || depth > AXP__MAX_DEPTH) return true;
    const struct axp__frame *f =
        axp__image_at(t->m, from->frames, (depth + 1) * sizeof *f);
    if (!f) return true;
    to->frames = axp__cap_take(t->m->c, depth, sizeof *to->frames);
    if (!to->frames) return false;
    for (uint64_t i = 0; i < depth; i++)
        get_frame(t, &to->frames[to->n_frames++], f + 1 + i, refs, to->n_nodes);
    return true;
}

/* ---- lanes and rows --------------------------------------------------------------------- */

static bool get_lane(struct axp__image *m, const struct axp__lane *lane,
                     int32_t row)
{
    struct tally t = {m, lane};
    struct axp__cap_lane *to = &m->c->lanes[m->c->n_lanes];
    memset(to, 0, sizeof *to);
    to->row = row;
    to->is_track = lane->track != 0;
    if (!size_lane(&t, to)) return false;
    axp__ref *refs = malloc((to->n_nodes + 1) * sizeof *refs);
    if (!refs) return false;
    bool ok = true;
    if (get_nodes(&t, to, refs)) {
        get_ops(&t, to);
        get_small(&t, to);
        ok = get_frames(&t, to, refs);
        axp__cap_declare(to);
        m->c->warnings[AXP__WARN_FOLDED].count += lane->tally.n_folded;
        m->c->n_lanes++;
    }
    free(refs);
    return ok;
}

/* Whether events of a lane went nowhere, for want of a chunk; `at` is where it
 * lay. Between two chunks it has none for a moment, and its cursor may still
 * be in the old one. */
static bool is_cut(const struct axp__lane *lane, const struct axp__lane *at)
{
    uint64_t sink = (uintptr_t)at + offsetof(struct axp__lane, sink);
    return lane->n_unlogged ||
           (!lane->chunk && (uintptr_t)lane->cur > sink &&
            (uintptr_t)lane->cur <= sink + sizeof lane->sink);
}

/* Events that a lane has logged in its present chunk. */
static uint64_t events_here(const struct axp__lane *lane)
{
    uint64_t words = ((uintptr_t)lane->cur - (uintptr_t)lane->words) / 8;
    return words <= AXP__CHUNK_WORDS && words >= lane->n_extra
               ? words - lane->n_extra
               : 0;
}

static void get_row(struct axp__image *m, const struct axp__lane *lane,
                    struct axp__cap_row *to)
{
    *to = (struct axp__cap_row){
        .id = lane->row,
        .track = lane->track,
        .name = lane->name,
        .tid = lane->tid,
        .process_id = m->c->process_id,
        .rank = m->c->rank,
        .first = lane->track ? lane->first_ns : lane->first_ticks,
        .last = lane->track ? lane->last_ns : lane->last_ticks,
        .n_events = lane->n_logged + lane->n_unlogged + events_here(lane),
        .is_ended = lane->state != AXP__LANE_ACTIVE,
        .cpu_ns = lane->cpu_ns}; /* 0 until it, or recording, ended */
    if (!lane->track && lane->last_ticks > m->c->end_ticks)
        m->c->end_ticks = lane->last_ticks;
}

static bool is_shown(const struct axp__lane *lane, uint64_t epoch)
{
    return (lane->state == AXP__LANE_ACTIVE || lane->state == AXP__LANE_ENDED ||
            lane->state == AXP__LANE_LEAVING) &&
           lane->epoch == epoch && lane->first_ticks;
}

static bool get_rows(struct axp__image *m, const struct axp__prof *p)
{
    struct axp__capture *c = m->c;
    uint32_t n = p->n_merged_rows;
    const struct axp__row *rows =
        axp__image_at(m, p->rows, (size_t)n * sizeof *rows);
    if (!rows) return true;
    for (uint32_t i = 0; i < n; i++) {
        const struct axp__row *r = &rows[i];
        c->rows[c->n_rows++] =
            (struct axp__cap_row){.id = r->id,
                                  .track = r->track,
                                  .name = r->name,
                                  .n_merged = r->n_merged,
                                  .tid = r->tid,
                                  .process_id = c->process_id,
                                  .rank = c->rank,
                                  .first = r->first_ticks,
                                  .last = r->last_ticks,
                                  .busy = r->busy_ticks,
                                  .n_events = r->n_events,
                                  .waited = r->wait_ticks,
                                  .cpu_ns = r->cpu_ns,
                                  .is_ended = true};
    }
    return true;
}

/* A set of addresses: whether this one was there. */
static bool was_seen(const void **set, size_t cap, const void *p)
{
    size_t i = axp__mix64((uintptr_t)p) & (cap - 1);
    for (; set[i] && set[i] != p; i = (i + 1) & (cap - 1))
        ;
    bool is_known = set[i];
    set[i] = p;
    return is_known;
}

/* The addresses of all lanes, each once; malloc. */
static const struct axp__lane **list_lanes(struct axp__image *m,
                                           const struct axp__prof *p, size_t *n)
{
    size_t most = m->n_backed / sizeof(struct axp__lane) + 16, cap = 64;
    while (cap < 2 * most)
        cap *= 2;
    const struct axp__lane **list = malloc(most * sizeof *list);
    const void **seen = calloc(cap, sizeof *seen);
    const struct axp__lane *l = axp__image_at(m, p->lanes, sizeof *l);
    *n = 0;
    while (list && seen && l && *n < most && !was_seen(seen, cap, l)) {
        list[(*n)++] = l;
        l = l->next ? axp__image_at(m, l->next, sizeof *l) : NULL;
    }
    if (!seen) {
        free(list);
        list = NULL;
    }
    free(seen);
    return list;
}

static bool get_lanes(struct axp__image *m, const struct axp__prof *p,
                      uint64_t epoch)
{
    struct axp__capture *c = m->c;
    size_t n = 0;
    if (p->n_merged_rows > AXP__MAX_ROWS) return true;
    const struct axp__lane **list = list_lanes(m, p, &n);
    c->rows = axp__cap_take(c, n + p->n_merged_rows, sizeof *c->rows);
    c->lanes = axp__cap_take(c, n + 1, sizeof *c->lanes);
    m->n_chunks = axp__cap_take(c, n + p->n_merged_rows, sizeof *m->n_chunks);
    bool ok = list && c->rows && c->lanes && m->n_chunks && get_rows(m, p);
    m->n_merged_rows = c->n_rows;
    m->is_cut = p->pool.n_cut_events || p->n_merged_unlogged;
    const struct axp__lane *merged =
        p->merged ? axp__image_at(m, p->merged, sizeof *merged) : NULL;
    if (ok && merged) ok = get_lane(m, merged, -1);
    for (size_t i = 0; ok && i < n; i++) {
        if (!is_shown(list[i], epoch)) continue;
        ok = get_lane(m, list[i], (int32_t)c->n_rows);
        m->n_chunks[c->n_rows] = list[i]->n_chunks;
        if (is_cut(list[i], i ? list[i - 1]->next : p->lanes)) m->is_cut = true;
        if (ok) get_row(m, list[i], &c->rows[c->n_rows++]);
    }
    free(list);
    return ok;
}

/* ---- memory, warnings, the rest ----------------------------------------------------------------- */

/* A record of the memory's slab. */
static const void *by_slab(struct axp__image *m, const struct axp__slab *s,
                           axp__ref ref)
{
    uint32_t block = ref >> AXP__SLAB_SHIFT;
    const char *base;
    if (!ref || block >= AXP__SLAB_NEAR + AXP__SLAB_FAR) return NULL;
    if (block < AXP__SLAB_NEAR) {
        base = (const char *)s->near_blocks[block];
    } else {
        struct axp__slab_block *const *far =
            axp__image_at(m, s->far_blocks, AXP__SLAB_FAR * sizeof *far);
        base = far ? (const char *)far[block - AXP__SLAB_NEAR] : NULL;
    }
    size_t offset = (ref & ((1u << AXP__SLAB_SHIFT) - 1)) * AXP__SLAB_RECORD;
    return base ? axp__image_at(m, past(base, offset), AXP__SLAB_RECORD) : NULL;
}

static struct axp__live_state get_account(struct axp__image *m,
                                          const struct axp__memory *mem,
                                          const struct axp__account *account)
{
    struct axp__live_state s = {0};
    const struct axp__purse *p = by_slab(m, &mem->slab, account->purses);
    for (; p && m->n_left; p = by_slab(m, &mem->slab, p->next), m->n_left--)
        axp__live_add(&s, p, mem->stamp);
    return s;
}

static void get_live(struct axp__image *m, const struct axp__memory *mem,
                     const struct axp__live_name *live)
{
    struct axp__live_state s = get_account(m, mem, &live->account);
    m->c->live[m->c->n_live++] =
        (struct axp__cap_live){.name = live->name,
                               .kind = live->kind,
                               .current_bytes = axp__live_bytes(s.held),
                               .peak_bytes = live->account.peak_bytes,
                               .at_peak_bytes = axp__live_bytes(s.held_at_peak),
                               .first_step_bytes = live->first_step_bytes,
                               .since_ticks = s.since_ticks,
                               .since_row = s.since_row};
}

/* Counts first, then copies. */
static uint64_t each_live(struct axp__image *m, const struct axp__memory *mem,
                          uint64_t cap)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < AXP__LIVE_PAGES; i++) {
        const axp__ref *page =
            mem->page[i]
                ? axp__image_at(m, mem->page[i], AXP__LIVE_PAGE * sizeof *page)
                : NULL;
        for (uint32_t k = 0; page && k < AXP__LIVE_PAGE; k++) {
            const struct axp__live_name *live = by_slab(m, &mem->slab, page[k]);
            if (!live) continue;
            if (n++ < cap) get_live(m, mem, live);
        }
    }
    return n;
}

static bool get_memory(struct axp__image *m, const struct axp__prof *p)
{
    struct axp__capture *c = m->c;
    const struct axp__memory *mem = &p->memory;
    uint64_t n = each_live(m, mem, 0);
    c->live = axp__cap_take(c, n, sizeof *c->live);
    if (!c->live) return false;
    each_live(m, mem, n);
    c->current_bytes = axp__live_bytes(get_account(m, mem, &mem->all).held);
    c->peak_bytes = axp__memory_peak(mem);
    c->peak_ticks = mem->peak_ticks;
    return true;
}

static bool get_prof(struct axp__image *m)
{
    struct axp__capture *c = m->c;
    const struct axp__space *head = m->head;
    const struct axp__prof *p = axp__image_at(
        m, (const void *)(uintptr_t)head->root[AXP__ROOT_PROF], sizeof *p);
    if (!p) return false;
    char *title = axp__cap_take(c, 1, sizeof p->title + 1);
    if (!title) return false;
    memcpy(title, p->title, sizeof p->title);
    c->title = title;
    c->process_id = head->pid;
    c->rank = p->rank;
    c->start_ticks = c->end_ticks = p->start_ticks;
    c->rate_mult = head->root[AXP__ROOT_RATE];
    c->own_cost = axp__own_cost_unpack(head->root[AXP__ROOT_COST]);
    c->timeline_capacity = p->timeline_capacity;
    c->has_timeline = !(p->flags & AXP_NO_TIMELINE);
    c->n_steps = p->n_steps;
    uint64_t epoch = p->gate >> 8;
    m->epoch = (uint32_t)epoch;
    c->is_finished = p->gate & AXP__GATE_FINISHED;
    if (!axp__warnings_copy(c, p) || !get_lanes(m, p, epoch) ||
        !get_memory(m, p) || !axp__image_chunks(m))
        return false;
    for (size_t i = 0; i < c->n_rows; i++)
        c->n_events += c->has_timeline ? c->rows[i].n_events : 0;
    return true;
}

/* ---- opening ---------------------------------------------------------------- */

static void release(struct axp__capture *c)
{
    struct axp__image *m = c->own;
    axp__cap_free(c);
    axp__image_free_extents(m);
    free(m->names);
    free(m->head);
    close(m->fd);
    free(m);
}

/* Statistics that the timeline cannot give: paths that were folded, events
 * that were dropped. */
static bool lost_paths_or_events(const struct axp__capture *c)
{
    return c->warnings[AXP__WARN_FOLDED].count ||
           c->warnings[AXP__WARN_NO_MEMORY].count;
}

axp_status axp__spool_recover(int fd, struct axp__recovered *out)
{
    struct axp__capture empty = {0};
    struct axp__image *m = calloc(1, sizeof *m);
    *out = (struct axp__recovered){0};
    if (!m) {
        close(fd);
        return axp__fail(AXP_E_NO_MEMORY, "no memory to read a spool");
    }
    axp_status status = axp__image_open(fd, m);
    struct axp__capture *c =
        status ? NULL : axp__cap_take(&empty, 1, sizeof *c);
    if (!c) {
        axp__image_free_extents(m);
        free(m->head);
        close(fd);
        free(m);
        return status ? status : axp__fail(AXP_E_NO_MEMORY, "no memory");
    }
    *c = (struct axp__capture){.memory = empty.memory,
                               .own = m,
                               .name_at = axp__image_name,
                               .release = release};
    m->c = c;
    if (!axp__image_names(m) || !get_prof(m)) {
        release(c);
        return axp__fail(AXP_E_FORMAT, "a spool without a profiler in it, or "
                                       "no memory to read it");
    }
    c->n_names = m->n_names;
    axp__cap_repair(c);
    axp__image_free_extents(m); /* all that is needed was copied */
    memcpy(out->id, m->head->id, sizeof out->id);
    out->epoch = m->epoch;
    out->n_merged_rows = m->n_merged_rows;
    out->n_chunks = m->n_chunks;
    out->is_cut = m->is_cut || lost_paths_or_events(c);
    out->is_alive =
        !c->is_finished && axp__spool_is_in_use_by(m->fd, m->head->pid);
    out->capture = c;
    return AXP_OK;
}
