/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The frame of a trace file: checksums against published values, heads and
 * bodies there and back, every single damaged byte found, the index. */
#include "test_support.h"

#include "wire/wire_body.h"
#include "wire/wire_index.h"

/* ---- checksums --------------------------------------------------------------- */

/* Values of RFC 3720, B.4, and the usual check value. */
static void crc_has_the_published_values(void **state)
{
    (void)state;
    uint8_t zeros[32] = {0}, ones[32], rising[32];
    memset(ones, 0xff, sizeof ones);
    for (int i = 0; i < 32; i++)
        rising[i] = (uint8_t)i;
    assert_int_equal(axp__crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(axp__crc32c(0, zeros, 32), 0x8a9136aau);
    assert_int_equal(axp__crc32c(0, ones, 32), 0x62a8ab43u);
    assert_int_equal(axp__crc32c(0, rising, 32), 0x46dd794eu);
}

static void crc_is_the_same_by_table_and_in_pieces(void **state)
{
    (void)state;
    uint8_t bytes[300];
    uint64_t rng = 5;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)ts_random(&rng);
    for (size_t from = 0; from < 9; from++)
        for (size_t n = 0; n + from <= sizeof bytes; n++) {
            uint32_t whole = axp__crc32c(0, bytes + from, n);
            assert_int_equal(axp__crc32c_by_table(0, bytes + from, n), whole);
            uint32_t half = axp__crc32c(0, bytes + from, n / 3);
            assert_int_equal(axp__crc32c(half, bytes + from + n / 3, n - n / 3),
                             whole);
        }
}

/* ---- heads ---------------------------------------------------------------------- */

static const struct axp__file_head some_head = {
    .version = AXP__FILE_VERSION,
    .run_id = {1, 2, 3},
    .boot_id = {9, 8, 7},
    .process_id = 4711,
    .incarnation = 2,
    .rank = -1,
    .start_ticks = 123456789012345,
    .clock = {1, 2, 3},
    .clock_source = 1,
    .n_after = 3,
};

static const struct axp__block some_block = {
    .kind = AXP__B_CHUNK,
    .body_bytes = 80,
    .seq = 77,
    .row = 5,
    .n = 1,
    .epoch = 3,
    .n_words = 10,
    .n_events = 9,
    .base_ticks = 1234567890123,
    .body_crc = 0xdeadbeef,
};

/* Field by field: what lies between them is nobody's. */
#define SAME(field) assert_int_equal(a->field, b->field)

static void expect_same_head(const struct axp__file_head *a,
                             const struct axp__file_head *b)
{
    SAME(version);
    assert_memory_equal(a->run_id, b->run_id, sizeof a->run_id);
    assert_memory_equal(a->boot_id, b->boot_id, sizeof a->boot_id);
    SAME(process_id);
    SAME(incarnation);
    SAME(rank);
    SAME(start_ticks);
    SAME(clock.ticks);
    SAME(clock.monotonic_ns);
    SAME(clock.realtime_ns);
    SAME(clock_source);
    SAME(n_after);
}

static void expect_same_block(const struct axp__block *a,
                              const struct axp__block *b)
{
    SAME(kind);
    SAME(flags);
    SAME(body_bytes);
    SAME(seq);
    SAME(row);
    SAME(n);
    SAME(epoch);
    SAME(n_words);
    SAME(n_events);
    SAME(base_ticks);
    SAME(body_crc);
}

static void expect_same_row(const struct axp__row_record *a,
                            const struct axp__row_record *b)
{
    SAME(id);
    SAME(track);
    SAME(name);
    SAME(tid);
    SAME(first_ticks);
}

static void heads_come_back(void **state)
{
    (void)state;
    uint8_t bytes[AXP__FILE_HEAD];
    struct axp__file_head head;
    axp__file_head_put(bytes, &some_head);
    assert_int_equal(axp__file_head_get(bytes, &head), AXP__BLOCK_OK);
    expect_same_head(&head, &some_head);

    struct axp__block block;
    axp__block_put(bytes, &some_block);
    assert_int_equal(axp__block_get(bytes, &block), AXP__BLOCK_OK);
    expect_same_block(&block, &some_block);
    assert_int_equal(axp__block_span(&block), 64 + 80);

    struct axp__file_tail tail = {1024, 4096}, again;
    axp__file_tail_put(bytes, &tail);
    assert_int_equal(axp__file_tail_get(bytes, &again), AXP__BLOCK_OK);
    assert_memory_equal(&tail, &again, sizeof tail);
}

