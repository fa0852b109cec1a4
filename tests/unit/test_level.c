/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A number over time: whatever was told is in a stretch of its time, and nothing
 * else is. Held against all that was told, one by one. */
#include "test_support.h"

#include <stdlib.h>

#include "os/os_clock.h"
#include "tally/tally_level.h"

#define N 20000u

struct told {
    uint64_t since, value;
};

static struct axp__budget budget = {.limit_bytes = (uint64_t)64 << 20};

static const struct axp__level_span *here(void *ctx,
                                          const struct axp__level_span *part)
{
    (void)ctx;
    return part;
}

/* Ticks of so many nanoseconds, about. */
static uint64_t ticks_of(double ns)
{
    return (uint64_t)(ns / (double)axp__clock_rate().mult * 4294967296.0);
}

static void compare(const struct axp__capture *c, const struct told *told,
                    size_t n)
{
    size_t at = 0;
    assert_in_range(c->n_levels, 1, 2048);
    for (size_t i = 0; i < c->n_levels; i++) {
        const struct axp__cap_level *l = &c->levels[i];
        uint64_t from = l->at_ticks - c->start_ticks, min = UINT64_MAX, max = 0;
        size_t first = at;
        assert_int_equal(l->length_ticks, c->levels[0].length_ticks);
        for (; at < n && told[at].since < from + l->length_ticks; at++) {
            assert_true(told[at].since >= from);
            if (told[at].value < min) min = told[at].value;
            if (told[at].value > max) max = told[at].value;
        }
        assert_true(at > first); /* none without anything */
        assert_int_equal(l->min_bytes, min);
        assert_int_equal(l->max_bytes, max);
        assert_int_equal(l->last_bytes, told[at - 1].value);
    }
    assert_int_equal(at, n);
}

/* Moments that are so far apart on average. */
static void all_is_there(double mean_ns)
{
    struct axp__level level = {0};
    struct axp__capture c = {.start_ticks = 1000};
    struct told *told = malloc(N * sizeof *told);
    uint64_t state = 88172645463325252u, since = 0;
    assert_non_null(told);
    for (size_t i = 0; i < N; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        since += ticks_of((double)(state >> 40) / (1 << 23) * mean_ns);
        told[i] = (struct told){since, state >> 50};
        axp__level_note(&level, &budget, since, told[i].value);
    }
    assert_true(
        axp__level_copy(&c, &level, (struct axp__moment){0, 0}, here, NULL));
    compare(&c, told, N);
    axp__cap_free(&c);
    axp__level_clear(&level, &budget);
    assert_int_equal(budget.used_bytes, 0);
    free(told);
}

static void a_moment_to_a_year(void **state)
{
    (void)state;
    for (double mean_ns = 100; mean_ns < 2e12; mean_ns *= 17)
        all_is_there(mean_ns);
}

/* It is known exactly, whatever was told about then, and was told later. */
static void the_peak_is_there(void **state)
{
    (void)state;
    struct axp__level level = {0};
    struct axp__capture c = {.start_ticks = 7};
    axp__level_note(&level, &budget, ticks_of(1e6), 100);
    axp__level_note(&level, &budget, ticks_of(9e6), 50);
    struct axp__moment peak = {ticks_of(1e6), 123};
    assert_true(axp__level_copy(&c, &level, peak, here, NULL));
    assert_int_equal(c.n_levels, 2);
    assert_int_equal(c.levels[0].max_bytes, 123);
    assert_int_equal(c.levels[0].last_bytes, 100);
    assert_int_equal(c.levels[1].max_bytes, 50);
    axp__cap_free(&c);
    axp__level_clear(&level, &budget);
}

/* No room is no harm: what there is no part for is left out. */
static void no_room(void **state)
{
    (void)state;
    struct axp__budget none = {0};
    struct axp__level level = {0};
    struct axp__capture c = {0};
    axp__level_note(&level, &none, 1, 1);
    axp__level_note(&level, &none, UINT64_MAX, 1);
    assert_true(
        axp__level_copy(&c, &level, (struct axp__moment){0, 0}, here, NULL));
    assert_int_equal(c.n_levels, 0);
    axp__cap_free(&c);
}

/* Of a file that claims anything. */
static const struct axp__level_span *wild(void *ctx,
                                          const struct axp__level_span *part)
{
    (void)part;
    return ctx;
}

static void claims(void **state)
{
    (void)state;
    struct axp__level_span *part = malloc(AXP__LEVEL_PART_BYTES);
    assert_non_null(part);
    memset(part, 0xff, AXP__LEVEL_PART_BYTES);
    for (uint32_t shift = 0; shift < 70; shift++) {
        struct axp__level level = {.shift = shift};
        struct axp__capture c = {.start_ticks = UINT64_MAX - 5};
        for (unsigned i = 0; i < AXP__LEVEL_PARTS; i++)
            level.part[i] = part;
        assert_true(axp__level_copy(
            &c, &level, (struct axp__moment){UINT64_MAX, 9}, wild, part));
        assert_true(c.n_levels <= 2048);
        axp__cap_free(&c);
    }
    free(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moment_to_a_year),
        cmocka_unit_test(the_peak_is_there),
        cmocka_unit_test(no_room),
        cmocka_unit_test(claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
