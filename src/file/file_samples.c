/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SAMPLES blocks; see file_samples.h, and wire_samples.h for what is in one. */
#include "file/file_samples.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/base_atomic.h"
#include "wire/wire_samples.h"

/* ---- columns ---------------------------------------------------------------------- */

struct columns {
    struct axp__bytes at[AXP__SAMPLE_COLUMNS];
    uint8_t *memory;
};

/* The longest that a column of n samples can be. */
static uint64_t most_bytes(unsigned column, uint64_t n)
{
    return n * (column == AXP__SAMPLE_STACKS    ? 4
                : column == AXP__SAMPLE_THREADS ? 3 * AXP__VARINT_MAX
                                                : AXP__VARINT_MAX);
}

static bool open_columns(struct columns *c, struct axp__bytes body, uint64_t n)
{
    uint64_t len[AXP__SAMPLE_COLUMNS], packed[AXP__SAMPLE_COLUMNS], all = 0;
    for (unsigned i = 0; i < AXP__SAMPLE_COLUMNS; i++) {
        len[i] = axp__get_varint(&body);
        packed[i] = axp__get_varint(&body);
        if (body.is_bad || len[i] > most_bytes(i, n)) return false;
        all += len[i];
    }
    c->memory = malloc((size_t)all + 1);
    uint8_t *to = c->memory;
    for (unsigned i = 0; to && i < AXP__SAMPLE_COLUMNS; i++) {
        size_t bytes = (size_t)len[i];
        const uint8_t *from =
            axp__get_bytes(&body, packed[i] ? packed[i] : len[i]);
        if (!from) return false;
        if (!packed[i])
            memcpy(to, from, bytes);
        else if (ZSTD_decompress(to, bytes, from, (size_t)packed[i]) != bytes)
            return false;
        c->at[i] = (struct axp__bytes){to, to + bytes, false};
        to += bytes;
    }
    return to && body.at == body.end;
}

static uint32_t stack_at(const struct columns *c, uint64_t i, uint64_t n)
{
    const uint8_t *at = c->at[AXP__SAMPLE_STACKS].at;
    return at[i] | (uint32_t)at[n + i] << 8 | (uint32_t)at[2 * n + i] << 16 |
           (uint32_t)at[3 * n + i] << 24;
}

static bool read_samples(struct columns *c, const struct axp__block *head,
                         struct axp__cap_sample *out)
{
    struct axp__cap_sample s = {0};
    uint64_t left = 0, n = head->n; /* of the present thread */
    if (axp__bytes_left(&c->at[AXP__SAMPLE_STACKS]) != 4 * n) return false;
    for (uint64_t i = 0; i < n; i++, left--) {
        if (!left) {
            s.process =
                axp__get_varint(&c->at[AXP__SAMPLE_THREADS]) & UINT32_MAX;
            s.tid = axp__get_varint(&c->at[AXP__SAMPLE_THREADS]);
            left = axp__get_varint(&c->at[AXP__SAMPLE_THREADS]);
            s.ticks = head->base_ticks;
            if (!left || left > n - i) return false;
        }
        s.ticks += axp__get_varint(&c->at[AXP__SAMPLE_TIMES]);
        s.kind = (uint32_t)axp__get_varint(&c->at[AXP__SAMPLE_KINDS]);
        s.weight = axp__get_varint(&c->at[AXP__SAMPLE_WEIGHTS]);
        s.stack = stack_at(c, i, n);
        if (out) out[i] = s;
    }
    for (unsigned i = 0; i < AXP__SAMPLE_COLUMNS; i++)
        if (c->at[i].is_bad ||
            (i != AXP__SAMPLE_STACKS && c->at[i].at != c->at[i].end))
            return false;
    return true;
}

bool axp__file_samples_read(const struct axp__block *head, const uint8_t *body,
                            struct axp__cap_sample *out)
{
    struct columns c = {0};
    struct axp__bytes bytes = {body, body + head->body_bytes, false};
    bool ok = head->n && head->n <= AXP__SAMPLES_A_BLOCK &&
              open_columns(&c, bytes, head->n) && read_samples(&c, head, out);
    free(c.memory);
    return ok;
}

/* ---- a file's ------------------------------------------------------------------------ */

static uint8_t *body_of(const struct axp__cap_samples *s,
                        struct axp__index_entry *e)
{
    const struct axp__file *f =
        (const struct axp__file *)(const void *)s->source;
    axp_status status;
    e->at = s->place;
    if (!axp__file_head_at(f, e->at, &e->block) ||
        e->block.kind != AXP__B_SAMPLES || e->block.n != s->n)
        return NULL;
    return axp__file_body(f, e, &status);
}

static bool load(const struct axp__cap_samples *s, struct axp__cap_sample *out)
{
    struct axp__index_entry e;
    uint8_t *body = body_of(s, &e);
    bool ok = body && axp__file_samples_read(&e.block, body, out);
    free(body);
    if (!ok) axp__source_failed(s->source);
    return ok;
}

bool axp__file_samples(struct axp__file *f, struct axp__capture *c)
{
    uint64_t n = 0, left = f->bytes * AXP__SAMPLES_A_BYTE + AXP__SAMPLES_FREE;
    for (size_t i = 0; i < f->n_entries; i++)
        n += f->entry[i].block.kind == AXP__B_SAMPLES;
    if (!n) return true;
    c->samples = axp__cap_take(c, (size_t)n, sizeof *c->samples);
    if (!c->samples) return false;
    for (size_t i = 0; i < f->n_entries; i++) {
        const struct axp__block *b = &f->entry[i].block;
        if (b->kind != AXP__B_SAMPLES) continue;
        if (!b->n || b->n > AXP__SAMPLES_A_BLOCK || b->n > left) {
            f->n_damaged++;
            continue;
        }
        left -= b->n;
        c->samples[c->n_samples++] =
            (struct axp__cap_samples){.load = load,
                                      .source = &f->source,
                                      .place = f->entry[i].at,
                                      .n = b->n};
    }
    return true;
}

bool axp__file_samples_write(struct axp__pen *pen, const struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_samples; i++) {
        struct axp__index_entry e;
        uint8_t *body =
            c->samples[i].load == load ? body_of(&c->samples[i], &e) : NULL;
        if (!body) axp__source_failed(c->samples[i].source);
        bool ok = !body || axp__pen_block(pen, &e.block, body,
                                          (size_t)e.block.body_bytes);
        free(body);
        if (!ok) return false;
    }
    return true;
}

uint64_t axp__file_samples_count(const struct axp__capture *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_samples; i++)
        n += c->samples[i].n;
    return n;
}
