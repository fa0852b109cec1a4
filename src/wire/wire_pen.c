/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks into a file; see wire_pen.h. */
#include "wire/wire_pen.h"

#include <assert.h>
#include <errno.h>

#include "os/os_file.h"
#include "wire/wire_index.h"

static const char zeros[8];

/* ---- bytes ------------------------------------------------------------------------ */

bool axp__pen_write(struct axp__pen *pen, uint64_t at, const void *bytes,
                    size_t n)
{
    const char *from = bytes;
    at += pen->base;
    while (n && !pen->error) {
        ssize_t k = axp__fd_write_at(pen->fd, from, n, (off_t)at);
        if (k < 0 && errno != EINTR) pen->error = errno;
        if (k == 0) pen->error = EIO;
        if (k <= 0) continue;
        from += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return !pen->error;
}

bool axp__pen_read(struct axp__pen *pen, uint64_t at, void *bytes, size_t n)
{
    char *to = bytes;
    at += pen->base;
    while (n) {
        ssize_t k = axp__fd_read_at(pen->fd, to, n, (off_t)at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        to += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return true;
}

bool axp__pen_head(struct axp__pen *pen, const struct axp__file_head *head)
{
    uint8_t bytes[AXP__FILE_HEAD];
    axp__file_head_put(bytes, head);
    return axp__pen_write(pen, 0, bytes, sizeof bytes);
}

/* So much is written; or none of it is there. */
static bool settle(struct axp__pen *pen, uint64_t bytes, bool is_written)
{
    if (is_written)
        pen->end += bytes;
    else if (pen->fd >= 0)
        (void)!ftruncate(pen->fd, (off_t)(pen->base + pen->end));
    return is_written;
}

/* The body first and its head last would be safer against a torn page; but
 * the checksums tell, and a kill leaves whole writes. */
bool axp__pen_block(struct axp__pen *pen, struct axp__block *b,
                    const void *body, size_t n)
{
    uint8_t head[AXP__BLOCK_HEAD];
    struct iovec piece = {(void *)(uintptr_t)body, n};
    assert(pen->end % 8 == 0);
    axp__block_seal(head, b, &piece, 1);
    uint64_t at = pen->end, span = axp__block_span(b);
    return settle(pen, span,
                  axp__pen_write(pen, at, head, sizeof head) &&
                      axp__pen_write(pen, at + sizeof head, body, n) &&
                      axp__pen_write(pen, at + sizeof head + n, zeros,
                                     (size_t)(span - sizeof head - n)));
}

/* ---- about, names, rows --------------------------------------------------------------- */

void axp__pen_gather(struct axp__pen *pen, enum axp__block_kind kind,
                     uint32_t first)
{
    pen->block = (struct axp__block){.kind = kind, .seq = first};
    pen->used = 0;
}

/* Records of these kinds are known by their place. */
static bool is_numbered(enum axp__block_kind kind)
{
    return kind == AXP__B_NAMES || kind == AXP__B_STACKS;
}

bool axp__pen_flush(struct axp__pen *pen)
{
    struct axp__block *b = &pen->block;
    bool ok = !pen->used || axp__pen_block(pen, b, pen->body, pen->used);
    axp__pen_gather(pen, b->kind,
                    is_numbered(b->kind) ? (uint32_t)b->seq + b->n : 0);
    return ok;
}

/* So many bytes of the body are one more record; 0: it did not fit. */
static bool is_put(struct axp__pen *pen, size_t bytes)
{
    pen->used += bytes;
    pen->block.n += bytes != 0;
    assert(pen->used <= AXP__PEN_BODY);
    return bytes;
}

static uint8_t *room(struct axp__pen *pen, size_t *cap)
{
    *cap = AXP__PEN_BODY - pen->used;
    return pen->body + pen->used;
}

bool axp__pen_about(struct axp__pen *pen, const char *key,
                    struct axp__slice value)
{
    size_t cap;
    uint8_t *at = room(pen, &cap);
    assert(pen->block.kind == AXP__B_ABOUT);
    if (is_put(pen, axp__about_put(at, cap, key, value))) return true;
    return axp__pen_flush(pen) &&
           is_put(pen, axp__about_put(pen->body, AXP__PEN_BODY, key, value));
}

bool axp__pen_name(struct axp__pen *pen, const struct axp__name_record *name)
{
    size_t cap;
    uint8_t *at = room(pen, &cap);
    assert(pen->block.kind == AXP__B_NAMES);
    if (is_put(pen, axp__name_put(at, cap, name))) return true;
    return axp__pen_flush(pen) &&
           is_put(pen, axp__name_put(pen->body, AXP__PEN_BODY, name));
}

bool axp__pen_row(struct axp__pen *pen, const struct axp__row_record *row)
{
    size_t cap;
    uint8_t *at = room(pen, &cap);
    assert(pen->block.kind == AXP__B_ROWS);
    if (is_put(pen, axp__row_put(at, cap, row))) return true;
    return axp__pen_flush(pen) &&
           is_put(pen, axp__row_put(pen->body, AXP__PEN_BODY, row));
}

bool axp__pen_records(struct axp__pen *pen, uint32_t n, const void *bytes,
                      size_t len)
{
    assert(len <= AXP__PEN_BODY);
    if (AXP__PEN_BODY - pen->used < len && !axp__pen_flush(pen)) return false;
    memcpy(pen->body + pen->used, bytes, len);
    pen->used += len;
    pen->block.n += n;
    return true;
}

/* ---- the timeline ------------------------------------------------------------------------- */

/* The block of one chunk, in the body from `used` on; its length. */
static size_t put_raw(const struct axp__pen *pen, size_t used,
                      const struct axp__chunk *chunk)
{
    struct axp__block b;
    size_t n = chunk->n_words * 8;
    struct iovec words = {(void *)(uintptr_t)chunk->words, n};
    assert(n <= AXP__CHUNK_WORDS * 8 &&
           used + AXP__BLOCK_HEAD + n <= AXP__PEN_BODY);
    axp__block_of_chunk(&b, chunk, chunk->n_words, chunk->n_events);
    axp__block_seal(pen->body + used, &b, &words, 1);
    memcpy(pen->body + used + AXP__BLOCK_HEAD, chunk->words, n);
    return AXP__BLOCK_HEAD + n;
}

_Static_assert(AXP__BLOCK_HEAD + AXP__CHUNK_WORDS * 8 <= AXP__CHUNK_BYTES,
               "a chunk's block");

/* All at once: of threads that lived for an event or two there are thousands. */
static bool put_all_raw(struct axp__pen *pen,
                        const struct axp__chunk *const *chunks, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        used += put_raw(pen, used, chunks[i]);
    return settle(pen, used, axp__pen_write(pen, pen->end, pen->body, used));
}

size_t axp__pen_chunks(struct axp__pen *pen,
                       const struct axp__chunk *const *chunks, size_t n,
                       size_t packed)
{
    struct axp__block b;
    assert(n && n <= AXP__PACK_CHUNKS && packed <= AXP__PEN_BODY);
    if (!packed) return put_all_raw(pen, chunks, n) ? n : 0;
    axp__block_of_pack(&b, chunks, n);
    return axp__pen_block(pen, &b, pen->body, packed) ? n : 0;
}

/* ---- accumulators, index ------------------------------------------------------------------ */

void axp__pen_long_begin(struct axp__pen *pen)
{
    pen->long_bytes = 0;
    pen->long_crc = 0;
}

bool axp__pen_long_more(void *ctx, const void *bytes, size_t n)
{
    struct axp__pen *pen = ctx;
    uint64_t at = pen->end + AXP__BLOCK_HEAD + pen->long_bytes;
    pen->long_crc = axp__crc32c(pen->long_crc, bytes, n);
    pen->long_bytes += n;
    return axp__pen_write(pen, at, bytes, n);
}

bool axp__pen_long_end(struct axp__pen *pen, struct axp__block *b)
{
    uint8_t head[AXP__BLOCK_HEAD];
    uint64_t at = pen->end + sizeof head + pen->long_bytes;
    b->body_bytes = pen->long_bytes;
    b->body_crc = pen->long_crc;
    uint64_t next = pen->end + axp__block_span(b);
    axp__block_put(head, b);
    if (!axp__pen_write(pen, at, zeros, (size_t)(next - at)) ||
        !axp__pen_write(pen, pen->end, head, sizeof head))
        return false;
    pen->end = next;
    return true;
}

static bool read_back(void *ctx, uint64_t at, void *bytes, size_t n)
{
    return axp__pen_read(ctx, at, bytes, n);
}

static bool write_index(void *ctx, uint64_t at, const void *bytes, size_t n)
{
    return axp__pen_write(ctx, at, bytes, n);
}

bool axp__pen_finish(struct axp__pen *pen)
{
    struct axp__file_io io = {read_back, write_index, pen};
    if (!axp__index_write(&io, &pen->end) && !pen->error) pen->error = EIO;
    return !pen->error;
}
