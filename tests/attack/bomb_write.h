/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trace files that no recorder wrote: any words, any blocks.
 *
 *   struct bomb b;
 *   bomb_init(&b);
 *   bomb_word(&b, AXP__W_BEGIN, 5);      words of a row …
 *   bomb_row_end(&b, row, true);         … become its chunks, packed or raw
 *   bomb_write(&b, path);                a file without index and statistics
 *
 * Place  tests that look for files which cost more than their length explains.
 */
#ifndef BOMB_WRITE_H
#define BOMB_WRITE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/file_pack.h"
#include "wire/wire_block.h"
#include "wire/wire_body.h"

struct bomb {
    uint8_t *bytes; /* of the file */
    size_t n, cap;
    struct axp__chunk *chunk; /* of the row that is being made */
    size_t n_chunks, cap_chunks;
    uint64_t now, seq;
};

static inline void bomb_bytes(struct bomb *b, const void *from, size_t n)
{
    if (b->n + n + 8 > b->cap) {
        b->cap = 2 * b->cap + n + 4096;
        b->bytes = realloc(b->bytes, b->cap);
        if (!b->bytes) abort();
    }
    if (n) memcpy(b->bytes + b->n, from, n);
    b->n += n;
}

/* A recording begins. */
static inline void bomb_head(struct bomb *b, uint64_t process_id)
{
    struct axp__file_head head = {
        .version = AXP__FILE_VERSION,
        .process_id = process_id,
        .rank = -1,
        .start_ticks = 1000,
        .clock = {1000, 1000, 1700000000000000000u},
        .clock_source = 1,
    };
    uint8_t out[AXP__FILE_HEAD];
    axp__file_head_put(out, &head);
    bomb_bytes(b, out, sizeof out);
    b->now = 2000;
}

static inline void bomb_init(struct bomb *b)
{
    memset(b, 0, sizeof *b);
    bomb_head(b, 1);
}

static inline void bomb_block(struct bomb *b, struct axp__block block,
                              const void *body, size_t n)
{
    uint8_t head[AXP__BLOCK_HEAD];
    static const uint8_t zeros[8];
    struct iovec piece = {(void *)(uintptr_t)body, n};
    axp__block_seal(head, &block, &piece, 1);
    bomb_bytes(b, head, sizeof head);
    bomb_bytes(b, body, n);
    bomb_bytes(b, zeros, (8 - n % 8) % 8);
}

/* ---- words -------------------------------------------------------------------- */

/* A chunk with room for a record of n words. */
static inline struct axp__chunk *bomb_room(struct bomb *b, size_t n)
{
    struct axp__chunk *c = b->n_chunks ? &b->chunk[b->n_chunks - 1] : NULL;
    if (c && c->n_words + n <= AXP__CHUNK_WORDS) return c;
    if (b->n_chunks == b->cap_chunks) {
        b->cap_chunks = b->cap_chunks ? 2 * b->cap_chunks : 4;
        b->chunk = realloc(b->chunk, b->cap_chunks * sizeof *b->chunk);
        if (!b->chunk) abort();
    }
    c = &b->chunk[b->n_chunks++];
    memset(c, 0, sizeof *c);
    c->seq = ++b->seq;
    c->base_ticks = b->now;
    return c;
}

static inline void bomb_record(struct bomb *b, enum axp__word_kind kind,
                               uint32_t name, const uint64_t *payload, size_t n)
{
    struct axp__chunk *c = bomb_room(b, 1 + n);
    c->words[c->n_words++] = axp__word(kind, name, b->now - c->base_ticks);
    for (size_t i = 0; i < n; i++)
        c->words[c->n_words++] = payload[i];
    c->n_events += axp__word_events(
        kind, kind == AXP__W_EXT ? (enum axp__ext_kind)(payload[0] & 255) : 0);
    b->now++;
}

static inline void bomb_word(struct bomb *b, enum axp__word_kind kind,
                             uint32_t name)
{
    bomb_record(b, kind, name, NULL, 0);
}

/* An EXT with up to five words after its first. */
static inline void bomb_ext(struct bomb *b, enum axp__ext_kind ext,
                            uint32_t name, const uint64_t *words, uint32_t n)
{
    uint64_t payload[8] = {axp__ext_word(ext, n + 1, 0)};
    for (uint32_t i = 0; i < n; i++)
        payload[i + 1] = words[i];
    bomb_record(b, AXP__W_EXT, name, payload, n + 1);
}

static inline void bomb_raw(struct bomb *b, uint32_t row, size_t from,
                            size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct axp__block block;
        struct axp__chunk *c = &b->chunk[i];
        c->row = row;
        axp__block_of_chunk(&block, c, c->n_words, c->n_events);
        bomb_block(b, block, c->words, c->n_words * 8);
    }
}

static inline void bomb_pack(struct bomb *b, uint32_t row)
{
    static uint8_t out[8u << 20];
    struct axp__packer *p = axp__packer_create();
    if (!p) abort();
    for (size_t i = 0; i < b->n_chunks;) {
        const struct axp__chunk *list[AXP__PACK_CHUNKS];
        struct axp__block block;
        size_t n = 0;
        for (; n < AXP__PACK_CHUNKS && i < b->n_chunks; i++) {
            b->chunk[i].row = row;
            list[n++] = &b->chunk[i];
        }
        size_t len = axp__packer_pack(p, list, n, out, sizeof out);
        if (len) {
            axp__block_of_pack(&block, list, n);
            bomb_block(b, block, out, len);
        } else { /* it does not pay: as a recorder does */
            bomb_raw(b, row, i - n, i);
        }
    }
    axp__packer_destroy(p);
}

static inline void bomb_row_end(struct bomb *b, uint32_t row, bool is_packed)
{
    if (is_packed)
        bomb_pack(b, row);
    else
        bomb_raw(b, row, 0, b->n_chunks);
    b->n_chunks = 0;
    b->seq = 0;
}

/* ---- small blocks -------------------------------------------------------------- */

static inline void bomb_name(struct bomb *b, uint32_t id, const char *text,
                             const char *file)
{
    uint8_t body[16384];
    struct axp__name_record name = {
        .text = {text, strlen(text)},
        .file = {file, file ? strlen(file) : 0},
    };
    size_t n = axp__name_put(body, sizeof body, &name);
    bomb_block(b, (struct axp__block){.kind = AXP__B_NAMES, .seq = id, .n = 1},
               body, n);
}

static inline size_t bomb_write(struct bomb *b, const char *path)
{
    FILE *f = fopen(path, "wb");
    size_t n = b->n;
    if (!f || fwrite(b->bytes, 1, b->n, f) != b->n || fclose(f)) abort();
    free(b->bytes);
    free(b->chunk);
    memset(b, 0, sizeof *b);
    return n;
}

#endif
