/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A recovered capture and its own timeline, folded, made one; see
 * file_recount.h. */
#include "file/file_recount.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "file/file_compare.h"
#include "file/file_fold.h"
#include "file/file_read.h"

/* ---- whether all of it is there --------------------------------------------------- */

struct seqs { /* of a row's chunks */
    uint32_t row;
    uint64_t n, last;
};

static int by_row(const void *a, const void *b)
{
    uint32_t x = ((const struct seqs *)a)->row,
             y = ((const struct seqs *)b)->row;
    return (x > y) - (x < y);
}

/* What a chunk of a capture holds; parts of a file's are blocks of some. */
static bool get_seqs(const struct axp__cap_chunk *chunk, struct seqs *out)
{
    struct axp__index_entry e;
    *out = (struct seqs){chunk->row, 0, 0};
    for (uint32_t k = 0; k <= chunk->n_more; k++) {
        uint64_t first = chunk->seq, n = 1;
        if (axp__file_of(chunk)) {
            if (!axp__file_part(chunk, k, &e)) return false;
            first = e.block.seq;
            n = e.block.n;
        }
        out->n += n;
        if (first + n - 1 > out->last) out->last = first + n - 1;
    }
    return true;
}

/* The chunks of each row, summed up; malloc, *n rows. NULL: no memory, or a
 * block that cannot be read. */
