/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks of a timeline in any order: each chunk comes once, by row and seq,
 * and takes little memory (file_timeline.c, file_walk.c). */
#include <stdlib.h>

#include "file/file_read.h"
#include "file/file_walk.h"
#include "file_support.h"
#include "wire/wire_index.h"

#define EPOCH 7u

static int made = -1;
static uint64_t made_end;

static bool read_made(void *ctx, uint64_t at, void *bytes, size_t n)
{
    (void)ctx;
    return pread(made, bytes, n, (off_t)at) == (ssize_t)n;
}

static bool write_made(void *ctx, uint64_t at, const void *bytes, size_t n)
{
    (void)ctx;
    return pwrite(made, bytes, n, (off_t)at) == (ssize_t)n;
}

static void begin_file(void)
{
    uint8_t head[AXP__FILE_HEAD];
    made = open(fs_path("x.axp"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(made >= 0);
    axp__file_head_put(head,
                       &(struct axp__file_head){.version = AXP__FILE_VERSION});
    assert_true(write_made(NULL, 0, head, sizeof head));
    made_end = sizeof head;
}

/* A chunk of n_words words, as a drain writes it without a packer. */
static void add_chunk(uint32_t row, uint64_t seq, uint32_t n_words,
                      uint32_t epoch)
{
    struct {
        uint8_t head[AXP__BLOCK_HEAD];
        uint64_t words[8];
    } out = {.words = {0}};
    assert_true(n_words <= 8);
    for (uint32_t i = 0; i < n_words; i++)
        out.words[i] = axp__word(i % 2 ? AXP__W_END : AXP__W_BEGIN, 3, i);
    struct axp__block b = {.kind = AXP__B_CHUNK,
                           .body_bytes = n_words * 8,
                           .seq = seq,
                           .row = row,
                           .n = 1,
                           .epoch = epoch,
                           .n_words = n_words,
                           .n_events = n_words,
                           .base_ticks = seq * 1000};
    b.body_crc = axp__crc32c(0, out.words, b.body_bytes);
    axp__block_put(out.head, &b);
    assert_true(
        write_made(NULL, made_end, &out, sizeof out.head + b.body_bytes));
    made_end += axp__block_span(&b);
}

static struct axp__file *end_file(bool is_finished)
{
    struct axp__file_io io = {read_made, write_made, NULL};
    struct axp__file *f = NULL;
    if (is_finished) assert_true(axp__index_write(&io, &made_end));
    close(made);
    assert_int_equal(axp__file_open(fs_path("x.axp"), &f), AXP_OK);
    assert_int_equal(f->is_finished, is_finished);
    return f;
}

/* All blocks of the chunks, which must rise by row and seq; their words load.
 * Returns how many there are. */
static size_t look_through(const struct axp__capture *c)
{
    uint64_t row = 0, seq = 0;
    size_t n = 0;
    for (size_t i = 0; i < c->n_chunks; i++) {
        uint64_t n_events = 0;
        for (uint32_t part = 0; part <= c->chunks[i].n_more; part++, n++) {
            struct axp__index_entry e;
            struct axp__cap_words words;
            assert_true(axp__file_part(&c->chunks[i], part, &e));
            assert_true(e.block.row > row ||
                        (e.block.row == row && e.block.seq > seq));
            assert_int_equal(e.block.row, c->chunks[i].row);
            row = e.block.row;
            seq = e.block.seq;
            if (!part) assert_int_equal(seq, c->chunks[i].seq);
            assert_true(axp__words_load(&c->chunks[i], part, &words));
            assert_int_equal(words.n_words, e.block.n_words);
            assert_int_equal(words.base_ticks, seq * 1000);
            axp__words_unload(&words);
            n_events += e.block.n_events;
        }
        assert_int_equal(c->chunks[i].n_events, n_events);
    }
    return n;
}

static void list(struct axp__file *f, struct axp__capture *c)
{
    *c = (struct axp__capture){0};
    assert_true(axp__file_as_source(f, c, EPOCH));
}

/* ---- what is usual ------------------------------------------------------------- */

/* Rows in turn, and few chunks of many blocks: whether 500 or 50,000. */
static void many_blocks_are_few_chunks(void **state)
{
    (void)state;
    for (int is_finished = 0; is_finished < 2; is_finished++) {
        struct axp__capture c;
        begin_file();
        for (uint64_t i = 0; i < 30000; i++)
            add_chunk(1 + (uint32_t)(i * 7 % 3), 1 + i / 3, 4, EPOCH);
        struct axp__file *f = end_file(is_finished);
        assert_int_equal(f->n_blocks, 30000);
        assert_int_equal(f->n_entries, 0);
        list(f, &c);
        assert_int_equal(look_through(&c), 30000);
        assert_true(c.n_chunks <= 30000 / 64 + 3);
        axp__cap_free(&c);
    }
}

static void other_epochs_are_left_out(void **state)
{
    (void)state;
    struct axp__capture c;
    begin_file();
    for (uint64_t i = 0; i < 20; i++)
        add_chunk(1, 1 + i, 2, i < 10 ? EPOCH - 1 : EPOCH);
    list(end_file(true), &c);
    assert_int_equal(look_through(&c), 10);
    assert_int_equal(c.chunks[0].seq, 11);
    axp__cap_free(&c);
}

/* ---- what is not ------------------------------------------------------------------ */

/* A flush leaves a shorter copy before the whole chunk. */
static void copies_are_read_once(void **state)
{
    (void)state;
    struct axp__capture c;
    begin_file();
    for (uint64_t i = 1; i <= 50; i++)
        for (uint32_t row = 1; row <= 2; row++)
            for (uint32_t n = row == 1 ? 2 : 8; n <= 8; n += 2)
                add_chunk(row, i, n, EPOCH);
    list(end_file(true), &c);
    assert_int_equal(look_through(&c), 100);
    for (size_t i = 0; i < c.n_chunks; i++)
        assert_int_equal(c.chunks[i].n_events, 8 * (c.chunks[i].n_more + 1));
    axp__cap_free(&c);
}

static void any_order_is_put_in_order(void **state)
{
    (void)state;
    uint64_t rng = 5;
    for (int run = 0; run < 20; run++) {
        struct axp__capture c;
        bool is_there[4][64] = {{false}};
        size_t n = 0;
        begin_file();
        for (int i = 0; i < 150; i++) {
            uint64_t x = ts_random(&rng);
            uint32_t row = x & 3, seq = x >> 8 & 63;
            add_chunk(row + 1, seq + 1, 2 + (x >> 20 & 6), EPOCH);
            n += !is_there[row][seq];
            is_there[row][seq] = true;
        }
        list(end_file(run % 2), &c);
        assert_int_equal(look_through(&c), n);
        axp__cap_free(&c);
    }
}

/* Where they are compared with a spool's. */
static void beside_others_each_block_is_a_chunk(void **state)
{
    (void)state;
    struct axp__cap_chunk other = {.row = 9};
    struct axp__capture c = {.chunks = &other, .n_chunks = 1};
    begin_file();
    for (uint64_t i = 1; i <= 100; i++)
        add_chunk(1, i, 2, EPOCH);
    assert_true(axp__file_as_source(end_file(false), &c, EPOCH));
    assert_int_equal(c.n_chunks, 101);
    assert_int_equal(c.chunks[0].row, 9);
    for (size_t i = 1; i <= 100; i++) {
        assert_int_equal(c.chunks[i].seq, i);
        assert_int_equal(c.chunks[i].n_more, 0);
    }
    axp__cap_free(&c);
}

/* One damaged block is missing, and not those beside it. */
static void damage_costs_one_block(void **state)
{
    (void)state;
    struct axp__capture c;
    size_t n_loaded = 0;
    begin_file();
    for (uint64_t i = 1; i <= 40; i++)
        add_chunk(1, i, 2, EPOCH);
    uint64_t span = AXP__BLOCK_HEAD + 16;
    struct axp__file *f = end_file(true);
    int fd = open(fs_path("x.axp"), O_RDWR);
    assert_int_equal(pwrite(fd, "?", 1, (off_t)(AXP__FILE_HEAD + 5 * span + 8)),
                     1); /* a head */
    assert_int_equal(
        pwrite(fd, "?", 1,
               (off_t)(AXP__FILE_HEAD + 9 * span + AXP__BLOCK_HEAD)),
        1); /* a body */
    close(fd);
    axp__file_close(f); /* it may have read ahead */
    assert_int_equal(axp__file_open(fs_path("x.axp"), &f), AXP_OK);
    list(f, &c);
    for (size_t i = 0; i < c.n_chunks; i++)
        for (uint32_t part = 0; part <= c.chunks[i].n_more; part++) {
            struct axp__cap_words words;
            if (!axp__words_load(&c.chunks[i], part, &words)) continue;
            axp__words_unload(&words);
            n_loaded++;
        }
    assert_int_equal(n_loaded, 38);
    axp__cap_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FS_TEST(many_blocks_are_few_chunks),
        FS_TEST(other_epochs_are_left_out),
        FS_TEST(copies_are_read_once),
        FS_TEST(any_order_is_put_in_order),
        FS_TEST(beside_others_each_block_is_a_chunk),
        FS_TEST(damage_costs_one_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
