/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What each name is written as, made once: escaping and looking up a name
 * costs more than all the rest of an event.
 *
 * Ownership  init with a function that writes a name's bytes; fini frees.
 * Failure    without memory a name is "" and has_failed is set.
 */
#ifndef AXP_EMIT_NAME_CACHE_H
#define AXP_EMIT_NAME_CACHE_H
#include "base/base_atomic.h"
#include "emit/emit_out.h"
#include "model/model_view.h"
#include "wire/wire_word.h"

#define AXP__BYTES_ROOM 16u

struct axp__name_bytes {
    /* NULL: not made yet. At least AXP__BYTES_ROOM may be read. */
    const char *at;
    uint32_t len;
    uint32_t number; /* the maker's own, if it sets one */
};

struct axp__name_cache;
/* Writes the bytes of a name to `to`, which keeps 64 KiB. */
typedef void (*axp__name_fn)(struct axp__name_cache *n, uint32_t id,
                             struct axp__out *to);

struct axp__name_cache {
    const axp_view *v;
    axp__name_fn make;
    void *ctx; /* the maker's */
    struct axp__name_bytes
        *by_id; /* AXP__MAX_NAMES of them, touched sparsely */
    struct axp__out *scratch;
    char **blocks; /* of text */
    size_t n_blocks, left;
    uint32_t next_number; /* for the maker to count with */
    bool has_failed;
};

/* False: no memory. */
bool axp__name_cache_init(struct axp__name_cache *n, const axp_view *v,
                          axp__name_fn make, void *ctx);
void axp__name_cache_fini(struct axp__name_cache *n);
const struct axp__name_bytes *axp__name_cache_make(struct axp__name_cache *n,
                                                   uint32_t id);

static inline const struct axp__name_bytes *axp__name_cache_get(
    struct axp__name_cache *n, uint32_t id)
{
    const struct axp__name_bytes *b = &n->by_id[id & (AXP__MAX_NAMES - 1)];
    return axp__likely(b->at != NULL) ? b : axp__name_cache_make(n, id);
}

#endif
