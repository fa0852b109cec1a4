/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The index: heads read once more, and written as varints; wire_index.h.
 *
 *   entry = distance from the block before (in 8 bytes, from head to head),
 *           kind, flags, body bytes, seq (zigzag, less the block's before),
 *           row, n, epoch, n_words, n_events,
 *           base ticks (zigzag, less the block's before), checksum of the body
 *
 * some 25 bytes a block.
 */
#include "wire/wire_index.h"

#include <assert.h>

#define BUFFER 8192u

static uint8_t *put_entry(uint8_t *at, const struct axp__index_entry *e,
                          const struct axp__index_entry *last)
{
    const struct axp__block *b = &e->block;
    assert(e->at > last->at && e->at % 8 == 0);
    at = axp__put_varint(at, (e->at - last->at) / 8);
    at = axp__put_varint(at, b->kind);
    at = axp__put_varint(at, b->flags);
    at = axp__put_varint(at, b->body_bytes);
    at = axp__put_varint(at, axp__zigzag(b->seq - last->block.seq));
    at = axp__put_varint(at, b->row);
    at = axp__put_varint(at, b->n);
    at = axp__put_varint(at, b->epoch);
    at = axp__put_varint(at, b->n_words);
    at = axp__put_varint(at, b->n_events);
    at = axp__put_varint(at,
                         axp__zigzag(b->base_ticks - last->block.base_ticks));
    return axp__put_varint(at, b->body_crc);
}

bool axp__index_get(struct axp__bytes *b, struct axp__index_entry *last)
{
    struct axp__index_entry e = {0};
    if (b->at == b->end) return false;
    uint64_t step = axp__get_varint(b);
    e.at = last->at + step * 8;
    e.block.kind = (enum axp__block_kind)(axp__get_varint(b) & 0xffff);
    e.block.flags = axp__get_varint(b) & 0xffff;
    e.block.body_bytes = axp__get_varint(b);
    e.block.seq = last->block.seq + axp__unzigzag(axp__get_varint(b));
    e.block.row = (uint32_t)axp__get_varint(b);
    e.block.n = (uint32_t)axp__get_varint(b);
    e.block.epoch = (uint32_t)axp__get_varint(b);
    e.block.n_words = (uint32_t)axp__get_varint(b);
    e.block.n_events = axp__get_varint(b);
    e.block.base_ticks =
        last->block.base_ticks + axp__unzigzag(axp__get_varint(b));
    e.block.body_crc = (uint32_t)axp__get_varint(b);
    if (step > UINT64_MAX / 16 || e.at < last->at) b->is_bad = true;
    *last = e;
    return !b->is_bad;
}

/* ---- writing ------------------------------------------------------------------- */

struct writer {
    const struct axp__file_io *io;
    uint64_t at; /* where the buffer goes */
    uint32_t crc;
    uint32_t n_entries;
    size_t len;
    uint8_t buffer[BUFFER];
};

static bool flush(struct writer *w)
{
    bool ok = w->io->write(w->io->ctx, w->at, w->buffer, w->len);
    w->crc = axp__crc32c(w->crc, w->buffer, w->len);
    w->at += w->len;
    w->len = 0;
    return ok;
}

/* Every block from the first to `end`. */
static bool write_entries(struct writer *w, uint64_t end)
{
    struct axp__index_entry last = {0};
    uint64_t at = AXP__FILE_HEAD;
    while (at < end) {
        struct axp__index_entry e = {.at = at};
        uint8_t head[AXP__BLOCK_HEAD];
        if (end - at < sizeof head ||
            !w->io->read(w->io->ctx, at, head, sizeof head) ||
            axp__block_get(head, &e.block))
            return false;
        at += axp__block_span(&e.block);
        if (BUFFER - w->len < AXP__INDEX_ENTRY_MAX && !flush(w)) return false;
        w->len = (size_t)(put_entry(w->buffer + w->len, &e, &last) - w->buffer);
        w->n_entries++;
        last = e;
    }
    return at == end && flush(w);
}

bool axp__index_write(const struct axp__file_io *io, uint64_t *end)
{
    uint64_t index_at = *end;
    struct writer w = {.io = io, .at = index_at + AXP__BLOCK_HEAD};
    uint8_t head[AXP__BLOCK_HEAD], tail[8 + AXP__FILE_TAIL] = {0};
    if (!write_entries(&w, index_at)) return false;

    struct axp__block index = {.kind = AXP__B_INDEX,
                               .n = w.n_entries,
                               .body_bytes = w.at - index_at - sizeof head,
                               .body_crc = w.crc};
    uint64_t tail_at = index_at + axp__block_span(&index);
    uint64_t pad = tail_at - w.at;
    assert(pad < 8);
    axp__file_tail_put(tail + pad, &(struct axp__file_tail){
                                       index_at, tail_at + AXP__FILE_TAIL});
    axp__block_put(head, &index);
    if (!io->write(io->ctx, w.at, tail, pad + AXP__FILE_TAIL) ||
        !io->write(io->ctx, index_at, head, sizeof head))
        return false;
    *end = tail_at + AXP__FILE_TAIL;
    return true;
}
