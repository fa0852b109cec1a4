/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heads as bytes and back; see wire_block.h for what they mean.
 *
 * The offsets below are the format. Each head ends with its own checksum.
 */
#include "wire/wire_block.h"

#include <assert.h>

#include "base/base_bytes.h"

/* The file's first bytes: a byte above 127, both line ends and an end of file
 * of other days, so that whatever treats the file as text shows. */
static const uint8_t file_magic[8] = {0x89, 'A',  'X',  'P',
                                      '\r', '\n', 0x1a, '\n'};
static const uint8_t tail_magic[8] = {'A', 'X', 'P', ' ', 'e', 'n', 'd', '\n'};
#define BLOCK_MAGIC 0x42505841u /* "AXPB" */

static void put_crc(uint8_t *head, size_t bytes)
{
    axp__put_u32(head + bytes - 4, axp__crc32c(0, head, bytes - 4));
}

static bool has_crc(const uint8_t *head, size_t bytes)
{
    return axp__get_u32(head + bytes - 4) == axp__crc32c(0, head, bytes - 4);
}

/* ---- the file's header ------------------------------------------------------- */

void axp__file_head_put(uint8_t out[AXP__FILE_HEAD],
                        const struct axp__file_head *head)
{
    memset(out, 0, AXP__FILE_HEAD);
    memcpy(out, file_magic, 8);
    axp__put_u32(out + 8, head->version);
    axp__put_u32(out + 12, AXP__FILE_HEAD);
    memcpy(out + 16, head->run_id, 16);
    memcpy(out + 32, head->boot_id, 16);
    axp__put_u64(out + 48, head->process_id);
    axp__put_u32(out + 56, head->incarnation);
    axp__put_u32(out + 60, (uint32_t)head->rank);
    axp__put_u64(out + 64, head->start_ticks);
    axp__put_u64(out + 72, head->clock.ticks);
    axp__put_u64(out + 80, head->clock.monotonic_ns);
    axp__put_u64(out + 88, head->clock.realtime_ns);
    axp__put_u32(out + 96, head->clock_source);
    axp__put_u32(out + 100, head->n_after);
    put_crc(out, AXP__FILE_HEAD);
}

/* The version comes before the checksum: a newer one may place it elsewhere. */
enum axp__block_error axp__file_head_get(const uint8_t in[AXP__FILE_HEAD],
                                         struct axp__file_head *out)
{
    *out = (struct axp__file_head){.version = axp__get_u32(in + 8)};
    if (memcmp(in, file_magic, 8) != 0) return AXP__BLOCK_NOT_ONE;
    if (out->version > AXP__FILE_VERSION) return AXP__BLOCK_NEWER;
    if (!has_crc(in, AXP__FILE_HEAD)) return AXP__BLOCK_CHECKSUM;
    if (out->version == 0 || axp__get_u32(in + 12) != AXP__FILE_HEAD)
        return AXP__BLOCK_IMPOSSIBLE;
    memcpy(out->run_id, in + 16, 16);
    memcpy(out->boot_id, in + 32, 16);
    out->process_id = axp__get_u64(in + 48);
    out->incarnation = axp__get_u32(in + 56);
    out->rank = (int32_t)axp__get_u32(in + 60);
    out->start_ticks = axp__get_u64(in + 64);
    out->clock.ticks = axp__get_u64(in + 72);
    out->clock.monotonic_ns = axp__get_u64(in + 80);
    out->clock.realtime_ns = axp__get_u64(in + 88);
    out->clock_source = axp__get_u32(in + 96);
    out->n_after = axp__get_u32(in + 100);
    return AXP__BLOCK_OK;
}

/* ---- the trailer --------------------------------------------------------------- */

void axp__file_tail_put(uint8_t out[AXP__FILE_TAIL],
                        const struct axp__file_tail *tail)
{
    memset(out, 0, AXP__FILE_TAIL);
    memcpy(out, tail_magic, 8);
    axp__put_u64(out + 8, tail->index_at);
    axp__put_u64(out + 16, tail->file_bytes);
    put_crc(out, AXP__FILE_TAIL);
}

enum axp__block_error axp__file_tail_get(const uint8_t in[AXP__FILE_TAIL],
                                         struct axp__file_tail *out)
{
    *out = (struct axp__file_tail){axp__get_u64(in + 8), axp__get_u64(in + 16)};
    if (memcmp(in, tail_magic, 8) != 0) return AXP__BLOCK_NOT_ONE;
    if (!has_crc(in, AXP__FILE_TAIL)) return AXP__BLOCK_CHECKSUM;
    if (out->file_bytes % 8 || out->index_at % 8 ||
        out->index_at < AXP__FILE_HEAD || out->index_at > out->file_bytes ||
        out->file_bytes - out->index_at < AXP__BLOCK_HEAD + AXP__FILE_TAIL)
        return AXP__BLOCK_IMPOSSIBLE;
    return AXP__BLOCK_OK;
}

/* ---- blocks ---------------------------------------------------------------------- */

