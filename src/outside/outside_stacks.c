/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stacks of a spool; outside_spooled.h, and tally_stacks.h for how they lie.
 *
 * Segments are copied once, as a whole, and a stack is where its cell says it
 * is in one. All that is copied and looked at together is no more than the
 * file could hold, whatever the cells claim.
 */
#include <stdlib.h>
#include <string.h>

#include "outside/outside_spooled.h"

struct reader {
    struct axp__spooled *m;
    const struct axp__stack_table *table;
    const char
        *seg[AXP__STACK_SEGS]; /* in the capture's memory; NULL: not yet */
    uint64_t n_left;           /* bytes that may still be looked at */
    struct axp__cap_stacks *out;
};

static bool take(struct reader *r, uint64_t bytes)
{
    if (bytes > r->n_left) return false;
    r->n_left -= bytes;
    return true;
}

static const char *segment(struct reader *r, uint32_t i)
{
    size_t bytes = sizeof(struct axp__stack_seg);
    if (i >= AXP__STACK_SEGS) return NULL;
    if (r->seg[i]) return r->seg[i];
    const void *from = axp__spooled_at(r->m, r->table->seg[i], bytes);
    /* so many more bytes may be looked at behind its end */
    char *copy = from && take(r, bytes)
                     ? axp__cap_take(r->m->c, bytes + AXP__VARINT_MAX, 1)
                     : NULL;
    return copy ? r->seg[i] = memcpy(copy, from, bytes) : NULL;
}

/* NULL: it is void, or cannot be. */
static const uint8_t *stack_at(struct reader *r, uint32_t ref)
{
    uint32_t offset = (ref & ((1u << AXP__STACK_SEG_SHIFT) - 1)) * 8;
    const char *seg = segment(r, ref >> AXP__STACK_SEG_SHIFT);
    uint32_t n;
    if (!seg || !offset) return NULL;
    memcpy(&n, seg + offset, sizeof n);
    if (n > AXP__STACK_SEG_BYTES - offset - sizeof n || !take(r, n))
        return NULL;
    const uint8_t *at = (const uint8_t *)seg + offset + sizeof n;
    struct axp__bytes b = {at, at + n, false};
    return axp__stack_get(&b, NULL, 0) && b.at == b.end ? at : NULL;
}

/* Cells are filled one after the other. */
static uint32_t count_cells(struct reader *r)
{
    size_t bytes = AXP__STACK_CELLS * sizeof(uint32_t);
    uint32_t n = 0;
    for (uint32_t i = 0; i < AXP__STACK_PAGES; i++) {
        const uint32_t *cell = axp__spooled_at(r->m, r->table->page[i], bytes);
        if (!cell || !take(r, bytes)) return n;
        for (uint32_t k = 0; k < AXP__STACK_CELLS; k++, n++)
            if (!cell[k]) return n;
    }
    return n;
}

static void read_cells(struct reader *r, uint32_t n)
{
    size_t bytes = AXP__STACK_CELLS * sizeof(uint32_t);
    const uint32_t *cell = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (i % AXP__STACK_CELLS == 0)
            cell = axp__spooled_at(r->m, r->table->page[i / AXP__STACK_CELLS],
                                   bytes);
        if (!cell) return;
        r->out->at[i + AXP__STACK_FIRST] =
            stack_at(r, cell[i % AXP__STACK_CELLS]);
    }
}

bool axp__spooled_stacks(struct axp__spooled *m, const struct axp__stacks *s)
{
    const struct axp__stack_table *table =
        s->table ? axp__spooled_at(m, s->table, sizeof *table) : NULL;
    if (!table) return true;
    struct reader *r = calloc(1, sizeof *r);
    if (!r) return false;
    *r = (struct reader){.m = m,
                         .table = table,
                         .n_left = 2 * m->n_backed,
                         .out = &m->c->stacks[AXP__STACKS_OF_PROCESS]};
    uint32_t n = count_cells(r);
    r->out->at =
        axp__cap_take(m->c, n + (size_t)AXP__STACK_FIRST, sizeof *r->out->at);
    bool ok = r->out->at;
    if (ok) read_cells(r, n);
    if (ok && n) r->out->n = n + AXP__STACK_FIRST;
    free(r);
    return ok;
}
