/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bytes of names; see emit_name_cache.h. */
#include "emit/emit_name_cache.h"

#include <stdlib.h>

#define BLOCK_BYTES 65536u

static const char nothing[AXP__BYTES_ROOM];

bool axp__name_cache_init(struct axp__name_cache *n, const axp_view *v,
                          axp__name_fn make, void *ctx)
{
    *n = (struct axp__name_cache){.v = v, .make = make, .ctx = ctx};
    n->by_id = calloc(AXP__MAX_NAMES, sizeof *n->by_id);
    n->scratch = malloc(sizeof *n->scratch);
    return n->by_id && n->scratch;
}

void axp__name_cache_fini(struct axp__name_cache *n)
{
    for (size_t i = 0; i < n->n_blocks; i++)
        free(n->blocks[i]);
    free(n->blocks);
    free(n->by_id);
    free(n->scratch);
}

/* Text that stays; NULL: no memory. */
static char *keep(struct axp__name_cache *n, const char *bytes,
                  size_t bytes_len)
{
    size_t len =
        bytes_len > AXP__BYTES_ROOM ? bytes_len : (size_t)AXP__BYTES_ROOM;
    if (!n->n_blocks || n->left < len) {
        size_t size = len > BLOCK_BYTES ? len : BLOCK_BYTES;
        char **wider = realloc(n->blocks, (n->n_blocks + 1) * sizeof *wider);
        if (!wider) return NULL;
        n->blocks = wider;
        n->blocks[n->n_blocks] = calloc(1, size);
        if (!n->blocks[n->n_blocks]) return NULL;
        n->n_blocks++;
        n->left = size;
    }
    /* from the back: `left` alone says where */
    n->left -= len;
    return memcpy(n->blocks[n->n_blocks - 1] + n->left, bytes, bytes_len);
}

const struct axp__name_bytes *axp__name_cache_make(struct axp__name_cache *n,
                                                   uint32_t id)
{
    struct axp__name_bytes *b = &n->by_id[id & (AXP__MAX_NAMES - 1)];
    axp__out_init(n->scratch, NULL);
    n->make(n, id, n->scratch);
    if (n->scratch->error) n->has_failed = true;
    b->at = keep(n, n->scratch->buffer, n->scratch->len);
    b->len = (uint32_t)n->scratch->len;
    if (!b->at) {
        n->has_failed = true;
        b->at = nothing;
        b->len = 0;
    }
    return b;
}
