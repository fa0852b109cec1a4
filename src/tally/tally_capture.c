/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The memory of a capture: blocks that are freed together; and what a lane's
 * nodes have left to be counted. */
#include "tally/tally_capture.h"

#include <string.h>

#include "os/os_map.h"
#include "tally/tally_scope.h"

#define BLOCK_BYTES ((size_t)1 << 20)
#define LINE 64u

struct axp__cap_block {
    struct axp__cap_block *next;
    size_t bytes, used;
};

void *axp__cap_take(struct axp__capture *c, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX >> 1) / size) return NULL;
    size_t bytes = (count * size + LINE - 1) & ~(size_t)(LINE - 1);
    struct axp__cap_block *b = c->memory;
    if (!b || b->bytes - b->used < bytes) {
        size_t block = LINE + bytes > BLOCK_BYTES
                           ? (LINE + bytes + 4095) & ~(size_t)4095
                           : BLOCK_BYTES;
        b = axp__map(block);
        if (!b) return NULL;
        b->bytes = block;
        b->used = (sizeof *b + LINE - 1) & ~(size_t)(LINE - 1);
        b->next = c->memory;
        c->memory = b;
    }
    void *at = (char *)b + b->used;
    b->used += bytes;
    return at;
}

void axp__cap_free(struct axp__capture *c)
{
    struct axp__cap_block *b = c ? c->memory : NULL;
    struct axp__cap_source *s = c ? c->sources : NULL;
    while (s) {
        struct axp__cap_source *next = s->next;
        s->close(s);
        s = next;
    }
    while (b) { /* c itself may lie in the last one */
        struct axp__cap_block *next = b->next;
        axp__unmap(b, b->bytes);
        b = next;
    }
}

static void declare(struct axp__cap_node *n, uint64_t calls, uint64_t ticks)
{
    if (n->declares & AXP__F_FLOPS) {
        n->n_flops_calls += calls;
        n->flops_ticks += ticks;
    }
    if (n->declares & AXP__F_BYTES) {
        n->n_bytes_calls += calls;
        n->bytes_ticks += ticks;
    }
}

void axp__cap_declare(struct axp__cap_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_nodes; i++)
        declare(&lane->nodes[i], lane->nodes[i].calls,
                lane->nodes[i].total_ticks);
    for (uint32_t i = 0; i < lane->n_frames; i++) {
        struct axp__cap_frame *f = &lane->frames[i];
        if (f->node < 0 || (uint32_t)f->node >= lane->n_nodes) continue;
        f->flags |= lane->nodes[f->node].declares;
        declare(&lane->nodes[f->node], 1, 0); /* its time is the view's */
    }
}

uint64_t axp__cap_damage(const struct axp__capture *c)
{
    static const char *const codes[] = {AXP__CODE_CUT, AXP__CODE_DAMAGED,
                                        AXP__CODE_MISSING, AXP__CODE_NO_END};
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_warnings; i++)
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
            if (!strcmp(c->warnings[i].code, codes[k]))
                n += c->warnings[i].count > 0;
    for (const struct axp__cap_source *s = c->sources; s; s = s->next)
        n += axp__get(&s->n_failed);
    return n;
}
