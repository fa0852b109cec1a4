/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A file's blocks as chunks of a capture, loaded while they are read.
 *
 * Memory   of a block that is loaded its words, at most 2 MiB, and while it is
 *          unpacked as much again.
 */
#include <stdlib.h>

#include "file/file_pack.h"
#include "file/file_read.h"
#include "file/file_timeline.h"

static void unload(struct axp__cap_words *words)
{
    free(words->memory);
}

static bool load_chunk(const struct axp__block *b, uint8_t *body,
                       struct axp__cap_words *out)
{
    const uint64_t *words = (const uint64_t *)(const void *)body;
    *out =
        (struct axp__cap_words){words, b->n_words, b->base_ticks, unload, body};
    return true;
}

static bool load_pack(const struct axp__block *b, uint8_t *body,
                      struct axp__cap_words *out)
{
    struct axp__unpacked u;
    enum axp__unpack_result result = axp__file_unpack(b, body, &u);
    free(body);
    if (result) {
        axp__unpacked_fini(&u);
        return false;
    }
    *out = (struct axp__cap_words){u.words, u.n_words, u.chunk[0].base_ticks,
                                   unload, u.words};
    return true;
}

static bool load_part(const struct axp__cap_source *s,
                      const struct axp__cap_chunk *at, uint32_t part,
                      struct axp__cap_words *out)
{
    const struct axp__file *f = (const struct axp__file *)(const void *)s;
    struct axp__index_entry e;
    axp_status status;
    if (!axp__file_part(at, part, &e)) return false;
    uint8_t *body = axp__file_body(f, &e, &status);
    if (!body) return false;
    return e.block.kind == AXP__B_PACK ? load_pack(&e.block, body, out)
                                       : load_chunk(&e.block, body, out);
}

static bool load(const struct axp__cap_source *s,
                 const struct axp__cap_chunk *at, uint32_t part,
                 struct axp__cap_words *out)
{
    if (load_part(s, at, part, out)) return true;
    axp__source_failed(s);
    return false;
}

const struct axp__file *axp__file_of(const struct axp__cap_chunk *chunk)
{
    if (chunk->words || !chunk->source || chunk->source->load != load)
        return NULL;
    return (const struct axp__file *)(const void *)chunk->source;
}

bool axp__file_part(const struct axp__cap_chunk *chunk, uint32_t part,
                    struct axp__index_entry *out)
{
    const struct axp__file *f = axp__file_of(chunk);
    struct axp__index_entry e;
    if (!f || part > chunk->n_more) return false;
    e.at = axp__place_at(f->chunk_at, chunk->place + part);
    if (!axp__file_head_at(f, e.at, &e.block) ||
        !axp__block_is_timeline(&e.block) || e.block.row != chunk->row)
        return false;
    *out = e;
    return true;
}

static void close_source(struct axp__cap_source *s)
{
    axp__file_close((struct axp__file *)(void *)s);
}

bool axp__file_as_source(struct axp__file *f, struct axp__capture *c,
                         uint32_t epoch)
{
    if (!axp__file_list(f, c, epoch)) return false;
    f->source.load = load;
    f->source.close = close_source;
    f->source.next = c->sources;
    c->sources = &f->source;
    return true;
}
