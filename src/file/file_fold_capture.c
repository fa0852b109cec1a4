/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was folded, as a capture: the counterpart of record_capture.c, where
 * nobody else changes anything. */
#include "file/file_fold.h"
#include "tally/tally_copy.h"
#include "wire/wire_body.h"

static bool copy_lane(struct axp__capture *c, struct axp__cap_lane *to,
                      const struct axp__tally *t)
{
    struct axp__copy_source from = axp__copy_from(t, false);
    if (!axp__copy_size(c, to, &from)) return false;
    uint32_t n_pages = to->n_hists;
    uint32_t n_frames = (uint32_t)(t->top - t->frames);
    axp__ref *refs = axp__cap_take(c, to->n_nodes, sizeof *refs);
    to->frames = axp__cap_take(c, n_frames, sizeof *to->frames);
    if (!refs || !to->frames) return false;
    axp__copy_nodes(to, refs, &from);
    axp__copy_ops(to, n_pages, &from);
    axp__copy_small(to, &from);
    for (; to->n_frames < n_frames; to->n_frames++) {
        const struct axp__frame *f = &t->frames[to->n_frames + 1];
        axp__copy_frame(
            &to->frames[to->n_frames], f,
            axp__cap_index_of(refs, to->n_nodes, axp__path_ref(f->node->path)));
    }
    axp__cap_declare(to);
    return true;
}

/* ---- rows ---------------------------------------------------------------------- */

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
                                .process_id = r->process_id ? r->process_id
                                                            : c->process_id,
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
    if (!c->rows || !c->lanes ||
        !axp__domains_copy(c, &f->memory, &f->domains, 0))
        return false;
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