static struct seqs *list_seqs(const struct axp__capture *c, size_t *n)
{
    struct seqs *list = malloc((c->n_chunks + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; list && i < c->n_chunks; i++)
        if (!get_seqs(&c->chunks[i], &list[i])) {
            free(list);
            return NULL;
        }
    if (!list) return NULL;
    qsort(list, c->n_chunks, sizeof *list, by_row);
    for (size_t i = 0; i < c->n_chunks; i++) {
        if (*n && list[*n - 1].row == list[i].row) {
            list[*n - 1].n += list[i].n;
            if (list[i].last > list[*n - 1].last)
                list[*n - 1].last = list[i].last;
        } else {
            list[(*n)++] = list[i];
        }
    }
    return list;
}

/* The last chunk of a row has no words yet, perhaps. */
static bool has_chunks(const struct seqs *list, size_t n, uint32_t row,
                       uint64_t n_chunks)
{
    const struct seqs key = {row, 0, 0};
    const struct seqs *s = bsearch(&key, list, n, sizeof *list, by_row);
    return (s ? s->last : 0) + 1 >= n_chunks;
}

static bool is_whole(const struct axp__recovered *r)
{
    const struct axp__capture *c = r->capture;
    size_t n;
    if (r->is_cut || !c->has_timeline) return false;
    struct seqs *list = list_seqs(c, &n);
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = list[i].n == list[i].last;
    for (size_t i = 0; ok && i < c->n_rows; i++)
        ok = has_chunks(list, n, c->rows[i].id, r->n_chunks[i]);
    free(list);
    return ok;
}

/* ---- rows and lanes ------------------------------------------------------------------ */

struct recount {
    const struct axp__recovered *r;
    struct axp__fold *fold;
    struct axp__capture again; /* the fold; rows by id, each with its lane */
    bool *is_live;             /* of these: their thread had not been merged */
    struct axp__cap_row *rows; /* what becomes of both */
    struct axp__cap_lane *lanes;
    size_t n_rows, n_lanes;
};

/* Among the rows of the fold; -1: nothing of it is in the timeline. */
static ptrdiff_t find_row(const struct recount *x, uint32_t id)
{
    size_t low = 0, high = x->again.n_rows;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (x->again.rows[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low < x->again.n_rows && x->again.rows[low].id == id ? (ptrdiff_t)low
                                                                : -1;
}

/* A scope that another thread has ended is open no more, though its own had
 * not noticed yet. */
static void hide_ended(const struct recount *x, struct axp__cap_lane *lane,
                       uint32_t row)
{
    for (uint32_t i = 0; i < lane->n_frames; i++)
        if (axp__fold_is_stopped(x->fold, row, lane->frames[i].begin_ticks))
            lane->frames[i].node = AXP__CAP_ROOT;
}

/* What recording took is in no timeline: it is what the spool says. False: no
 * memory. */
static bool keep_costs(struct recount *x, struct axp__cap_lane *lane,
                       const struct axp__cap_lane *was)
{
    const struct axp__capture *c = x->r->capture;
    uint32_t n = lane->n_counters;
    struct axp__cap_counter *all =
        axp__cap_take(&x->again, (size_t)n + was->n_counters, sizeof *all);
    if (!all) return false;
    if (n) memcpy(all, lane->counters, n * sizeof *all);
    for (uint32_t i = 0; i < was->n_counters; i++)
        if (axp__kind_of(c->name_at(c, was->counters[i].name).flags) ==
            AXP__KIND_COST)
            all[n++] = was->counters[i];
    lane->counters = all;
    lane->n_counters = n;
    return true;
}

/* The lane of a row that was found; NULL: none. */
static const struct axp__cap_lane *lane_of(const struct axp__capture *c,
                                           size_t row, size_t *at)
{
    while (*at < c->n_lanes && c->lanes[*at].row < (int64_t)row)
        ++*at;
    return *at < c->n_lanes && c->lanes[*at].row == (int64_t)row
               ? &c->lanes[*at]
               : NULL;
}

/* What the allocator handed out is in no timeline either. */
static void keep_places(struct axp__cap_lane *lane,
                        const struct axp__cap_lane *was)
{
    lane->places = was->places;
    lane->n_places = was->n_places;
}

/* A row without words: it had not finished its first event, unless it did
 * nothing but allocate. */
static void take_silent(struct recount *x, const struct axp__cap_row *row,
                        const struct axp__cap_lane *found)
{
    struct axp__cap_lane *lane = &x->lanes[x->n_lanes];
    if (!found || !found->n_places) return;
    *lane = *found;
    lane->row = (int32_t)x->n_rows;
    lane->n_frames = 0;
    x->rows[x->n_rows++] = *row;
    x->n_lanes++;
}

/* Rows that have a lane: what the words say, under the name that the spool
 * knows. */
static bool take_live(struct recount *x)
{
    const struct axp__capture *was = x->r->capture;
    size_t n_passed = 0;
    for (size_t i = x->r->n_merged_rows; i < was->n_rows; i++) {
        ptrdiff_t at = find_row(x, was->rows[i].id);
        const struct axp__cap_lane *found = lane_of(was, i, &n_passed);
        if (at < 0) take_silent(x, &was->rows[i], found);
        if (at < 0 || x->is_live[at]) continue;
        struct axp__cap_row *row = &x->rows[x->n_rows];
        struct axp__cap_lane *lane = &x->lanes[x->n_lanes++];
        *row = was->rows[i];
        row->first = x->again.rows[at].first;
        row->last = x->again.rows[at].last;
        row->n_events = x->again.rows[at].n_events;
        *lane = x->again.lanes[at];
        lane->row = (int32_t)x->n_rows++;
        hide_ended(x, lane, row->id);
        x->is_live[at] = true;
        if (found) keep_places(lane, found);
        if (found && !keep_costs(x, lane, found)) return false;
    }
    return true;
}

/* Whether the rows of merged threads have as many events as the timeline has
 * of them; if not, a thread was being merged, and nobody knows how far. */
static bool is_merged_well(const struct recount *x)
{
    uint64_t n = 0;
    for (size_t i = 0; i < x->r->n_merged_rows; i++)
        n += x->r->capture->rows[i].n_events;
    for (size_t i = 0; i < x->again.n_rows; i++)
        if (!x->is_live[i]) n -= x->again.rows[i].n_events;
    return n == 0;
}

/* Their sum as it was found, or each of them counted again. */
static bool take_merged(struct recount *x)
{
    const struct axp__capture *was = x->r->capture;
    bool is_well = is_merged_well(x);
    const struct axp__cap_lane *sum = /* which comes first */
        was->n_lanes && was->lanes[0].row < 0 ? &was->lanes[0] : NULL;
    for (size_t i = 0; i < x->r->n_merged_rows; i++) {
        ptrdiff_t at = find_row(x, was->rows[i].id);
        if (is_well || (at >= 0 && !x->is_live[at]))
            x->rows[x->n_rows++] = was->rows[i];
    }
    for (size_t i = 0; is_well && i < was->n_lanes; i++)
        if (was->lanes[i].row < 0) x->lanes[x->n_lanes++] = was->lanes[i];
    for (size_t i = 0; !is_well && i < x->again.n_rows; i++) {
        if (x->is_live[i]) continue;
        struct axp__cap_lane *lane = &x->lanes[x->n_lanes++];
        *lane = x->again.lanes[i];
        lane->row = -1;
        for (uint32_t k = 0; k < lane->n_ops; k++)
            lane->ops[k].lifetime_ticks =
                x->again.rows[i].last - x->again.rows[i].first;
        if (sum) keep_places(lane, sum);
        if (sum && !keep_costs(x, lane, sum)) return false;
        sum = NULL; /* once */
    }
    return true;
}

/* ---- memory ---------------------------------------------------------------------------- */

static struct axp__cap_domain host_of(const struct axp__capture *c)
{
    return (struct axp__cap_domain){0, c->current_bytes, c->peak_bytes,
                                    c->peak_ticks};
}

/* was: as it was found; NULL: it was not. */
static void take_peak(struct axp__cap_domain *is,
                      const struct axp__cap_domain *was, uint64_t allowed)
{
    if (!was || !allowed || was->peak_bytes < is->current_bytes ||
        axp__compare_apart(was->peak_bytes, is->peak_bytes) > allowed)
        return;
    is->peak_bytes = was->peak_bytes;
    is->peak_ticks = was->peak_ticks;
}

/* Where threads raced for a peak the recorder alone knows it: believed as far
 * as a check believes it. */
static void take_peak_of(struct axp__cap_live *live,
                         const struct axp__cap_live *was, uint64_t allowed)
{
    if (!allowed ||
        axp__compare_apart(was->peak_bytes, live->peak_bytes) > allowed)
        return;
    uint64_t current = live->current_bytes;
    *live = *was;
    live->current_bytes = current;
    if (live->peak_bytes < current) live->peak_bytes = current;
}

/* What names held after steps is the recorder's alone, too. */
static bool take_names(struct recount *x, uint64_t allowed)
{
    struct axp__capture *c = x->r->capture, *again = &x->again;
    const struct axp__cap_live **by_name =
        calloc(AXP__MAX_NAMES, sizeof(const struct axp__cap_live *));
    if (!by_name) return false;
    for (size_t i = c->n_live; i--;) /* of two the first */
        if (c->live[i].name < AXP__MAX_NAMES)
            by_name[c->live[i].name] = &c->live[i];
    for (size_t i = 0; i < again->n_live; i++) {
        struct axp__cap_live *live = &again->live[i];
        assert(live->name < AXP__MAX_NAMES); /* of a word */
        const struct axp__cap_live *was = by_name[live->name];
        if (!was) continue;
        live->growth_early = was->growth_early;
        live->growth_late = was->growth_late;
        take_peak_of(live, was, allowed);
    }
    free(by_name);
    return true;
}

/* What is live follows from the words. */
static bool take_memory(struct recount *x)
{
    struct axp__capture *c = x->r->capture, *again = &x->again;
    uint64_t allowed =
        axp__compare_allowed(x->fold->n_with_memory, x->fold->largest_block);
    if (!take_names(x, allowed)) return false;
    c->live = again->live;
    c->n_live = again->n_live;
    struct axp__cap_domain was = host_of(c), is = host_of(again);
    take_peak(&is, &was, allowed);
    c->current_bytes = is.current_bytes;
    c->peak_bytes = is.peak_bytes;
    c->peak_ticks = is.peak_ticks;
    for (size_t i = 0; i < again->n_domains; i++)
        take_peak(&again->domains[i],
                  axp__cap_find_domain(c, again->domains[i].device), allowed);
    c->domains = again->domains;
    c->n_domains = again->n_domains;
    return true;
}

/* ---- all of it --------------------------------------------------------------------------- */

static axp_status count_again(struct recount *x)
{
    struct axp__capture *c = x->r->capture;
    x->again = (struct axp__capture){
        .memory = c->memory, .process_id = c->process_id, .rank = c->rank};
    bool ok = axp__fold_to_capture(x->fold, &x->again, NULL, 0);
    size_t n = c->n_rows + x->again.n_rows;
    x->rows = axp__cap_take(&x->again, n, sizeof *x->rows);
    x->lanes = axp__cap_take(&x->again, n + 1, sizeof *x->lanes);
    x->is_live = axp__cap_take(&x->again, x->again.n_rows, 1);
    ok = ok && x->rows && x->lanes && x->is_live && take_live(x) &&
         take_merged(x);
    c->memory = x->again.memory; /* whatever was taken */
    if (!ok || !take_memory(x)) return AXP_E_NO_MEMORY;
    c->rows = x->rows;
    c->lanes = x->lanes;
    c->n_rows = x->n_rows;
    c->n_lanes = x->n_lanes;
    c->n_events = x->again.n_events;
    c->n_steps = x->again.n_steps;
    if (!c->is_finished) c->end_ticks = x->again.end_ticks;
    return AXP_OK;
}

axp_status axp__recount(const struct axp__recovered *r)
{
    struct recount x = {.r = r};
    axp_status status = AXP_OK;
    if (!is_whole(r)) return AXP_OK;
    x.fold = axp__fold_create(r->capture, true);
    if (!x.fold) return AXP_E_NO_MEMORY;
    if (!axp__fold_lost(x.fold) && !x.fold->n_damaged) status = count_again(&x);
    axp__fold_destroy(x.fold);
    return status;
}
