/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A file's blocks as chunks of a capture, loaded while they are read.
 *
 * Memory   56 bytes a block; of one that is loaded its words, at most 2 MiB,
 *          and while it is unpacked as much again.
 */
#include <stdlib.h>
#include <string.h>

#include "file/file_pack.h"
#include "file/file_read.h"

static void unload(struct axp__cap_words *words)
{
    free(words->memory);
}

static bool load_chunk(const struct axp__block *b, uint8_t *body,
                       struct axp__cap_words *out)
{
    uint64_t *words = (uint64_t *)(void *)body;
    for (uint32_t i = 0; i < b->n_words; i++)
        words[i] = AXP__LE64(words[i]);
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

static bool load(const struct axp__cap_source *s,
                 const struct axp__cap_chunk *at, struct axp__cap_words *out)
{
    const struct axp__file *f = (const struct axp__file *)(const void *)s;
    const struct axp__index_entry *e = &f->entry[at->place];
    axp_status status;
    uint8_t *body = axp__file_body(f, e, &status);
    if (!body) return false;
    return e->block.kind == AXP__B_PACK ? load_pack(&e->block, body, out)
                                        : load_chunk(&e->block, body, out);
}

const struct axp__index_entry *axp__file_entry_of(
    const struct axp__cap_chunk *chunk)
{
    if (chunk->words || !chunk->source || chunk->source->load != load)
        return NULL;
    const struct axp__file *f =
        (const struct axp__file *)(const void *)chunk->source;
    return &f->entry[chunk->place];
}

static void close_source(struct axp__cap_source *s)
{
    axp__file_close((struct axp__file *)(void *)s);
}

/* By row, seq, and place in the file. */
static int by_row_and_seq(const void *a, const void *b)
{
    const struct axp__index_entry *x =
        *(const struct axp__index_entry *const *)a;
    const struct axp__index_entry *y =
        *(const struct axp__index_entry *const *)b;
    if (x->block.row != y->block.row)
        return x->block.row > y->block.row ? 1 : -1;
    if (x->block.seq != y->block.seq)
        return x->block.seq > y->block.seq ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Of blocks that hold the same chunk the one that was written last: a flush
 * leaves copies of chunks that are then written on. Returns how many stay. */
static size_t keep_newest(const struct axp__index_entry **e, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_old = false;
        while (kept && !is_old && e[kept - 1]->block.row == e[i]->block.row &&
               e[i]->block.seq - e[kept - 1]->block.seq <
                   e[kept - 1]->block.n) {
            if (e[kept - 1]->at > e[i]->at)
                is_old = true;
            else
                kept--;
        }
        if (!is_old) e[kept++] = e[i];
    }
    return kept;
}

bool axp__file_as_source(struct axp__file *f, struct axp__capture *c,
                         uint32_t epoch)
{
    const struct axp__index_entry **list =
        malloc((f->n_entries + 1) * sizeof(struct axp__index_entry *));
    size_t n = 0;
    if (!list) return false;
    for (size_t i = 0; i < f->n_entries; i++)
        if (axp__block_is_timeline(&f->entry[i].block) &&
            f->entry[i].block.epoch == epoch)
            list[n++] = &f->entry[i];
    qsort(list, n, sizeof *list, by_row_and_seq);
    n = keep_newest(list, n);
    struct axp__cap_chunk *chunks =
        axp__cap_take(c, c->n_chunks + n, sizeof *chunks);
    if (chunks) {
        if (c->n_chunks)
            memcpy(chunks, c->chunks, c->n_chunks * sizeof *chunks);
        for (size_t i = 0; i < n; i++)
            chunks[c->n_chunks + i] =
                (struct axp__cap_chunk){.row = list[i]->block.row,
                                        .seq = list[i]->block.seq,
                                        .base_ticks = list[i]->block.base_ticks,
                                        .source = &f->source,
                                        .place = (uint64_t)(list[i] - f->entry),
                                        .n_words = list[i]->block.n_words,
                                        .n_events = list[i]->block.n_events};
        c->chunks = chunks;
        c->n_chunks += n;
        f->source.load = load;
        f->source.close = close_source;
        f->source.next = c->sources;
        c->sources = &f->source;
    }
    free(list);
    return chunks;
}
