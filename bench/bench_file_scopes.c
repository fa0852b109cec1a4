/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The scopes of a timeline alone, packed again: what a scope takes where
 * allocations, counters and steps lie between scopes, as they do in a program
 * that trains. Work, sizes and categories are the scope's and stay.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_file.h"
#include "file/file_pack.h"
#include "wire/wire_decode.h"

struct repacker {
    struct axp__packer *packer;
    struct axp__chunk chunk[AXP__PACK_CHUNKS];
    size_t n;
    uint8_t out[AXP__PACK_CHUNKS * AXP__CHUNK_BYTES];
    uint64_t bytes; /* of the blocks so far */
};

static void write_out(struct repacker *r)
{
    const struct axp__chunk *list[AXP__PACK_CHUNKS];
    if (!r->n) return;
    for (size_t i = 0; i < r->n; i++)
        list[i] = &r->chunk[i];
    struct axp__block b;
    axp__block_of_pack(&b, list, r->n);
    b.body_bytes =
        axp__packer_pack(r->packer, list, r->n, r->out, sizeof r->out);
    if (!b.body_bytes) {
        fprintf(stderr, "axp_bench_file: scopes alone cannot be packed\n");
        exit(1);
    }
    r->bytes += axp__block_span(&b);
    r->n = 0;
}

static bool is_of_scope(const struct axp__wire_event *e)
{
    if (e->kind == AXP__W_EXT)
        return e->ext == AXP__X_DIMS || e->ext == AXP__X_CATEGORY;
    return (e->kind >= AXP__W_BEGIN && e->kind <= AXP__W_ABANDON) ||
           e->kind == AXP__W_WORK;
}

static void put(struct repacker *r, uint32_t row,
                const struct axp__wire_event *e)
{
    size_t n = 1 + (e->kind == AXP__W_EXT) + e->n_payload;
    struct axp__chunk *c = r->n ? &r->chunk[r->n - 1] : NULL;
    if (c && (c->row != row || c->n_words + n > AXP__CHUNK_WORDS)) {
        if (c->row != row || r->n == AXP__PACK_CHUNKS) write_out(r);
        c = NULL;
    }
    if (!c) {
        c = &r->chunk[r->n++];
        *c = (struct axp__chunk){
            .seq = r->n, .row = row, .epoch = 1, .base_ticks = e->ticks};
    }
    uint64_t *at = c->words + c->n_words;
    *at++ = axp__word(e->kind, e->name, e->ticks - c->base_ticks);
    if (e->kind == AXP__W_EXT)
        *at++ = axp__ext_word(e->ext, (uint32_t)e->n_payload + 1, e->argument);
    if (e->n_payload) memcpy(at, e->payload, e->n_payload * 8);
    c->n_words += n;
    c->n_events += axp__word_events(e->kind, e->ext);
}

uint64_t bench_scopes_bytes(const struct axp__capture *c)
{
    struct repacker *r = calloc(1, sizeof *r);
    if (!r || !(r->packer = axp__packer_create())) exit(1);
    for (size_t i = 0; i < c->n_chunks; i++)
        for (uint32_t part = 0; part <= c->chunks[i].n_more; part++) {
            struct axp__cap_words w;
            struct axp__decoder d;
            struct axp__wire_event e = {0};
            if (!axp__words_load(&c->chunks[i], part, &w)) exit(1);
            axp__decoder_init(&d, w.words, w.n_words, w.base_ticks);
            while (axp__decoder_next(&d, &e))
                if (is_of_scope(&e)) put(r, (uint32_t)c->chunks[i].row, &e);
            axp__words_unload(&w);
        }
    write_out(r);
    uint64_t bytes = r->bytes;
    axp__packer_destroy(r->packer);
    free(r);
    return bytes;
}
