/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory by name and stack: what was allocated, and what of it is live still,
 * counted from the timeline, which alone knows which stack a block had.
 *
 * Memory   as many records as there are pairs of name and stack, and as many
 *          blocks as are live at once, up to MOST_BLOCKS; those past it count
 *          as allocated alone.
 * Input    untrusted: frees of what is not known are passed over.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base_text.h"
#include "model/model_stream.h"
#include "record/record_thread.h"

#define MOST_BLOCKS ((size_t)1 << 22)

struct pair {
    uint32_t name, stack;
    uint64_t n_allocs, allocated_bytes, n_live, live_bytes;
};

struct block { /* that is live */
    uint64_t address, bytes;
    uint32_t process;
    uint32_t pair; /* 1 + its place; 0: free, or gone */
    bool is_used;  /* a free one that was not: do not stop here */
};

struct counter {
    struct pair *pair;
    uint32_t *pair_slot; /* 1 + a place, by hash */
    size_t n_pairs, cap_pairs;
    struct block *block; /* by hash */
    size_t n_blocks, cap_blocks;
};

/* ---- pairs ----------------------------------------------------------------------- */

static uint32_t *pair_slot(const struct counter *c, uint32_t name,
                           uint32_t stack)
{
    uint64_t k = axp__mix64((uint64_t)name << 32 | stack);
    uint32_t *at;
    while (*(at = &c->pair_slot[k & (2 * c->cap_pairs - 1)]) &&
           (c->pair[*at - 1].name != name || c->pair[*at - 1].stack != stack))
        k++;
    return at;
}

static bool widen_pairs(struct counter *c)
{
    size_t cap = c->cap_pairs ? 2 * c->cap_pairs : 256;
    if (c->n_pairs < c->cap_pairs) return true;
    struct pair *wider = calloc(cap, sizeof *wider);
    uint32_t *slots = calloc(2 * cap, sizeof *slots);
    if (!wider || !slots) {
        free(wider);
        free(slots);
        return false;
    }
    if (c->n_pairs) memcpy(wider, c->pair, c->n_pairs * sizeof *wider);
    free(c->pair);
    free(c->pair_slot);
    c->pair = wider;
    c->pair_slot = slots;
    c->cap_pairs = cap;
    for (size_t i = 0; i < c->n_pairs; i++)
        *pair_slot(c, c->pair[i].name, c->pair[i].stack) = (uint32_t)i + 1;
    return true;
}

/* 1 + its place; 0: no memory. */
static uint32_t get_pair(struct counter *c, uint32_t name, uint32_t stack)
{
    if (!widen_pairs(c)) return 0;
    uint32_t *at = pair_slot(c, name, stack);
    if (*at) return *at;
    c->pair[c->n_pairs] = (struct pair){.name = name, .stack = stack};
    return *at = (uint32_t)++c->n_pairs;
}

/* ---- blocks ---------------------------------------------------------------------- */

/* Where a block is, or where it would be. */
static struct block *block_slot(const struct counter *c, uint32_t process,
                                uint64_t address)
{
    uint64_t k = axp__mix64(address ^ (uint64_t)process << 48);
    struct block *at, *gone = NULL;
    for (; (at = &c->block[k & (c->cap_blocks - 1)])->is_used; k++) {
        if (at->pair && at->address == address && at->process == process)
            return at;
        if (!at->pair && !gone) gone = at;
    }
    return gone ? gone : at;
}

/* Every place that was used counts, until all are put anew. */
static bool widen_blocks(struct counter *c)
{
    struct counter wider = {.cap_blocks = 1024};
    size_t n_live = 0;
    if (2 * c->n_blocks < c->cap_blocks) return true;
    for (size_t i = 0; i < c->cap_blocks; i++)
        n_live += c->block[i].pair != 0;
    while (wider.cap_blocks < 4 * n_live + 4)
        wider.cap_blocks *= 2;
    wider.block = calloc(wider.cap_blocks, sizeof *wider.block);
    if (!wider.block) return false;
    for (size_t i = 0; i < c->cap_blocks; i++)
        if (c->block[i].pair)
            *block_slot(&wider, c->block[i].process, c->block[i].address) =
                c->block[i];
    free(c->block);
    c->block = wider.block;
    c->cap_blocks = wider.cap_blocks;
    c->n_blocks = n_live;
    return true;
}

