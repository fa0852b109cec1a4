/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows that came to their end, added up; see file_fold.h.
 *
 * A program may start a thread for each request, and each row's accumulators
 * take some 10 KB and more. The recorder merges those of ended threads, so the
 * fold does too, once its rows fill MERGE_PAST: then a row that has no more
 * words, nothing open and no memory that waits is added to one for all.
 */
#include <stdlib.h>

#include "base/base_order.h"
#include "file/file_fold.h"
#include "tally/tally_merge.h"

#define MERGE_PAST ((uint64_t)32 << 20)

void axp__fold_keep_rows(struct axp__fold *f, const struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_lanes; i++) {
        if (c->lanes[i].row < 0) continue;
        const uint32_t *at = bsearch(&c->rows[c->lanes[i].row].id, f->row_id,
                                     f->n_rows, sizeof *f->row_id, axp__by_u32);
        if (at) f->n_turns[at - f->row_id] = UINT32_MAX;
    }
}

static bool is_full(const struct axp__fold *f)
{
    uint64_t bytes = f->budget.used_bytes + f->budget.reserve_used_bytes;
    return bytes + f->n_whole * sizeof(struct axp__tally_seed) > MERGE_PAST;
}

static bool may_merge(const struct axp__fold_row *r)
{
    return r->at_waiting == r->n_waiting && r->tally.top == r->tally.frames;
}

/* What a row says of itself is counted while it has its nodes. */
static void sum_up(struct axp__fold_row *r)
{
    const struct axp__tally *t = &r->tally;
    axp__ref root = t->first.nodes;
    for (axp__ref ref = root; ref;) {
        const struct axp__node *n = axp__arena_at(&t->arena, ref);
        if (n->parent == root) r->busy_ticks += n->total_ticks;
        if (n->category == AXP_CAT_SYNC) r->waited_ticks += n->self_ticks;
        ref = n->next;
    }
}

static void merge(struct axp__fold *f, struct axp__fold_row *r)
{
    uint64_t from = r->first_ticks, to = r->last_ticks;
    if (!f->merged) f->merged = axp__fold_make_row(f, 0);
    if (!f->merged) {
        f->is_out_of_memory = true;
        return;
    }
    sum_up(r);
    if (!axp__tally_merge(&f->merged->tally, &r->tally,
                          to > from ? to - from : 0))
        f->n_lost++;
    f->n_lost += r->tally.n_folded;
    axp__fold_release(r);
    r->is_merged = true;
    f->n_whole--;
}

/* Those that cannot be merged yet wait until there are twice as many. */
static void merge_all(struct axp__fold *f)
{
    size_t n_left = 0;
    for (size_t i = 0; i < f->n_finished; i++) {
        struct axp__fold_row *r = f->finished[i];
        if (may_merge(r))
            merge(f, r);
        else
            f->finished[n_left++] = r;
    }
    f->n_finished = n_left;
    f->merge_at = 2 * n_left + AXP__FOLD_APART;
}

void axp__fold_turn_done(struct axp__fold *f, uint32_t row_id)
{
    const uint32_t *at =
        bsearch(&row_id, f->row_id, f->n_rows, sizeof *f->row_id, axp__by_u32);
    size_t i = at ? (size_t)(at - f->row_id) : f->n_rows;
    if (!at || f->n_turns[i] == UINT32_MAX || --f->n_turns[i]) return;
    struct axp__fold_row *r = f->row[i];
    if (!r || r->is_track) return;
    f->finished[f->n_finished++] = r;
    if (f->n_finished >= f->merge_at && is_full(f)) merge_all(f);
}
