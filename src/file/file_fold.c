/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks in the order of time, rows, and the memory that they share; see
 * file_fold.h. */
#include "file/file_fold.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "file/file_read.h"
#include "file/file_symbols.h"
#include "os/os_clock.h"
#include "os/os_map.h"

#define OTHER_NAME 1u /* "(other)"; AXP__NAME_OTHER of the recorder */

/* New places are refused past three quarters of the budget (base_budget.h),
 * operations and histograms where the file does not explain them. */
#define TREE_BYTES ((uint64_t)72 << 20)
#define SURE_BYTES ((uint64_t)8 << 20)
#define SURE_A_BYTE 48u /* of the file: a name and its first call are some 30 */

/* ---- rows ----------------------------------------------------------------------- */

static void retire(void *ctx, void *memory, size_t bytes)
{
    axp__unmap(memory, bytes);
    axp__budget_give(ctx, bytes);
}

static uint32_t op_of(const void *capture, uint32_t name)
{
    return axp__cap_op_of(capture, name);
}

struct axp__fold_row *axp__fold_make_row(struct axp__fold *f, uint32_t id)
{
    struct axp__fold_row *r = calloc(1, sizeof *r);
    struct axp__tally_seed *seed =
        aligned_alloc(64, (sizeof *seed + 63) & ~(size_t)63);
    if (!r || !seed) {
        free(r);
        free(seed);
        return NULL;
    }
    memset(seed, 0, sizeof *seed);
    r->id = id;
    r->seed = seed;
    r->first_ticks = r->first_ns = UINT64_MAX;
    axp__tally_init(&r->tally, seed, &f->budget, OTHER_NAME);
    r->tally.retire = retire;
    r->tally.retire_ctx = &f->budget;
    r->tally.op_of = op_of;
    r->tally.op_of_ctx = f->capture;
    f->n_whole++;
    return r;
}

/* All rows that have chunks were listed by their ids before. NULL: it has none,
 * or no memory. */
struct axp__fold_row *axp__fold_row(struct axp__fold *f, uint32_t id)
{
    size_t low = 0, high = f->n_rows;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (f->row_id[mid] < id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == f->n_rows || f->row_id[low] != id) return NULL;
    if (!f->row[low]) f->row[low] = axp__fold_make_row(f, id);
    return f->row[low];
}

void axp__fold_release(struct axp__fold_row *r)
{
    axp__tally_fini(&r->tally);
    free(r->seed);
    free(r->waiting);
    r->seed = NULL;
    r->waiting = NULL;
    r->cap_waiting = r->n_waiting = r->at_waiting = 0;
}

static void destroy_row(struct axp__fold_row *r)
{
    if (!r) return;
    if (!r->is_merged) axp__fold_release(r);
    free(r);
}

/* ---- memory ------------------------------------------------------------------------- */

static uint64_t head_ticks(const struct axp__fold_row *r)
{
    return r->waiting[r->at_waiting].ticks;
}

/* What was allocated is there before it is freed, where the clock is too
 * coarse to tell. */
static bool is_before(const struct axp__fold_row *a,
                      const struct axp__fold_row *b)
{
    uint64_t x = head_ticks(a), y = head_ticks(b);
    if (x != y) return x < y;
    return a->waiting[a->at_waiting].what < b->waiting[b->at_waiting].what;
}

static void sift_down(struct axp__fold *f)
{
    for (size_t i = 0;;) {
        size_t least = i, l = 2 * i + 1, r = l + 1;
        if (l < f->n_heap && is_before(f->heap[l], f->heap[least])) least = l;
        if (r < f->n_heap && is_before(f->heap[r], f->heap[least])) least = r;
        if (least == i) return;
        struct axp__fold_row *t = f->heap[i];
        f->heap[i] = f->heap[least];
        f->heap[least] = t;
        i = least;
    }
}

static void enter_heap(struct axp__fold *f, struct axp__fold_row *r)
{
    size_t i = f->n_heap++;
    assert(f->n_heap <= f->n_rows);
    for (; i && is_before(r, f->heap[(i - 1) / 2]); i = (i - 1) / 2)
        f->heap[i] = f->heap[(i - 1) / 2];
    f->heap[i] = r;
    assert(!i || !is_before(r, f->heap[(i - 1) / 2]));
}