void axp__block_put(uint8_t out[AXP__BLOCK_HEAD], const struct axp__block *b)
{
    axp__put_u32(out, BLOCK_MAGIC);
    axp__put_u16(out + 4, (uint16_t)b->kind);
    axp__put_u16(out + 6, (uint16_t)b->flags);
    axp__put_u64(out + 8, b->body_bytes);
    axp__put_u64(out + 16, b->seq);
    axp__put_u32(out + 24, b->row);
    axp__put_u32(out + 28, b->n);
    axp__put_u32(out + 32, b->epoch);
    axp__put_u32(out + 36, b->n_words);
    axp__put_u64(out + 40, b->n_events);
    axp__put_u64(out + 48, b->base_ticks);
    axp__put_u32(out + 56, b->body_crc);
    put_crc(out, AXP__BLOCK_HEAD);
}

void axp__block_seal(uint8_t out[AXP__BLOCK_HEAD], struct axp__block *block,
                     const struct iovec *body, int n_pieces)
{
    block->body_bytes = 0;
    block->body_crc = 0;
    for (int i = 0; i < n_pieces; i++) {
        block->body_bytes += body[i].iov_len;
        block->body_crc =
            axp__crc32c(block->body_crc, body[i].iov_base, body[i].iov_len);
    }
    axp__block_put(out, block);
}

void axp__block_of_chunk(struct axp__block *out, const struct axp__chunk *chunk,
                         uint64_t n_words, uint64_t n_events)
{
    *out = (struct axp__block){
        .kind = AXP__B_CHUNK,
        .body_bytes = n_words * 8,
        .seq = chunk->seq,
        .row = chunk->row,
        .n = 1,
        .epoch = chunk->epoch,
        .n_words = (uint32_t)n_words,
        .n_events = n_events,
        .base_ticks = chunk->base_ticks,
    };
}

void axp__block_of_pack(struct axp__block *out,
                        const struct axp__chunk *const *chunks, size_t n)
{
    axp__block_of_chunk(out, chunks[0], 0, 0);
    out->kind = AXP__B_PACK;
    out->n = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        assert(chunks[i]->row == out->row && chunks[i]->seq == out->seq + i);
        out->n_words += (uint32_t)chunks[i]->n_words;
        out->n_events += chunks[i]->n_events;
    }
}

/* Whether the counts of a timeline's block can be: what a reader allocates
 * for them is in proportion to what the body holds. A packed word takes no
 * space at all where it says the same as the one before, so the bound there
 * is that of the chunks. */
static bool is_possible(const struct axp__block *b)
{
    if (b->body_bytes > AXP__BODY_MAX) return false;
    if (b->kind == AXP__B_CHUNK)
        return b->n == 1 && b->n_words <= AXP__CHUNK_WORDS &&
               b->body_bytes == (uint64_t)b->n_words * 8 &&
               b->n_events <= (uint64_t)b->n_words;
    if (b->kind == AXP__B_PACK)
        return b->n >= 1 && b->n <= AXP__PACK_CHUNKS &&
               b->n_words <= b->n * AXP__CHUNK_WORDS &&
               b->n_events <= (uint64_t)b->n_words;
    return true;
}

enum axp__block_error axp__block_get(const uint8_t in[AXP__BLOCK_HEAD],
                                     struct axp__block *out)
{
    *out = (struct axp__block){0};
    if (axp__get_u32(in) != BLOCK_MAGIC) return AXP__BLOCK_NOT_ONE;
    if (!has_crc(in, AXP__BLOCK_HEAD)) return AXP__BLOCK_CHECKSUM;
    *out = (struct axp__block){
        .kind = (enum axp__block_kind)axp__get_u16(in + 4),
        .flags = axp__get_u16(in + 6),
        .body_bytes = axp__get_u64(in + 8),
        .seq = axp__get_u64(in + 16),
        .row = axp__get_u32(in + 24),
        .n = axp__get_u32(in + 28),
        .epoch = axp__get_u32(in + 32),
        .n_words = axp__get_u32(in + 36),
        .n_events = axp__get_u64(in + 40),
        .base_ticks = axp__get_u64(in + 48),
        .body_crc = axp__get_u32(in + 56),
    };
    return is_possible(out) ? AXP__BLOCK_OK : AXP__BLOCK_IMPOSSIBLE;
}

const char *axp__block_kind_name(enum axp__block_kind kind)
{
    static const char *const names[AXP__B_N_KINDS] = {
        [AXP__B_NONE] = "none",       [AXP__B_ABOUT] = "about",
        [AXP__B_NAMES] = "names",     [AXP__B_ROWS] = "rows",
        [AXP__B_CHUNK] = "chunk",     [AXP__B_PACK] = "pack",
        [AXP__B_STATE] = "state",     [AXP__B_STACKS] = "stacks",
        [AXP__B_SAMPLES] = "samples", [AXP__B_INDEX] = "index",
        [AXP__B_STATES] = "states",
    };
    return kind < AXP__B_N_KINDS && names[kind] ? names[kind] : "unknown";
}