/* Any one bit turned makes a head invalid. */
static void a_turned_bit_shows(void **state)
{
    (void)state;
    uint8_t bytes[AXP__FILE_HEAD];
    struct axp__file_head head;
    struct axp__block block;
    struct axp__file_tail tail;
    for (unsigned bit = 0; bit < AXP__FILE_HEAD * 8; bit++) {
        axp__file_head_put(bytes, &some_head);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(axp__file_head_get(bytes, &head), AXP__BLOCK_OK);
    }
    for (unsigned bit = 0; bit < AXP__BLOCK_HEAD * 8; bit++) {
        axp__block_put(bytes, &some_block);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(axp__block_get(bytes, &block), AXP__BLOCK_OK);
    }
    for (unsigned bit = 0; bit < AXP__FILE_TAIL * 8; bit++) {
        axp__file_tail_put(bytes, &(struct axp__file_tail){1024, 4096});
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(axp__file_tail_get(bytes, &tail), AXP__BLOCK_OK);
    }
}

static void a_newer_version_is_named(void **state)
{
    (void)state;
    uint8_t bytes[AXP__FILE_HEAD];
    struct axp__file_head head = some_head;
    head.version = 7;
    axp__file_head_put(bytes, &head);
    bytes[127] ^= 1; /* its checksum may be elsewhere */
    assert_int_equal(axp__file_head_get(bytes, &head), AXP__BLOCK_NEWER);
    assert_int_equal(head.version, 7);
    memcpy(bytes, "not one of ours", 15);
    assert_int_equal(axp__file_head_get(bytes, &head), AXP__BLOCK_NOT_ONE);
}

static enum axp__block_error judge(struct axp__block b)
{
    uint8_t bytes[AXP__BLOCK_HEAD];
    struct axp__block out;
    axp__block_put(bytes, &b);
    return axp__block_get(bytes, &out);
}

/* Heads with a good checksum and counts that cannot be. */
static void impossible_counts_are_refused(void **state)
{
    (void)state;
    struct axp__block b = some_block;
    b.n_words = AXP__CHUNK_WORDS + 1;
    b.body_bytes = (uint64_t)b.n_words * 8;
    assert_int_equal(judge(b), AXP__BLOCK_IMPOSSIBLE);
    b = some_block;
    b.body_bytes = 88;
    assert_int_equal(judge(b), AXP__BLOCK_IMPOSSIBLE);
    b = some_block;
    b.n_events = 11;
    assert_int_equal(judge(b), AXP__BLOCK_IMPOSSIBLE);
    b = (struct axp__block){.kind = AXP__B_PACK, .n = AXP__PACK_CHUNKS + 1};
    assert_int_equal(judge(b), AXP__BLOCK_IMPOSSIBLE);
    b = (struct axp__block){
        .kind = AXP__B_PACK, .n = 2, .n_words = 2 * AXP__CHUNK_WORDS + 1};
    assert_int_equal(judge(b), AXP__BLOCK_IMPOSSIBLE);
    b = (struct axp__block){.kind = AXP__B_STATE,
                            .body_bytes = AXP__BODY_MAX + 1};
    assert_int_equal(judge(b), AXP__BLOCK_IMPOSSIBLE);
    b = (struct axp__block){.kind = (enum axp__block_kind)999};
    assert_int_equal(judge(b), AXP__BLOCK_OK); /* skipped, not refused */
}

static void sealing_covers_all_pieces(void **state)
{
    (void)state;
    uint8_t head[AXP__BLOCK_HEAD], bytes[100];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    struct iovec pieces[] = {{bytes, 3}, {bytes + 3, 0}, {bytes + 3, 97}};
    struct axp__block b = {.kind = AXP__B_ABOUT}, out;
    axp__block_seal(head, &b, pieces, 3);
    assert_int_equal(axp__block_get(head, &out), AXP__BLOCK_OK);
    assert_int_equal(out.body_bytes, 100);
    assert_int_equal(out.body_crc, axp__crc32c(0, bytes, 100));
    assert_int_equal(axp__block_span(&out), 64 + 104);
}

