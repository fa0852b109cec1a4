/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The writer of trace files: more records than one block holds, a recording
 * that begins anywhere in its file, and a disk that is full at any byte. */
#include "test_support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wire/wire_index.h"
#include "wire/wire_pen.h"

static const struct axp__file_head some_head = {.version = AXP__FILE_VERSION,
                                                .process_id = 7};

static void open_pen(struct axp__pen *pen, uint64_t base)
{
    *pen = (struct axp__pen){
        .fd = memfd_create("pen", MFD_CLOEXEC | MFD_ALLOW_SEALING),
        .base = base,
        .body = malloc(AXP__PEN_BODY),
        .end = AXP__FILE_HEAD};
    assert_true(pen->fd >= 0 && pen->body);
    assert_true(axp__pen_head(pen, &some_head));
}

static void close_pen(struct axp__pen *pen)
{
    close(pen->fd);
    free(pen->body);
}

/* The block there, whose body is read into the pen's and checked. */
static struct axp__block block_at(struct axp__pen *pen, uint64_t at)
{
    uint8_t head[AXP__BLOCK_HEAD];
    struct axp__block b;
    assert_true(axp__pen_read(pen, at, head, sizeof head));
    assert_int_equal(axp__block_get(head, &b), AXP__BLOCK_OK);
    assert_true(b.body_bytes <= AXP__PEN_BODY);
    assert_true(axp__pen_read(pen, at + sizeof head, pen->body, b.body_bytes));
    assert_int_equal(axp__crc32c(0, pen->body, b.body_bytes), b.body_crc);
    return b;
}

/* Names of 8 KiB: 255 fit. */
static void names_go_on_in_the_next_block(void **state)
{
    (void)state;
    static char text[AXP__NAME_TEXT_MAX];
    struct axp__pen pen;
    enum { FIRST = 3, N = 1000 };
    open_pen(&pen, 0);
    memset(text, 'x', sizeof text);
    axp__pen_gather(&pen, AXP__B_NAMES, FIRST);
    for (uint32_t i = 0; i < N; i++) {
        struct axp__name_record r = {.text = {text, sizeof text}, .line = i};
        assert_true(axp__pen_name(&pen, &r));
    }
    assert_true(axp__pen_flush(&pen));
    assert_true(axp__pen_flush(&pen)); /* nothing is left */

    uint32_t id = FIRST, n_blocks = 0;
    for (uint64_t at = AXP__FILE_HEAD; at < pen.end; n_blocks++) {
        struct axp__block b = block_at(&pen, at);
        struct axp__bytes in = {pen.body, pen.body + b.body_bytes, false};
        struct axp__name_record r;
        assert_int_equal(b.kind, AXP__B_NAMES);
        assert_int_equal(b.seq, id);
        uint32_t n = 0;
        for (; axp__name_get(&in, &r); n++)
            assert_int_equal(r.line, id++ - FIRST);
        assert_int_equal(n, b.n);
        at += axp__block_span(&b);
    }
    assert_int_equal(id, FIRST + N);
    assert_int_equal(n_blocks, 4);
    close_pen(&pen);
}

/* Every kind of block, as src/record and src/file write them. */
static bool write_all(struct axp__pen *pen)
{
    static const struct axp__chunk chunk = {.seq = 1, .n_words = 3};
    const struct axp__chunk *list[1] = {&chunk};
    struct axp__block state = {.kind = AXP__B_STATE};
    axp__pen_gather(pen, AXP__B_ABOUT, 0);
    axp__pen_about(pen, "key", (struct axp__slice){"value", 5});
    axp__pen_flush(pen);
    axp__pen_gather(pen, AXP__B_ROWS, 0);
    axp__pen_row(pen, &(struct axp__row_record){.id = 1});
    axp__pen_flush(pen);
    axp__pen_chunks(pen, list, 1, 0);
    axp__pen_long_begin(pen);
    return axp__pen_long_more(pen, "some", 4) &&
           axp__pen_long_more(pen, " bytes", 6) &&
           axp__pen_long_end(pen, &state) && axp__pen_finish(pen);
}

