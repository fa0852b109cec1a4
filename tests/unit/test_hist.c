/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The histogram's buckets: every value has one, in order, and comes back
 * from it within 1.6 %. */
#include "test_support.h"

#include "tally/tally_hist.h"

static void check(uint64_t value)
{
    struct axp__hist_at at = axp__hist_at(value);
    assert_true(at.page < AXP__HIST_PAGES + 1);
    assert_true(at.bucket < AXP__HIST_BUCKETS);
    uint32_t page = (uint32_t)at.page, bucket = (uint32_t)at.bucket;
    uint64_t low = axp__hist_low(page, bucket);
    uint64_t width = (uint64_t)1 << (56 - page);
    assert_true(low <= value);
    assert_true(value - low < width);
    double mid = (double)axp__hist_mid(page, bucket), v = (double)value;
    double error = mid > v ? mid - v : v - mid;
    if (error > 0.016 * v + 0.5)
        fail_msg("%llu comes back as %.0f", (unsigned long long)value, mid);
}

static void small_values_are_exact(void **state)
{
    (void)state;
    for (uint64_t v = 0; v < 64; v++) {
        struct axp__hist_at at = axp__hist_at(v);
        assert_int_equal(axp__hist_low((uint32_t)at.page, (uint32_t)at.bucket),
                         v);
        assert_int_equal(axp__hist_mid((uint32_t)at.page, (uint32_t)at.bucket),
                         v);
    }
}

static void edges_of_every_octave(void **state)
{
    (void)state;
    for (int bit = 0; bit < 63; bit++)
        for (int64_t d = -66; d <= 66; d++) {
            uint64_t v = ((uint64_t)1 << bit) + (uint64_t)d;
            if (v <= AXP__HIST_MAX - 64) check(v);
        }
    check(AXP__HIST_MAX - 64);
}

static void random_values(void **state)
{
    (void)state;
    uint64_t rng = 3;
    for (int i = 0; i < 300000; i++)
        check(ts_random(&rng) >> (ts_random(&rng) % 63 + 1) >> 1);
}

/* Larger values never lie in lower buckets, and each page is used. */
static void buckets_rise_with_values(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (uint32_t page = AXP__HIST_PAGES; page--;)
        for (uint32_t bucket = 0; bucket < AXP__HIST_BUCKETS; bucket++) {
            uint64_t low = axp__hist_low(page, bucket);
            struct axp__hist_at at = axp__hist_at(low);
            assert_int_equal(at.page, page);
            assert_int_equal(at.bucket, bucket);
            if (low) assert_true(low > last);
            last = low;
        }
}

static void the_greatest_value_has_a_page(void **state)
{
    (void)state;
    struct axp__hist_at at = axp__hist_at(AXP__HIST_MAX);
    assert_true(at.page < AXP__HIST_PAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(edges_of_every_octave),
        cmocka_unit_test(random_values),
        cmocka_unit_test(buckets_rise_with_values),
        cmocka_unit_test(the_greatest_value_has_a_page),
    };
    return TS_RUN(tests);
}