/* ---- numbers and bodies ------------------------------------------------------------ */

static void varints_come_back(void **state)
{
    (void)state;
    uint8_t bytes[AXP__VARINT_MAX];
    for (unsigned bit = 0; bit < 64; bit++)
        for (int around = -1; around <= 1; around++) {
            uint64_t v = ((uint64_t)1 << bit) + (uint64_t)(int64_t)around;
            size_t n = (size_t)(axp__put_varint(bytes, v) - bytes);
            struct axp__bytes b = {bytes, bytes + n, false};
            assert_true(axp__get_varint(&b) == v && !b.is_bad);
            b = (struct axp__bytes){bytes, bytes + n - 1, false};
            assert_true(axp__get_varint(&b) == 0 && b.is_bad);
            assert_true(axp__unzigzag(axp__zigzag(v)) == v);
        }
    assert_int_equal(axp__zigzag((uint64_t)-1), 1);
    assert_int_equal(axp__zigzag(1), 2);
    uint8_t endless[11];
    memset(endless, 0xff, sizeof endless);
    struct axp__bytes b = {endless, endless + 11, false};
    assert_true(axp__get_varint(&b) == 0 && b.is_bad);
}

static void doubles_come_back(void **state)
{
    (void)state;
    const double values[] = {0, 1, -1, 0.1, 1e300, 4096, -0.0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        double v = axp__f64_of_bits(axp__f64_bits(values[i]));
        assert_memory_equal(&v, &values[i], 8);
    }
    uint8_t bytes[AXP__VARINT_MAX];
    assert_int_equal(axp__put_varint(bytes, axp__f64_bits(4096)) - bytes, 3);
}

static void bodies_come_back_from_any_prefix(void **state)
{
    (void)state;
    uint8_t bytes[512];
    struct axp__slice long_value = {"value\0with zero", 15};
    size_t len = axp__about_put(bytes, sizeof bytes, "key", long_value);
    len += axp__about_put(bytes + len, sizeof bytes - len, "empty",
                          (struct axp__slice){NULL, 0});
    struct axp__slice key, value;
    for (size_t n = 0; n <= len; n++) {
        struct axp__bytes b = {bytes, bytes + n, false};
        unsigned got = 0;
        while (axp__about_get(&b, &key, &value))
            got++;
        assert_int_equal(got, n == len ? 2 : n >= 20 ? 1 : 0);
        assert_true(b.is_bad == (n != 0 && n != 20 && n != len));
    }
    assert_int_equal(axp__about_put(bytes, 10, "key", long_value), 0);

    const struct axp__name_record name = {{"matmul", 6}, {"a.c", 3}, 12, 1};
    const struct axp__name_record bare = {{"x", 1}, {NULL, 0}, 0, 0};
    len = axp__name_put(bytes, sizeof bytes, &name);
    len += axp__name_put(bytes + len, sizeof bytes - len, &bare);
    struct axp__bytes b = {bytes, bytes + len, false};
    struct axp__name_record got;
    assert_true(axp__name_get(&b, &got));
    assert_int_equal(got.text.len, 6);
    assert_memory_equal(got.text.at, "matmul", 6);
    assert_memory_equal(got.file.at, "a.c", 3);
    assert_int_equal(got.line, 12);
    assert_int_equal(got.flags, 1);
    assert_true(axp__name_get(&b, &got));
    assert_null(got.file.at);
    assert_false(axp__name_get(&b, &got));
    assert_false(b.is_bad);

    const struct axp__row_record row = {7, 1, 20, 4711, 1ull << 50};
    struct axp__row_record back;
    len = axp__row_put(bytes, sizeof bytes, &row);
    b = (struct axp__bytes){bytes, bytes + len, false};
    assert_true(axp__row_get(&b, &back));
    expect_same_row(&row, &back);
    assert_false(axp__row_get(&b, &back));
}

