/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which blocks of a file are its timeline, by row and seq, in little memory.
 *
 *   file      A1 B1 A2 A3 B2 A4 …        blocks, rows mixed
 *   places    A1 A2 A3 A4 … B1 B2 …      5 bytes each
 *   chunks    [A1 A2 A3] [A4 …] … [B1 …  up to MOST_PARTS blocks each
 *
 * The blocks are walked over three times: to know the rows, to count what
 * each has, and to put it in its place. A row's blocks lie in the file in the
 * order of their seq, as a drain writes them; where they do not, or where one
 * holds what another holds too (a flush leaves copies of chunks that are then
 * written on), the row is sorted by the heads of its blocks.
 *
 * Memory   of the list 6 bytes a block; a row that must be sorted takes 72 a
 *          block while that is done.
 * Input    untrusted. What a walk finds need not be what the one before found:
 *          nothing is put where no room was counted.
 */
#include "file/file_timeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_order.h"
#include "file/file_walk.h"

#define MOST_PARTS 64u
#define MOST_WORDS ((uint64_t)AXP__PACK_CHUNKS * AXP__CHUNK_WORDS)

struct row {
    uint32_t id;
    bool is_mixed;     /* not in order, or not once */
    uint64_t next_seq; /* after the last block */
    uint64_t n_blocks, n_chunks;
    uint64_t block, chunk;       /* where the first of each goes */
    uint64_t n_placed;           /* blocks */
    struct axp__cap_chunk *made; /* chunks */
    uint64_t n_made;
    uint32_t n_parts; /* of the chunk that is being counted */
    uint64_t n_words;
};

struct list {
    struct axp__file *f;
    uint32_t epoch, most_parts;
    struct row *rows; /* by id */
    size_t n_rows;
    struct row *last; /* found */
    uint8_t *places;
};

static bool is_ours(const struct list *l, const struct axp__block *b)
{
    return axp__block_is_timeline(b) && b->epoch == l->epoch;
}

/* ---- rows ------------------------------------------------------------------- */

struct ids {
    uint32_t *at;
    size_t n, cap;
};

static void sort_ids(struct ids *ids)
{
    size_t kept = 0;
    if (ids->n) qsort(ids->at, ids->n, sizeof *ids->at, axp__by_u32);
    for (size_t i = 0; i < ids->n; i++)
        if (!kept || ids->at[kept - 1] != ids->at[i])
            ids->at[kept++] = ids->at[i];
    ids->n = kept;
}

/* Sorts, and makes room where most of them differ. */
static bool widen(struct ids *ids)
{
    sort_ids(ids);
    if (ids->n < ids->cap / 2) return true;
    size_t cap = ids->cap ? ids->cap * 2 : 64;
    uint32_t *wider = realloc(ids->at, cap * sizeof *wider);
    if (!wider) return false;
    ids->at = wider;
    ids->cap = cap;
    return true;
}

/* Each may be there several times until they are sorted. */
static bool add_id(struct ids *ids, uint32_t id)
{
    if (ids->n && ids->at[ids->n - 1] == id) return true;
    if (ids->n == ids->cap && !widen(ids)) return false;
    ids->at[ids->n++] = id;
    return true;
}

static bool find_rows(struct list *l)
{
    struct axp__file_walk w;
    struct ids ids = {0};
    bool ok = true;
    axp__file_walk_begin(&w, l->f);
    while (ok && axp__file_walk_next(&w))
        if (is_ours(l, &w.entry.block)) ok = add_id(&ids, w.entry.block.row);
    sort_ids(&ids);
    l->rows = ok ? calloc(ids.n + 1, sizeof *l->rows) : NULL;
    for (size_t i = 0; l->rows && i < ids.n; i++)
        l->rows[i].id = ids.at[i];
    l->n_rows = ids.n;
    free(ids.at);
    return l->rows;
}

static struct row *row_of(struct list *l, uint32_t id)
{
    size_t low = 0, high = l->n_rows;
    if (l->last && l->last->id == id) return l->last;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (l->rows[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    assert(!low || l->rows[low - 1].id < id); /* by id, each once */
    if (low == l->n_rows || l->rows[low].id != id) return NULL;
    return l->last = &l->rows[low];
}

/* ---- chunks ------------------------------------------------------------------ */

/* Whether a block begins a chunk; else it is one more part of the last. */
static bool begins_chunk(const struct list *l, struct row *r,
                         const struct axp__block *b)
{
    bool is_new = !r->n_parts || r->n_parts == l->most_parts ||
                  r->n_words + b->n_words > MOST_WORDS;
    r->n_parts = is_new ? 1 : r->n_parts + 1;
    r->n_words = is_new ? b->n_words : r->n_words + b->n_words;
    return is_new;
}

static void count_block(struct list *l, struct row *r,
                        const struct axp__block *b)
{
    if (r->n_blocks && b->seq < r->next_seq) r->is_mixed = true;
    r->next_seq = b->seq + b->n;
    if (r->next_seq < b->seq) r->is_mixed = true;
    r->n_blocks++;
    r->n_chunks += begins_chunk(l, r, b);
}

static void put_block(struct list *l, struct row *r,
                      const struct axp__index_entry *e)
{
    const struct axp__block *b = &e->block;
    if (r->n_placed == r->n_blocks) return;
    uint64_t place = r->block + r->n_placed;
    if (begins_chunk(l, r, b)) {
        if (r->n_made == r->n_chunks) return;
        r->made[r->n_made++] =
            (struct axp__cap_chunk){.row = r->id,
                                    .seq = b->seq,
                                    .base_ticks = b->base_ticks,
                                    .source = &l->f->source,
                                    .place = place};
    } else {
        r->made[r->n_made - 1].n_more++;
    }
    axp__place_put(l->places, place, e->at);
    r->n_placed++;
    assert(r->n_made && r->n_made <= r->n_chunks && r->n_placed <= r->n_blocks);
    r->made[r->n_made - 1].n_words += b->n_words;
    r->made[r->n_made - 1].n_events += b->n_events;
}

/* ---- rows that are mixed ---------------------------------------------------------- */

/* By seq, and place in the file. */
static int by_seq(const void *a, const void *b)
{
    const struct axp__index_entry *x = a, *y = b;
    if (x->block.seq != y->block.seq)
        return x->block.seq > y->block.seq ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Of blocks that hold the same chunk the one that was written last. Returns
 * how many stay. */
static size_t keep_newest(struct axp__index_entry *e, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_old = false;
        while (kept && !is_old &&
               e[i].block.seq - e[kept - 1].block.seq < e[kept - 1].block.n) {
            if (e[kept - 1].at > e[i].at)
                is_old = true;
            else
                kept--;
        }
        if (!is_old) e[kept++] = e[i];
    }
    return kept;
}

/* Its blocks are in their places, in the order of the file. */
static bool sort_row(struct list *l, struct row *r)
{
    struct axp__index_entry *e = malloc((r->n_placed + 1) * sizeof *e);
    size_t n = 0;
    if (!e) return false;
    for (uint64_t i = 0; i < r->n_placed; i++) {
        e[n].at = axp__place_at(l->places, r->block + i);
        n += axp__file_head_at(l->f, e[n].at, &e[n].block) &&
             is_ours(l, &e[n].block) && e[n].block.row == r->id;
    }
    qsort(e, n, sizeof *e, by_seq);
    n = keep_newest(e, n);
    r->n_placed = r->n_made = 0;
    r->n_parts = 0;
    for (size_t i = 0; i < n; i++)
        put_block(l, r, &e[i]);
    free(e);
    return true;
}

/* ---- the list ------------------------------------------------------------------------- */

/* Returns how many chunks there may be. */
static uint64_t count_blocks(struct list *l, uint64_t *n_blocks)
{
    struct axp__file_walk w;
    uint64_t n_chunks = 0;
    struct row *r;
    *n_blocks = 0;
    axp__file_walk_begin(&w, l->f);
    while (axp__file_walk_next(&w))
        if (is_ours(l, &w.entry.block) && (r = row_of(l, w.entry.block.row)))
            count_block(l, r, &w.entry.block);
    for (size_t i = 0; i < l->n_rows; i++) {
        r = &l->rows[i];
        if (r->is_mixed) r->n_chunks = r->n_blocks;
        r->block = *n_blocks;
        r->chunk = n_chunks;
        r->n_parts = 0;
        *n_blocks += r->n_blocks;
        n_chunks += r->n_chunks;
    }
    return n_chunks;
}

static void put_blocks(struct list *l, struct axp__cap_chunk *chunks)
{
    struct axp__file_walk w;
    struct row *r;
    for (size_t i = 0; i < l->n_rows; i++)
        l->rows[i].made = chunks + l->rows[i].chunk;
    axp__file_walk_begin(&w, l->f);
    while (axp__file_walk_next(&w))
        if (is_ours(l, &w.entry.block) && (r = row_of(l, w.entry.block.row)))
            put_block(l, r, &w.entry);
}

/* Sorts what must be, and closes the gaps. Returns how many there are. */
static bool settle(struct list *l, struct axp__cap_chunk *chunks, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < l->n_rows; i++) {
        struct row *r = &l->rows[i];
        if (r->is_mixed && !sort_row(l, r)) return false;
        memmove(chunks + *n, r->made, r->n_made * sizeof *chunks);
        *n += r->n_made;
    }
    return true;
}

bool axp__file_list(struct axp__file *f, struct axp__capture *c, uint32_t epoch)
{
    struct list l = {
        .f = f, .epoch = epoch, .most_parts = c->n_chunks ? 1 : MOST_PARTS};
    struct axp__cap_chunk *chunks = NULL;
    uint64_t n_blocks = 0;
    size_t n = 0;
    bool ok = find_rows(&l);
    if (ok) {
        uint64_t most = count_blocks(&l, &n_blocks);
        chunks = axp__cap_take(c, c->n_chunks + most, sizeof *chunks);
        l.places = malloc((n_blocks + 1) * AXP__PLACE_BYTES);
        ok = chunks && l.places;
    }
    if (ok) {
        put_blocks(&l, chunks + c->n_chunks);
        ok = settle(&l, chunks + c->n_chunks, &n);
    }
    free(l.rows);
    if (!ok) {
        free(l.places);
        return false;
    }
    if (c->n_chunks) memcpy(chunks, c->chunks, c->n_chunks * sizeof *chunks);
    c->chunks = chunks;
    c->n_chunks += n;
    f->chunk_at = l.places;
    return true;
}