struct axp__mem_word *axp__fold_room(struct axp__fold *f,
                                     struct axp__fold_row *r)
{
    if (r->at_waiting == r->n_waiting) r->at_waiting = r->n_waiting = 0;
    if (r->n_waiting == r->cap_waiting) {
        size_t cap = r->cap_waiting ? r->cap_waiting * 2 : 4;
        struct axp__mem_word *wider = realloc(r->waiting, cap * sizeof *wider);
        if (!wider) {
            f->is_out_of_memory = true;
            return NULL;
        }
        r->waiting = wider;
        r->cap_waiting = cap;
    }
    return &r->waiting[r->n_waiting];
}

void axp__fold_wait(struct axp__fold *f, struct axp__fold_row *r)
{
    if (r->at_waiting == r->n_waiting++) enter_heap(f, r);
}

/* The memory that a name's allocations are in; NULL: no memory. */
static struct axp__memory *memory_of(struct axp__fold *f, uint32_t name)
{
    const struct axp__capture *c = f->capture;
    uint32_t device = c->devices ? axp__cap_device_of(c, name) : 0;
    struct axp__memory **m = &f->memory_of[device];
    if (!device) return &f->memory;
    if (!*m) *m = axp__domain_get(&f->domains, &f->budget, device);
    return *m;
}

/* Purses keep threads apart that record at the same time. Here is one for all
 * of a name, and one for everything. */
static struct axp__purse *purse_of(struct axp__memory *m, struct axp__entry *e,
                                   bool is_alloc)
{
    struct axp__traffic *t = e->record;
    if (e->other) return e->other;
    struct axp__live_name *live =
        is_alloc ? axp__memory_get(m, t->name) : axp__memory_find(m, t->name);
    if (!live) return NULL;
    axp__ref purse = live->account.purses;
    e->other =
        purse ? axp__slab_at(&m->slab, purse) : axp__memory_join_name(m, live);
    return e->other;
}

static struct axp__purse *purse_of_all(struct axp__memory *m)
{
    axp__ref purse = m->all.purses;
    return purse ? axp__slab_at(&m->slab, purse) : axp__memory_join(m);
}

static void mark_first_step(struct axp__fold *f)
{
    if (f->has_first_step) return; /* it looks at all names: once */
    f->has_first_step = true;
    axp__memory_mark_step(&f->memory, 1);
    for (struct axp__domain *d = f->domains; d; d = d->next)
        axp__memory_mark_step(&d->memory, 1);
}

/* As record_memory.c does it. */
static void apply(struct axp__fold *f, struct axp__fold_row *r,
                  const struct axp__mem_word *w)
{
    if (w->what == AXP__MEM_FIRST_STEP) {
        mark_first_step(f);
        return;
    }
    bool is_alloc = w->what == AXP__MEM_ALLOC;
    f->n_with_memory += !r->has_memory;
    r->has_memory = true;
    struct axp__memory *m = memory_of(f, w->name);
    struct axp__entry *e = m ? axp__tally_traffic(&r->tally, w->name) : NULL;
    struct axp__purses x = {e ? purse_of(m, e, is_alloc) : NULL,
                            m ? purse_of_all(m) : NULL};
    if (!e || !x.all || (is_alloc && !x.own)) {
        f->n_lost++;
        return;
    }
    struct axp__traffic *t = e->record;
    if (is_alloc) {
        if (w->bytes > f->largest_block) f->largest_block = w->bytes;
        if (w->kind) axp__memory_find(m, w->name)->kind = w->kind;
        axp__memory_alloc(m, x, w->bytes, w->now, r->id);
        t->n_allocs++;
        t->allocated_bytes += w->bytes;
    } else {
        uint64_t excess =
            x.own ? axp__memory_free(m, x, w->bytes)
                  : axp__memory_free_loose(m, NULL, x.all, w->bytes);
        t->n_frees++;
        t->freed_bytes += w->bytes - excess;
    }
}

