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
#include "outside/outside_spooled.h"
#include "record/record_capture.h"
#include "record/record_lane.h"
#include "record/record_spool.h"
#include "record/record_warning.h"
#include "tally/tally_copy.h"
#include "tally/tally_memory.h"

/* ---- records by ref ----------------------------------------------------------------- */

struct tally { /* one that is being read */
    struct axp__spooled *m;
    const struct axp__lane *lane;
};

/* An address in the process that was; it may be any number. */
static const void *past(const void *base, size_t offset)
{
    return (const void *)((uintptr_t)base + offset);
}

static const void *by_ref(const struct axp__copy_source *s, axp__ref ref,
                          size_t bytes)
{
    const struct tally *t = s->ctx;
    const struct axp__arena *a = &t->lane->tally.arena;
    uint32_t seg = ref >> AXP__SEG_SHIFT;
    size_t offset = (size_t)(ref & ((1u << AXP__SEG_SHIFT) - 1)) * 8;
    const char *base;
    if (offset + bytes > AXP__SEG_BYTES) return NULL;
    if (seg < AXP__SEGS_NEAR) {
        base = a->near_segs[seg];
    } else {
        char *const *far =
            axp__spooled_at(t->m, a->far_segs, AXP__SEGS_FAR * sizeof *far);
        if (!far || seg - AXP__SEGS_NEAR >= AXP__SEGS_FAR) return NULL;
        base = far[seg - AXP__SEGS_NEAR];
    }
    return base ? axp__spooled_at(t->m, past(base, offset), bytes) : NULL;
}

/* All lists together have no more records than the file could hold, and a page
 * of a histogram is as large as 16 of the smallest. */
static struct axp__copy_source source_of(const struct tally *t)
{
    return (struct axp__copy_source){.at = by_ref,
                                     .ctx = t,
                                     .first = &t->lane->tally.first,
                                     .n_left = &t->m->n_left,
                                     .most_pages =
                                         t->m->n_backed / 512 + AXP__HIST_PAGES,
                                     .heap_now = t->m->heap_now,
                                     .start_ticks = t->m->c->start_ticks,
                                     .when_shift = t->m->when_shift,
                                     .most_tries = 1};
}

/* ---- open scopes ---------------------------------------------------------------------- */

