/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks that are known one by one: held against a list of all; then threads. */
#include "test_support.h"

#include <pthread.h>
#include <stdlib.h>

#include "tally/tally_notes.h"
#include "tally/tally_shadow.h"

static struct axp__budget budget = {.limit_bytes = (uint64_t)64 << 20};

static struct axp__note note_of(uint64_t i, uint64_t bytes)
{
    return (struct axp__note){.address = 0x500000000000 + 64 * i,
                              .ticks = 1000 + i,
                              .bytes = bytes,
                              .place = 3 + (uint32_t)i % 7,
                              .row = (uint32_t)i % 5,
                              .weight = 1 + (uint32_t)i % 3};
}

static void assert_same(struct axp__note a, struct axp__note b)
{
    assert_int_equal(a.address, b.address);
    assert_int_equal(a.ticks, b.ticks);
    assert_int_equal(a.bytes, b.bytes);
    assert_int_equal(a.place, b.place);
    assert_int_equal(a.row, b.row);
    assert_int_equal(a.weight, b.weight);
}

/* What is put is there until it is taken, or is given back when it gives way. */
static void none_is_lost(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct axp__notes notes = {0};
    struct axp__capture c = {0};
    char *is_there = calloc(N, 1);
    size_t n_there = 0;
    assert_non_null(is_there);
    for (uint64_t i = 0; i < N; i++) {
        struct axp__note gone, taken;
        if (axp__notes_put(&notes, &budget, note_of(i, 100), &gone)) {
            is_there[i] = 1;
            n_there++;
            if (gone.address) {
                uint64_t k = gone.ticks - 1000;
                assert_true(k < i && is_there[k]);
                assert_same(gone, note_of(k, 100));
                is_there[k] = 0;
                n_there--;
            }
        }
        if (i % 3 ||
            !axp__notes_take(&notes, note_of(i / 2, 0).address, &taken))
            continue;
        assert_true(is_there[i / 2]);
        assert_same(taken, note_of(i / 2, 100));
        is_there[i / 2] = 0;
        n_there--;
    }
    assert_true(n_there > 3000);
    assert_true(axp__notes_copy(&c, notes.at));
    assert_int_equal(c.n_notes, n_there);
    for (size_t i = 0; i < c.n_notes; i++)
        assert_true(is_there[c.notes[i].ticks - 1000]);
    axp__cap_free(&c);
    axp__notes_clear(&notes, &budget);
    assert_int_equal(budget.used_bytes, 0);
    free(is_there);
}

/* Large ones stay, whatever comes after them. */
static void large_ones_stay(void **state)
{
    (void)state;
    struct axp__notes notes = {0};
    struct axp__note gone, taken;
    for (uint64_t i = 0; i < 500; i++)
        assert_true(axp__notes_put(&notes, &budget,
                                   note_of(i, AXP__NOTE_LARGE + i), &gone));
    for (uint64_t i = 500; i < 30000; i++)
        (void)axp__notes_put(&notes, &budget, note_of(i, 100), &gone);
    for (uint64_t i = 0; i < 500; i++) {
        assert_true(axp__notes_take(&notes, note_of(i, 0).address, &taken));
        assert_same(taken, note_of(i, AXP__NOTE_LARGE + i));
    }
    axp__notes_clear(&notes, &budget);
}

static struct axp__notes shared;

/* Each thread has addresses of its own: what it gets back is its own note, unless
 * another took the place. */
static void *put_and_take(void *arg)
{
    uint64_t first = (uint64_t)(uintptr_t)arg * 1000000;
    for (uint64_t i = 0; i < 50000; i++) {
        struct axp__note gone, taken, note = note_of(first + i % 3000, 100);
        (void)axp__notes_put(&shared, &budget, note, &gone);
        if (axp__notes_take(&shared, note.address, &taken))
            assert_same(taken, note);
    }
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    pthread_t thread[4];
    struct axp__capture c = {0};
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(
            pthread_create(&thread[i], NULL, put_and_take, (void *)i), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_true(axp__notes_copy(&c, shared.at));
    assert_int_equal(c.n_notes, 0);
    axp__cap_free(&c);
    axp__notes_clear(&shared, &budget);
}

/* A mark on a block is told to who takes it, and to nobody else. */
static void marks_of_blocks(void **state)
{
    (void)state;
    struct axp__shadow s = {.rest = {.budget = &budget}};
    for (uint64_t bytes = 1; bytes < 200; bytes++) {
        uint64_t key = 0x600000000000 + 1024 * bytes, old, value;
        uint64_t put = bytes << AXP__NAME_BITS | 77;
        assert_false(axp__shadow_mark(&s, key));
        assert_int_equal(axp__shadow_put(&s, key, put, &old), AXP__PUT_NEW);
        assert_int_equal(axp__shadow_put(&s, key + 512, put, &old),
                         AXP__PUT_NEW);
        assert_true(axp__shadow_mark(&s, key));
        assert_true(axp__shadow_take(&s, key + 512, &value));
        assert_true(value == put);
        assert_true(axp__shadow_take(&s, key, &value));
        assert_true(value == (put | AXP__VALUE_NOTED));
        assert_false(axp__shadow_take(&s, key, &value));
        /* and one that is put over it */
        assert_int_equal(axp__shadow_put(&s, key, put, &old), AXP__PUT_NEW);
        assert_true(axp__shadow_mark(&s, key));
        assert_int_equal(axp__shadow_put(&s, key, put + 1, &old),
                         AXP__PUT_REPLACED);
        assert_true(old == (put | AXP__VALUE_NOTED));
        assert_true(axp__shadow_take(&s, key, &value));
        assert_true(value == put + 1);
    }
    axp__shadow_clear(&s);
}

/* Also on one that has no cells: at the end of a page of them, too large, at an
 * odd address. */
static void marks_in_the_table(void **state)
{
    (void)state;
    const struct {
        uint64_t key, bytes;
    } at[] = {{0x600000000000 + AXP__PAGE_SPAN - AXP__SLOT_BYTES, 100},
              {0x600000010000, (uint64_t)1 << 40},
              {0x600000020008, 24}};
    struct axp__shadow s = {.rest = {.budget = &budget}};
    for (unsigned i = 0; i < sizeof at / sizeof *at; i++) {
        uint64_t put = at[i].bytes << AXP__NAME_BITS | 77, old, value;
        assert_false(axp__shadow_mark(&s, at[i].key));
        assert_int_equal(axp__shadow_put(&s, at[i].key, put, &old),
                         AXP__PUT_NEW);
        assert_true(axp__shadow_mark(&s, at[i].key));
        assert_true(axp__shadow_take(&s, at[i].key, &value));
        assert_true(value == (put | AXP__VALUE_NOTED));
        assert_false(axp__shadow_take(&s, at[i].key, &value));
    }
    axp__shadow_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_lost),
        cmocka_unit_test(large_ones_stay),
        cmocka_unit_test(threads),
        cmocka_unit_test(marks_of_blocks),
        cmocka_unit_test(marks_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