/* As many as there may be at once, full ones and short ones, each its own block. */
static void chunks_as_they_are(void **state)
{
    (void)state;
    static struct axp__chunk chunk[AXP__PACK_CHUNKS];
    const struct axp__chunk *list[AXP__PACK_CHUNKS];
    struct axp__pen pen;
    open_pen(&pen, 24);
    for (size_t i = 0; i < AXP__PACK_CHUNKS; i++) {
        chunk[i].seq = 1 + i / 2;
        chunk[i].row = (uint32_t)(7 + i % 2);
        chunk[i].n_words = i % 3 ? AXP__CHUNK_WORDS : 3;
        chunk[i].words[chunk[i].n_words - 1] = i;
        list[i] = &chunk[i];
    }
    assert_int_equal(axp__pen_chunks(&pen, list, AXP__PACK_CHUNKS, 0),
                     AXP__PACK_CHUNKS);
    uint64_t at = AXP__FILE_HEAD;
    for (size_t i = 0; i < AXP__PACK_CHUNKS; i++) {
        struct axp__block b = block_at(&pen, at);
        assert_int_equal(b.kind, AXP__B_CHUNK);
        assert_int_equal(b.row, 7 + i % 2);
        assert_int_equal(b.seq, 1 + i / 2);
        assert_int_equal(b.n_words, chunk[i].n_words);
        assert_memory_equal(pen.body, chunk[i].words, b.body_bytes);
        at += axp__block_span(&b);
    }
    assert_int_equal(at, pen.end);
    close_pen(&pen);
}

static void a_recording_is_the_same_wherever_it_begins(void **state)
{
    (void)state;
    uint8_t bytes[2][4096];
    uint64_t n[2];
    for (int i = 0; i < 2; i++) {
        struct axp__pen pen;
        open_pen(&pen, (uint64_t)i * 1000);
        assert_true(write_all(&pen));
        n[i] = pen.end;
        assert_true(n[i] <= sizeof bytes[i]);
        assert_true(axp__pen_read(&pen, 0, bytes[i], n[i]));
        close_pen(&pen);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], n[0]);
    struct axp__file_tail tail;
    assert_int_equal(
        axp__file_tail_get(bytes[0] + n[0] - AXP__FILE_TAIL, &tail),
        AXP__BLOCK_OK);
    assert_int_equal(tail.file_bytes, n[0]);
}

/* The file cannot grow past `most`: whole blocks are there, and nothing after
 * them that could be taken for one. */
static void a_full_disk_leaves_whole_blocks(void **state)
{
    (void)state;
    uint64_t whole = 0;
    for (uint64_t most = 4096; !whole || most >= AXP__FILE_HEAD; most--) {
        struct axp__pen pen;
        open_pen(&pen, 0);
        assert_int_equal(ftruncate(pen.fd, (off_t)most), 0);
        assert_int_equal(fcntl(pen.fd, F_ADD_SEALS, F_SEAL_GROW), 0);
        bool ok = write_all(&pen);
        if (!whole) most = (whole = pen.end) + 1;
        assert_int_equal(ok, most >= whole);
        assert_int_equal(pen.error, ok ? 0 : EPERM);
        for (uint64_t at = AXP__FILE_HEAD; !ok && at < pen.end;) {
            struct axp__block b = block_at(&pen, at);
            at += axp__block_span(&b);
            assert_true(at <= pen.end);
        }
        close_pen(&pen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_on_in_the_next_block),
        cmocka_unit_test(chunks_as_they_are),
        cmocka_unit_test(a_recording_is_the_same_wherever_it_begins),
        cmocka_unit_test(a_full_disk_leaves_whole_blocks),
    };
    return TS_RUN(tests);
}