/* ---- the index --------------------------------------------------------------------- */

struct memory_file {
    uint8_t bytes[8192];
    uint64_t fail_at; /* writes from here on fail */
};

static bool read_memory(void *ctx, uint64_t at, void *bytes, size_t n)
{
    const struct memory_file *f = ctx;
    if (at + n > sizeof f->bytes) return false;
    memcpy(bytes, f->bytes + at, n);
    return true;
}

static bool write_memory(void *ctx, uint64_t at, const void *bytes, size_t n)
{
    struct memory_file *f = ctx;
    if (at + n > sizeof f->bytes || at + n > f->fail_at) return false;
    memcpy(f->bytes + at, bytes, n);
    return true;
}

static uint64_t fill_file(struct memory_file *f)
{
    uint64_t at = AXP__FILE_HEAD;
    *f = (struct memory_file){.fail_at = sizeof f->bytes};
    axp__file_head_put(f->bytes, &some_head);
    for (unsigned i = 0; i < 5; i++) {
        struct axp__block b = some_block;
        b.seq = 10 - i;
        b.row = i;
        axp__block_put(f->bytes + at, &b);
        at += axp__block_span(&b);
    }
    return at;
}

static void the_index_lists_every_block(void **state)
{
    (void)state;
    struct memory_file f;
    uint64_t end = fill_file(&f), blocks_end = end;
    struct axp__file_io io = {read_memory, write_memory, &f};
    assert_true(axp__index_write(&io, &end));

    struct axp__file_tail tail;
    assert_int_equal(axp__file_tail_get(f.bytes + end - AXP__FILE_TAIL, &tail),
                     AXP__BLOCK_OK);
    assert_int_equal(tail.index_at, blocks_end);
    assert_int_equal(tail.file_bytes, end);
    struct axp__block index;
    assert_int_equal(axp__block_get(f.bytes + blocks_end, &index),
                     AXP__BLOCK_OK);
    assert_int_equal(index.kind, AXP__B_INDEX);
    assert_int_equal(index.n, 5);
    const uint8_t *body = f.bytes + blocks_end + AXP__BLOCK_HEAD;
    assert_int_equal(axp__crc32c(0, body, index.body_bytes), index.body_crc);
    struct axp__bytes b = {body, body + index.body_bytes, false};
    struct axp__index_entry e = {0};
    unsigned n = 0;
    while (axp__index_get(&b, &e)) {
        struct axp__block there;
        assert_int_equal(axp__block_get(f.bytes + e.at, &there), AXP__BLOCK_OK);
        expect_same_block(&there, &e.block);
        n++;
    }
    assert_int_equal(n, 5);
    assert_false(b.is_bad);
}

static void a_failed_write_fails_the_index(void **state)
{
    (void)state;
    struct memory_file f;
    uint64_t end = fill_file(&f), whole = end;
    struct axp__file_io io = {read_memory, write_memory, &f};
    assert_true(axp__index_write(&io, &whole));
    for (uint64_t fail_at = end; fail_at < whole; fail_at += 8) {
        uint64_t at = fill_file(&f);
        f.fail_at = fail_at;
        assert_false(axp__index_write(&io, &at));
    }
    fill_file(&f);
    f.bytes[AXP__FILE_HEAD + 3] ^= 1; /* a file that is not ours */
    assert_false(axp__index_write(&io, &end));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc_has_the_published_values),
        cmocka_unit_test(crc_is_the_same_by_table_and_in_pieces),
        cmocka_unit_test(heads_come_back),
        cmocka_unit_test(a_turned_bit_shows),
        cmocka_unit_test(a_newer_version_is_named),
        cmocka_unit_test(impossible_counts_are_refused),
        cmocka_unit_test(sealing_covers_all_pieces),
        cmocka_unit_test(varints_come_back),
        cmocka_unit_test(doubles_come_back),
        cmocka_unit_test(bodies_come_back_from_any_prefix),
        cmocka_unit_test(the_index_lists_every_block),
        cmocka_unit_test(a_failed_write_fails_the_index),
    };
    return TS_RUN(tests);
}
