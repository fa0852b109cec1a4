/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Words back into events: what was written is read, and what nobody wrote is
 * survived. Garbage lies right before a page that may not be touched. */
#include "test_support.h"

#include <sys/mman.h>
#include <unistd.h>

#include "wire/wire_decode.h"

static void events_come_back(void **state)
{
    (void)state;
    const uint64_t words[] = {axp__word(AXP__W_BEGIN, 7, 10),
                              axp__word(AXP__W_ALLOC, 8, 11),
                              64,
                              0x1000,
                              axp__word(AXP__W_TIME, 0, 0),
                              5000,
                              axp__word(AXP__W_EXT, 9, 3),
                              axp__ext_word(AXP__X_EVENT, 3, 5),
                              0x41,
                              0x42,
                              axp__word(AXP__W_END, 7, 4),
                              0,
                              axp__word(AXP__W_END, 7, 4)};
    struct axp__decoder d;
    struct axp__wire_event e;
    axp__decoder_init(&d, words, sizeof words / 8, 1000);
    assert_true(axp__decoder_next(&d, &e));
    assert_int_equal(e.kind, AXP__W_BEGIN);
    assert_int_equal(e.name, 7);
    assert_int_equal(e.ticks, 1010);
    assert_true(axp__decoder_next(&d, &e));
    assert_int_equal(e.kind, AXP__W_ALLOC);
    assert_int_equal(e.n_payload, 2);
    assert_int_equal(e.payload[1], 0x1000);
    assert_true(axp__decoder_next(&d, &e));
    assert_int_equal(e.ext, AXP__X_EVENT);
    assert_int_equal(e.argument, 5);
    assert_int_equal(e.n_payload, 2);
    assert_int_equal(e.payload[0], 0x41);
    assert_int_equal(e.ticks, 5003);
    assert_true(axp__decoder_next(&d, &e));
    assert_int_equal(e.kind, AXP__W_END);
    assert_int_equal(e.ticks, 5004);
    assert_false(axp__decoder_next(&d, &e)); /* 0 where a head should be */
    assert_false(d.is_damaged);
}

static void extremes_of_a_word(void **state)
{
    (void)state;
    uint64_t delta = ((uint64_t)1 << AXP__TIME_BITS) - 1;
    uint64_t word = axp__word(AXP__W_INSTANT, AXP__MAX_NAMES - 1, delta);
    struct axp__decoder d;
    struct axp__wire_event e;
    axp__decoder_init(&d, &word, 1, 0);
    assert_true(axp__decoder_next(&d, &e));
    assert_int_equal(e.name, AXP__MAX_NAMES - 1);
    assert_int_equal(e.ticks, delta);
}

static void payload_past_the_end_is_damage(void **state)
{
    (void)state;
    const uint64_t heads[][2] = {
        {axp__word(AXP__W_WORK, 1, 1), 0},
        {axp__word(AXP__W_EXT, 1, 1), axp__ext_word(AXP__X_EVENT, 9, 0)},
        {axp__word(AXP__W_EXT, 1, 1), axp__ext_word(AXP__X_EVENT, 0, 0)},
        {axp__word((enum axp__word_kind)15, 1, 1), 0}};
    for (size_t i = 0; i < 4; i++) {
        struct axp__decoder d;
        struct axp__wire_event e;
        axp__decoder_init(&d, heads[i], 2, 0);
        assert_false(axp__decoder_next(&d, &e));
        assert_true(d.is_damaged);
        assert_false(axp__decoder_next(&d, &e));
    }
}

static void garbage_is_never_read_past_its_end(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map + page, page, PROT_NONE), 0);
    uint64_t rng = 11, sum = 0;
    for (int round = 0; round < 50000; round++) {
        size_t n = ts_random(&rng) % 40 + 1;
        uint64_t *words = (uint64_t *)(void *)(map + page) - n;
        for (size_t i = 0; i < n; i++) {
            words[i] = ts_random(&rng);
            if (ts_random(&rng) % 2) words[i] &= 0xfff; /* small lengths */
        }
        struct axp__decoder d;
        struct axp__wire_event e;
        size_t events = 0;
        axp__decoder_init(&d, words, n, ts_random(&rng));
        while (axp__decoder_next(&d, &e)) {
            assert_true(++events <= n);
            if (e.n_payload) assert_true(e.payload + e.n_payload <= words + n);
            for (size_t i = 0; i < e.n_payload; i++)
                sum += e.payload[i];
        }
        assert_true(d.at <= n);
    }
    assert_true(sum != 0);
    munmap(map, 2 * page);
}

/* A file may hold any number where a kind is expected. */
static void every_number_has_a_shape(void **state)
{
    (void)state;
    for (int i = 0; i < 256; i++)
        assert_non_null(axp__ext_shape((enum axp__ext_kind)i).payload);
    for (int i = 0; i < 16; i++)
        assert_non_null(axp__payload_of((enum axp__word_kind)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back),
        cmocka_unit_test(extremes_of_a_word),
        cmocka_unit_test(payload_past_the_end_is_damage),
        cmocka_unit_test(garbage_is_never_read_past_its_end),
        cmocka_unit_test(every_number_has_a_shape),
    };
    return TS_RUN(tests);
}
