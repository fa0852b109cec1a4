/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How much of its waits a thread had been woken, and had no processor. */
#include "test_support.h"

#include "sampling/sampling_states.h"
#include "sampling/sampling_woken.h"

#define US 1000u
#define MS 1000000u

struct told {
    struct axp__off at[16];
    size_t n;
};

static void give(void *ctx, const struct axp__off *off)
{
    struct told *t = ctx;
    if (t->n < 16) t->at[t->n] = *off;
    t->n++;
}

static struct told told;
static struct axp__woken woken;
static size_t n_kept;
static const struct axp__woken_to to = {10 * US, &n_kept, give, &told};

static int fresh(void **state)
{
    (void)state;
    axp__woken_drop(&woken);
    told.n = n_kept = 0;
    return 0;
}

static void off(uint64_t begin, uint64_t end, bool is_ready)
{
    struct axp__off one = {.process = 1,
                           .tid = 2,
                           .begin_ns = begin,
                           .end_ns = end,
                           .is_ready = is_ready};
    axp__woken_off(&woken, &one, &to);
}

static void look(uint64_t at, uint64_t ready)
{
    axp__woken_look(&woken, at, ready, &to);
}

static void check(size_t i, uint64_t begin, uint64_t end, bool is_ready)
{
    assert_true(i < told.n);
    assert_int_equal(told.at[i].begin_ns, begin);
    assert_int_equal(told.at[i].end_ns, end);
    assert_int_equal(told.at[i].is_ready, is_ready);
}

/* One wait of 5 ms, 2 of which it was ready for. */
static void a_wait_is_divided(void **state)
{
    (void)state;
    off(1 * MS, 6 * MS, false);
    assert_int_equal(told.n, 0);
    look(10 * MS, 2 * MS);
    off(11 * MS, 12 * MS,
        true); /* what is after the look says that it is over */
    assert_int_equal(told.n, 3);
    check(0, 1 * MS, 4 * MS, false);
    check(1, 4 * MS, 6 * MS, true);
    check(2, 11 * MS, 12 * MS, true);
}

/* The last time off ends after the look, before which nothing was ready. */
static void what_is_after_a_look_is_the_next_ones(void **state)
{
    (void)state;
    off(1 * MS, 6 * MS, false);
    look(10 * MS, 0);
    off(9 * MS, 12 * MS, false);
    assert_int_equal(told.n, 1);
    check(0, 1 * MS, 6 * MS, false);
    look(20 * MS, 1 * MS);
    look(30 * MS, 1 * MS);
    assert_int_equal(told.n, 3);
    check(1, 9 * MS, 11 * MS, false);
    check(2, 11 * MS, 12 * MS, true);
}

/* 3 ms of it are on record. */
static void what_is_on_record_is_not_told_twice(void **state)
{
    (void)state;
    off(1 * MS, 3 * MS, true);
    off(4 * MS, 8 * MS, false);
    off(8 * MS, 9 * MS, true);
    look(10 * MS, 3 * MS);
    look(20 * MS, 3 * MS);
    assert_int_equal(told.n, 3);
    check(0, 1 * MS, 3 * MS, true);
    check(1, 8 * MS, 9 * MS, true);
    check(2, 4 * MS, 8 * MS, false);
}

/* 7 ms of three waits: 1, 3 and 3, since the first was no longer. */
static void waits_are_alike_but_for_short_ones(void **state)
{
    (void)state;
    off(1 * MS, 2 * MS, false);
    off(10 * MS, 20 * MS, false);
    off(30 * MS, 40 * MS, false);
    look(50 * MS, 7 * MS);
    look(60 * MS, 7 * MS);
    assert_int_equal(told.n, 5);
    check(0, 1 * MS, 2 * MS, true); /* all of it */
    check(1, 10 * MS, 17 * MS, false);
    check(2, 17 * MS, 20 * MS, true);
    check(3, 30 * MS, 37 * MS, false);
    check(4, 37 * MS, 40 * MS, true);
}