void axp__fold_memory(struct axp__fold *f, uint64_t before_ticks)
{
    while (f->n_heap && head_ticks(f->heap[0]) < before_ticks) {
        struct axp__fold_row *r = f->heap[0];
        apply(f, r, &r->waiting[r->at_waiting++]);
        if (r->at_waiting == r->n_waiting) f->heap[0] = f->heap[--f->n_heap];
        sift_down(f);
    }
    /* what was applied gives its room back */
    for (size_t i = 0; i < f->n_heap; i++) {
        struct axp__fold_row *r = f->heap[i];
        size_t n = r->n_waiting - r->at_waiting;
        if (r->at_waiting < 4096 || r->at_waiting < n) continue;
        memmove(r->waiting, r->waiting + r->at_waiting, n * sizeof *r->waiting);
        r->at_waiting = 0;
        r->n_waiting = n;
    }
}

/* ---- scopes that other threads ended --------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
    const struct axp__fold_stop *x = a, *y = b;
    if (x->begin_ticks != y->begin_ticks)
        return x->begin_ticks > y->begin_ticks ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

bool axp__fold_is_stopped(const struct axp__fold *f, uint32_t row,
                          uint64_t begin_ticks)
{
    const struct axp__fold_stop key = {begin_ticks, row};
    return f->n_stops &&
           bsearch(&key, f->stop, f->n_stops, sizeof key, by_begin);
}

/* ---- blocks ---------------------------------------------------------------------------- */

struct turn { /* of a chunk */
    uint64_t key;
    const struct axp__cap_chunk *chunk;
};

static int by_row_and_seq(const void *a, const void *b)
{
    const struct axp__cap_chunk *x = ((const struct turn *)a)->chunk;
    const struct axp__cap_chunk *y = ((const struct turn *)b)->chunk;
    if (x->row != y->row) return x->row > y->row ? 1 : -1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static int by_key(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? 1 : -1;
    return by_row_and_seq(a, b);
}

/* The ids of all rows, from turns by row. */
static bool list_rows(struct axp__fold *f, const struct turn *turns, size_t n)
{
    size_t n_rows = 0;
    for (size_t i = 0; i < n; i++)
        n_rows += !i || turns[i].chunk->row != turns[i - 1].chunk->row;
    f->row_id = malloc((n_rows + 1) * sizeof *f->row_id);
    f->row = calloc(n_rows + 1, sizeof(struct axp__fold_row *));
    f->heap = calloc(n_rows + 1, sizeof(struct axp__fold_row *));
    f->finished = calloc(n_rows + 1, sizeof(struct axp__fold_row *));
    f->n_turns = calloc(n_rows + 1, sizeof *f->n_turns);
    if (!f->row_id || !f->row || !f->heap || !f->finished || !f->n_turns)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!i || turns[i].chunk->row != turns[i - 1].chunk->row)
            f->row_id[f->n_rows++] = turns[i].chunk->row;
        f->n_turns[f->n_rows - 1]++;
    }
    return true;
}

/* Chunks by their beginnings; within a row always by seq. */
static struct turn *make_turns(struct axp__fold *f,
                               const struct axp__capture *c)
{
    struct turn *turns = malloc((c->n_chunks + 1) * sizeof *turns);
    if (!turns) return NULL;
    for (size_t i = 0; i < c->n_chunks; i++)
        turns[i] = (struct turn){c->chunks[i].base_ticks, &c->chunks[i]};
    qsort(turns, c->n_chunks, sizeof *turns, by_row_and_seq);
    if (!list_rows(f, turns, c->n_chunks)) {
        free(turns);
        return NULL;
    }
    for (size_t i = 1; i < c->n_chunks; i++)
        if (turns[i].chunk->row == turns[i - 1].chunk->row &&
            turns[i].key < turns[i - 1].key)
            turns[i].key = turns[i - 1].key;
    qsort(turns, c->n_chunks, sizeof *turns, by_key);
    return turns;
}

static void fold_by_words(struct axp__fold *f, struct axp__fold_row *r,
                          const struct axp__cap_chunk *chunk, uint32_t part)
{
    struct axp__cap_words words;
    if (!axp__words_load(chunk, part, &words)) {
        f->n_damaged++;
        return;
    }
    axp__fold_words(f, r, words.words, words.n_words, words.base_ticks);
    axp__words_unload(&words);
}

/* Memory that one block after the other is read into. */
struct reading {
    struct axp__body body;
    struct axp__symbols symbols;
};