static void get_frame(const struct tally *t, struct axp__cap_frame *to,
                      const struct axp__frame *f, const axp__ref *refs,
                      uint32_t n_refs)
{
    const struct axp__node *node = axp__spooled_at(t->m, f->node, sizeof *node);
    int32_t index =
        node ? axp__cap_index_of(refs, n_refs, axp__path_ref(node->path))
             : AXP__CAP_ROOT;
    axp__copy_frame(to, f, index);
    if (to->flags & AXP__F_NAMED) { /* ended by another, not settled yet? */
        const struct axp__named *slot =
            axp__spooled_at(t->m, f->site, sizeof *slot);
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
    if (!depth || depth > AXP__MAX_DEPTH || depth > t->m->n_left) return true;
    t->m->n_left -= depth;
    const struct axp__frame *f =
        axp__spooled_at(t->m, from->frames, (depth + 1) * sizeof *f);
    if (!f) return true;
    to->frames = axp__cap_take(t->m->c, depth, sizeof *to->frames);
    if (!to->frames) return false;
    for (uint64_t i = 0; i < depth; i++)
        get_frame(t, &to->frames[to->n_frames++], f + 1 + i, refs, to->n_nodes);
    return true;
}

/* ---- lanes and rows --------------------------------------------------------------------- */

static bool get_lane(struct axp__spooled *m, const struct axp__lane *lane,
                     int32_t row)
{
    struct tally t = {m, lane};
    struct axp__cap_lane *to = &m->c->lanes[m->c->n_lanes];
    memset(to, 0, sizeof *to);
    to->row = row;
    to->is_track = lane->track != 0;
    struct axp__copy_source from = source_of(&t);
    if (!axp__copy_size(m->c, to, &from)) return false;
    uint32_t n_pages = to->n_hists;
    axp__ref *refs = malloc((to->n_nodes + 1) * sizeof *refs);
    if (!refs) return false;
    bool ok = true;
    axp__copy_nodes(to, refs, &from);
    if (to->n_nodes) {
        axp__copy_ops(to, n_pages, &from);
        axp__copy_small(to, &from);
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

static void get_row(struct axp__spooled *m, const struct axp__lane *lane,
                    struct axp__cap_row *to)
{
    *to = (struct axp__cap_row){
        .id = lane->row,
        .track = lane->track,
        .name = lane->name,
        .tid = lane->tid,
        .process_id = lane->track && lane->process_id ? lane->process_id
                                                      : m->c->process_id,
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

static bool get_rows(struct axp__spooled *m, const struct axp__prof *p)
{
    struct axp__capture *c = m->c;
    uint32_t n = p->n_merged_rows;
    const struct axp__row *rows =
        axp__spooled_at(m, p->rows, (size_t)n * sizeof *rows);
    if (!rows) return true;
    for (uint32_t i = 0; i < n; i++)
        axp__capture_merged_row(c, &rows[i]);
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
static const struct axp__lane **list_lanes(struct axp__spooled *m,
                                           const struct axp__prof *p, size_t *n)
{
    size_t most = m->n_backed / sizeof(struct axp__lane) + 16, cap = 64;
    while (cap < 2 * most)
        cap *= 2;
    const struct axp__lane **list = malloc(most * sizeof *list);
    const void **seen = calloc(cap, sizeof *seen);
    const struct axp__lane *l = axp__spooled_at(m, p->lanes, sizeof *l);
    *n = 0;
    while (list && seen && l && *n < most && !was_seen(seen, cap, l)) {
        list[(*n)++] = l;
        l = l->next ? axp__spooled_at(m, l->next, sizeof *l) : NULL;
    }
    if (!seen) {
        free(list);
        list = NULL;
    }
    free(seen);
    return list;
}

static bool get_lanes(struct axp__spooled *m, const struct axp__prof *p,
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
        p->merged ? axp__spooled_at(m, p->merged, sizeof *merged) : NULL;
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
static const void *by_slab(struct axp__spooled *m, const struct axp__slab *s,
                           axp__ref ref)
{
    uint32_t block = ref >> AXP__SLAB_SHIFT;
    const char *base;
    if (!ref || block >= AXP__SLAB_NEAR + AXP__SLAB_FAR) return NULL;
    if (block < AXP__SLAB_NEAR) {
        base = (const char *)s->near_blocks[block];
    } else {
        struct axp__slab_block *const *far =
            axp__spooled_at(m, s->far_blocks, AXP__SLAB_FAR * sizeof *far);
        base = far ? (const char *)far[block - AXP__SLAB_NEAR] : NULL;
    }
    size_t offset = (ref & ((1u << AXP__SLAB_SHIFT) - 1)) * AXP__SLAB_RECORD;
    return base ? axp__spooled_at(m, past(base, offset), AXP__SLAB_RECORD)
                : NULL;
}

static struct axp__live_state get_account(struct axp__spooled *m,
                                          const struct axp__memory *mem,
                                          const struct axp__account *account)
{
    struct axp__live_state s = {0};
    const struct axp__purse *p = by_slab(m, &mem->slab, account->purses);
    for (; p && m->n_left; p = by_slab(m, &mem->slab, p->next), m->n_left--)
        axp__live_add_purse(&s, p, mem->stamp);
    return s;
}

static struct axp__cap_live get_live(struct axp__spooled *m,
                                     const struct axp__memory *mem,
                                     const struct axp__live_name *live)
{
    struct axp__live_state s = get_account(m, mem, &live->account);
    struct axp__growth g = axp__growth_of(live->half_bytes, live->power_bytes,
                                          s.held, m->n_recorded);
    return (struct axp__cap_live){.name = live->name,
                                  .kind = live->kind,
                                  .current_bytes = axp__live_bytes(s.held),
                                  .peak_bytes = live->account.peak_bytes,
                                  .at_peak_bytes =
                                      axp__live_bytes(s.held_at_peak),
                                  .first_step_bytes = live->first_step_bytes,
                                  .since_ticks = s.since_ticks,
                                  .since_row = s.since_row,
                                  .growth_early = g.early,
                                  .growth_late = g.late};
}

/* Counts first, then copies. */
static uint64_t each_live(struct axp__spooled *m, const struct axp__memory *mem,
                          struct axp__cap_live *to, uint64_t cap)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < AXP__LIVE_PAGES; i++) {
        const axp__ref *page =
            mem->page[i] ? axp__spooled_at(m, mem->page[i],
                                           AXP__LIVE_PAGE * sizeof *page)
                         : NULL;
        for (uint32_t k = 0; page && k < AXP__LIVE_PAGE; k++) {
            const struct axp__live_name *live = by_slab(m, &mem->slab, page[k]);
            if (!live || (!to && !m->n_left)) continue;
            if (to && n == cap) return n;
            if (to)
                to[n] = get_live(m, mem, live);
            else
                m->n_left--;
            n++;
        }
    }
    return n;
}

static bool get_memory(struct axp__spooled *m, const struct axp__memory *mem,
                       struct axp__cap_domain *all)
{
    struct axp__capture *c = m->c;
    uint64_t n = each_live(m, mem, NULL, 0);
    struct axp__cap_live *live = axp__cap_take(c, n, sizeof *live);
    if (!live) return false;
    n = each_live(m, mem, live, n);
    all->current_bytes = axp__live_bytes(get_account(m, mem, &mem->all).held);
    all->peak_bytes = axp__memory_peak(mem);
    all->peak_ticks = mem->peak_ticks;
    return axp__cap_add_live(c, live, n);
}

/* The host's, and a list of devices', each of which is there once. */
static bool get_domains(struct axp__spooled *m, const struct axp__prof *p)
{
    struct axp__capture *c = m->c;
    struct axp__cap_domain all = {0};
    const struct axp__domain *d = p->domains;
    c->domains = axp__cap_take(c, AXP__DEVICES, sizeof *c->domains);
    if (!c->domains || !get_memory(m, &p->memory, &all)) return false;
    c->current_bytes = all.current_bytes;
    c->peak_bytes = all.peak_bytes;
    c->peak_ticks = all.peak_ticks;
    while (d && (d = axp__spooled_at(m, d, sizeof *d))) {
        size_t before = c->n_domains;
        all.device = d->device;
        if (all.device && all.device < AXP__DEVICES)
            axp__cap_add_domain(c, all);
        if (c->n_domains == before) break; /* it goes in circles, or nowhere */
        if (!get_memory(m, &d->memory, &all)) return false;
        *axp__cap_find_domain(c, all.device) = all;
        d = d->next;
    }
    return true;
}

static const struct axp__level_span *level_part(
    void *ctx, const struct axp__level_span *part)
{
    return axp__spooled_at(ctx, part, AXP__LEVEL_PART_BYTES);
}

/* What it allocated last may be all that is known of when it ended. */
static bool get_levels(struct axp__spooled *m, const struct axp__prof *p)
{
    struct axp__capture *c = m->c;
    if (!axp__heap_copy_level(c, &p->heap, level_part, m)) return false;
    uint64_t last = c->n_levels ? c->levels[c->n_levels - 1].at_ticks : 0;
    if (last > c->end_ticks) c->end_ticks = last;
    return axp__notes_copy(
        c, axp__spooled_at(m, p->heap.notes.at, AXP__NOTES_BYTES));
}

static bool get_prof(struct axp__spooled *m)
{
    struct axp__capture *c = m->c;
    const struct axp__space *head = m->head;
    const struct axp__prof *p = axp__spooled_at(
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
    m->n_recorded = p->n_steps - p->first_step;
    uint64_t epoch = p->gate >> 8;
    m->epoch = (uint32_t)epoch;
    c->is_finished = p->gate & AXP__GATE_FINISHED;
    if (c->is_finished && p->end_ticks > c->end_ticks)
        c->end_ticks = p->end_ticks; /* not that of its last event */
    axp__heap_copy(&c->heap, &p->heap);
    m->heap_now = axp__heap_now(&p->heap);
    m->when_shift = axp__heap_when_shift(&p->heap);
    if (!axp__warnings_copy(c, p) || !get_lanes(m, p, epoch) ||
        !get_domains(m, p) || !axp__spooled_chunks(m) || !get_levels(m, p) ||
        !axp__spooled_stacks(m, &p->stacks))
        return false;
    if (p->over_ticks > c->start_ticks) c->end_ticks = p->over_ticks;
    for (size_t i = 0; i < c->n_rows; i++)
        c->n_events += c->has_timeline ? c->rows[i].n_events : 0;
    return true;
}

/* ---- opening ---------------------------------------------------------------- */

static void release(struct axp__capture *c)
{
    struct axp__spooled *m = c->own;
    axp__cap_free(c);
    axp__spooled_free_extents(m);
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
    struct axp__spooled *m = calloc(1, sizeof *m);
    *out = (struct axp__recovered){0};
    if (!m) {
        close(fd);
        return axp__fail(AXP_E_NO_MEMORY, "no memory to read a spool");
    }
    axp_status status = axp__spooled_open(fd, m);
    struct axp__capture *c =
        status ? NULL : axp__cap_take(&empty, 1, sizeof *c);
    if (!c) {
        axp__spooled_free_extents(m);
        free(m->head);
        close(fd);
        free(m);
        return status ? status : axp__fail(AXP_E_NO_MEMORY, "no memory");
    }
    *c = (struct axp__capture){.memory = empty.memory,
                               .own = m,
                               .name_at = axp__spooled_name,
                               .release = release};
    m->c = c;
    if (!axp__spooled_names(m) || !get_prof(m)) {
        release(c);
        return axp__fail(AXP_E_FORMAT, "a spool without a profiler in it, or "
                                       "no memory to read it");
    }
    c->n_names = m->n_names;
    if (!axp__cap_list_names(c)) {
        release(c);
        return axp__fail(AXP_E_NO_MEMORY, "no memory to read a spool");
    }
    axp__cap_repair(c);
    axp__spooled_free_extents(m); /* all that is needed was copied */
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