static void end_block(struct counter *c, struct block *b)
{
    struct pair *p = &c->pair[b->pair - 1];
    p->n_live--;
    p->live_bytes -= b->bytes;
    b->pair = 0;
}

/* False: no memory. */
static bool add_alloc(struct counter *c, uint32_t process,
                      const struct axp__record *r)
{
    uint32_t pair = get_pair(c, r->name, r->stack);
    if (!pair) return false;
    struct pair *p = &c->pair[pair - 1];
    p->n_allocs++;
    p->allocated_bytes += r->bytes;
    if (!r->id || c->n_blocks >= MOST_BLOCKS) return true;
    if (!widen_blocks(c)) return false;
    struct block *b = block_slot(c, process, r->id);
    if (b->pair) end_block(c, b); /* its free was missed */
    if (!b->is_used) c->n_blocks++;
    *b = (struct block){r->id, r->bytes, process, pair, true};
    p->n_live++;
    p->live_bytes += r->bytes;
    return true;
}

static void add_free(struct counter *c, uint32_t process,
                     const struct axp__record *r)
{
    struct block *b =
        r->id && c->cap_blocks ? block_slot(c, process, r->id) : NULL;
    if (b && b->pair) end_block(c, b);
}

/* ---- the whole --------------------------------------------------------------------- */

static int by_live(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->live_bytes != y->live_bytes)
        return x->live_bytes < y->live_bytes ? 1 : -1;
    if (x->allocated_bytes != y->allocated_bytes)
        return x->allocated_bytes < y->allocated_bytes ? 1 : -1;
    if (x->name != y->name) return x->name > y->name ? 1 : -1;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

static axp_status count(struct counter *c, const axp_view *v)
{
    struct axp__stream *s;
    const struct axp__record *r;
    bool ok = true;
    axp_status status = axp__stream_open(v, AXP__STREAM_RAW, &s);
    if (status) return status;
    while (ok && (r = axp__stream_next(s))) {
        const struct axp__stream_row *row = axp__stream_row(s, r->row);
        if (row->track) continue; /* addresses of a device */
        if (r->kind == AXP__R_ALLOC) ok = add_alloc(c, row->process, r);
        if (r->kind == AXP__R_FREE) add_free(c, row->process, r);
    }
    status = axp__stream_status(s);
    axp__stream_close(s);
    if (!ok) status = axp__fail(AXP_E_NO_MEMORY, "no memory to count blocks");
    return status;
}

axp_status axp_view_memory_stacks(const axp_view *v, axp_memory_stack_fn fn,
                                  void *ctx)
{
    struct counter c = {0};
    if (!v || !fn)
        return axp__fail(AXP_E_INVALID, "axp_view_memory_stacks needs a view "
                                        "and a function");
    axp_status status = count(&c, v);
    if (!status && c.n_pairs) qsort(c.pair, c.n_pairs, sizeof *c.pair, by_live);
    for (size_t i = 0; !status && i < c.n_pairs; i++) {
        const struct pair *p = &c.pair[i];
        axp_memory_stack m = {.name = axp__view_name(v, p->name),
                              .stack = p->stack,
                              .n_allocs = p->n_allocs,
                              .allocated_bytes = p->allocated_bytes,
                              .n_live = p->n_live,
                              .live_bytes = p->live_bytes};
        if (fn(&m, ctx)) break;
    }
    free(c.pair);
    free(c.pair_slot);
    free(c.block);
    return status;
}
