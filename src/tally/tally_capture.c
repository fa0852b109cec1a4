/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The memory of a capture: blocks that are freed together. */
#include "tally/tally_capture.h"

#include "os/os_map.h"

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