static void fold_part(struct axp__fold *f, struct reading *reading,
                      const struct axp__cap_chunk *chunk, uint32_t part)
{
    struct axp__fold_row *r = axp__fold_row(f, chunk->row);
    struct axp__index_entry e;
    if (!r) {
        f->is_out_of_memory = true;
        return;
    }
    if (!part && chunk->n_events != UINT64_MAX) r->n_events += chunk->n_events;
    bool is_block = axp__file_part(chunk, part, &e);
    bool is_pack = is_block && e.block.kind == AXP__B_PACK;
    f->n_looks += AXP__FOLD_LOOKS_A_BYTE *
                  (is_block ? e.block.body_bytes : chunk->n_words * 8);
    if (!is_pack) {
        fold_by_words(f, r, chunk, part);
        return;
    }
    struct axp__symbols *s = &reading->symbols;
    if (axp__file_body_into(axp__file_of(chunk), &e, &reading->body) ||
        axp__symbols_open(s, &e.block, reading->body.bytes))
        f->n_damaged++;
    else if (!axp__fold_can_do(f, s))
        fold_by_words(f, r, chunk, part);
    else if (!axp__fold_symbols(f, r, s))
        f->n_damaged++;
}

static void mark_tracks(struct axp__fold *f, const struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_rows; i++) {
        if (!c->rows[i].track) continue;
        struct axp__fold_row *r = axp__fold_row(f, c->rows[i].id);
        if (r) r->is_track = true;
    }
}

/* What there is to read: the file, or the words of a spool. */
static uint64_t bytes_of(const struct axp__capture *c)
{
    const struct axp__file *file =
        c->n_chunks ? axp__file_of(&c->chunks[0]) : NULL;
    uint64_t n = file ? file->bytes : 0;
    for (size_t i = 0; !file && i < c->n_chunks; i++)
        n += c->chunks[i].n_words * 8;
    return n;
}

struct axp__fold *axp__fold_create(const struct axp__capture *c, bool is_apart)
{
    struct axp__fold *f = calloc(1, sizeof *f);
    struct reading reading = {0};
    if (!f) return NULL;
    f->budget.limit_bytes = TREE_BYTES / 3 * 4;
    f->budget.reserve_bytes = SURE_BYTES + SURE_A_BYTE * bytes_of(c);
    f->capture = c;
    f->memory.budget = &f->budget;
    f->n_looks = AXP__FOLD_LOOKS_FREE;
    f->merge_at = AXP__FOLD_APART;
    f->start_ticks = f->end_ticks = c->start_ticks;
    f->rate = (struct axp__rate){c->rate_mult};
    struct turn *turns = make_turns(f, c);
    if (!turns) f->is_out_of_memory = true;
    mark_tracks(f, c);
    if (turns && !is_apart) axp__fold_keep_rows(f, c);
    axp__symbols_init(&reading.symbols);
    for (size_t i = 0; turns && i < c->n_chunks && !f->is_out_of_memory; i++) {
        for (uint32_t k = 0; k <= turns[i].chunk->n_more; k++)
            fold_part(f, &reading, turns[i].chunk, k);
        axp__fold_memory(f,
                         i + 1 < c->n_chunks ? turns[i + 1].key : UINT64_MAX);
        if (!is_apart) axp__fold_turn_done(f, turns[i].chunk->row);
    }
    axp__symbols_fini(&reading.symbols);
    free(reading.body.bytes);
    free(turns);
    if (f->n_stops) qsort(f->stop, f->n_stops, sizeof *f->stop, by_begin);
    if (!f->is_out_of_memory) return f;
    axp__fold_destroy(f);
    return NULL;
}

uint64_t axp__fold_lost(const struct axp__fold *f)
{
    uint64_t n = f->n_lost + f->budget.n_refused;
    if (f->merged) n += f->merged->tally.n_folded;
    for (size_t i = 0; i < f->n_rows; i++)
        if (f->row[i] && !f->row[i]->is_merged) n += f->row[i]->tally.n_folded;
    return n;
}

void axp__fold_destroy(struct axp__fold *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->n_rows; i++)
        destroy_row(f->row[i]);
    destroy_row(f->merged);
    axp__memory_clear(&f->memory);
    axp__domains_clear(&f->domains, &f->budget);
    free(f->row);
    free(f->n_turns);
    free(f->finished);
    free(f->row_id);
    free(f->heap);
    free(f->digest);
    free(f->stop);
    free(f);
}