/* A thousand waits of 5 us have 4 ms of these 5. */
static void waits_that_nobody_is_told_of_count(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        off(i * 10 * US, i * 10 * US + 4 * US, false);
    off(20 * MS, 30 * MS, false);
    look(40 * MS, 5 * MS);
    look(50 * MS, 5 * MS);
    assert_int_equal(told.n, 2);
    check(0, 20 * MS, 29 * MS, false);
    check(1, 29 * MS, 30 * MS, true);
}

/* What each was ready for is too little to be told of: waking takes a while. */
static void being_woken_is_nothing(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 8; i++)
        off(i * MS, i * MS + 500 * US, false);
    look(10 * MS, 8 * 9 * US);
    look(20 * MS, 8 * 9 * US);
    assert_int_equal(told.n, 8);
    for (uint64_t i = 0; i < 8; i++)
        check(i, i * MS, i * MS + 500 * US, false);
}

/* /proc says more than all waits are long, or less than before. */
static void no_more_than_there_is(void **state)
{
    (void)state;
    off(1 * MS, 2 * MS, false);
    look(5 * MS, 500 * MS);
    off(6 * MS, 7 * MS, false);
    look(10 * MS, 400 * MS);
    look(20 * MS, 400 * MS);
    assert_int_equal(told.n, 2);
    check(0, 1 * MS, 2 * MS, true);
    check(1, 6 * MS, 7 * MS, false);
}

/* Records were lost: what a look says is of more than is known. The next looks
 * are of what came after. */
static void records_are_missing(void **state)
{
    (void)state;
    off(1 * MS, 2 * MS, false);
    axp__woken_forget(&woken, &to);
    assert_int_equal(told.n, 1);
    off(3 * MS, 5 * MS, false);
    look(10 * MS, 50 * MS);
    off(11 * MS, 15 * MS, false);
    look(20 * MS, 51 * MS);
    look(30 * MS, 51 * MS);
    assert_int_equal(told.n, 4);
    check(0, 1 * MS, 2 * MS, false);
    check(1, 3 * MS, 5 * MS, false);
    check(2, 11 * MS, 14 * MS, false);
    check(3, 14 * MS, 15 * MS, true);
}

/* More waits between two looks than are kept of all threads: none is lost, and what
 * is kept is no more. */
static void too_many(void **state)
{
    struct axp__woken other = {.n = 0};
    (void)state;
    struct axp__off one = {.begin_ns = 1 * MS, .end_ns = 2 * MS};
    axp__woken_off(&other, &one, &to);
    for (uint64_t i = 0; i < 2 * AXP__WOKEN_MOST; i++) {
        off(i * MS, i * MS + 500 * US, false);
        assert_true(n_kept <= AXP__WOKEN_MOST);
    }
    axp__woken_end(&woken, &to);
    assert_int_equal(told.n, 2 * AXP__WOKEN_MOST);
    assert_int_equal(n_kept, 1);
    axp__woken_end(&other, &to);
    assert_int_equal(n_kept, 0);
    axp__woken_drop(&other);
}

/* Where it was when it left is known of both parts. */
static void frames_are_kept(void **state)
{
    uint64_t frames[2] = {7, 8};
    struct axp__off one = {
        .begin_ns = 1 * MS, .end_ns = 5 * MS, .frames = frames, .n_frames = 2};
    (void)state;
    axp__woken_off(&woken, &one, &to);
    frames[0] = 9; /* the caller's again */
    assert_int_equal(woken.n, 1);
    assert_int_equal(woken.waits[0].frames[0], 7);
    look(10 * MS, 1 * MS);
    look(20 * MS, 1 * MS);
    assert_int_equal(told.n, 2);
    assert_int_equal(told.at[0].n_frames, 2);
    assert_int_equal(told.at[1].n_frames, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, fresh)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_wait_is_divided),
        TEST(what_is_after_a_look_is_the_next_ones),
        TEST(what_is_on_record_is_not_told_twice),
        TEST(waits_are_alike_but_for_short_ones),
        TEST(waits_that_nobody_is_told_of_count),
        TEST(being_woken_is_nothing),
        TEST(no_more_than_there_is),
        TEST(records_are_missing),
        TEST(too_many),
        TEST(frames_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
