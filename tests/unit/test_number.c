/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers as text: against printf where the two agree, and at the edges; the
 * short forms of tables. */
#include "test_support.h"

#include "base/base_number.h"
#include "emit/emit_short.h"

static void fixed_against_printf(void **state)
{
    (void)state;
    uint64_t rng = 4711;
    for (int i = 0; i < 100000; i++) {
        int decimals = (int)(ts_random(&rng) % 5);
        double value =
            (double)(int64_t)(ts_random(&rng) % 2000000000) / 997.0 - 1000000;
        char ours[40], theirs[40];
        axp__fixed(ours, sizeof ours, value, decimals);
        snprintf(theirs, sizeof theirs, "%.*f", decimals, value);
        if (strcmp(ours, theirs) && strcmp(theirs, "-0"))
            fail_msg("%.17g: %s, printf %s", value, ours, theirs);
    }
}

static void fixed_at_the_edges(void **state)
{
    (void)state;
    char text[32], small[4];
    assert_string_equal(axp__fixed(text, sizeof text, 0, 0), "0");
    assert_string_equal(axp__fixed(text, sizeof text, 0.04, 1), "0.0");
    assert_string_equal(axp__fixed(text, sizeof text, -0.04, 1), "0.0");
    assert_string_equal(axp__fixed(text, sizeof text, 9.999, 2), "10.00");
    assert_string_equal(axp__fixed(text, sizeof text, NAN, 2), "-");
    assert_string_equal(axp__fixed(text, sizeof text, INFINITY, 2), "huge");
    assert_string_equal(axp__fixed(text, sizeof text, -1e300, 2), "-huge");
    assert_string_equal(axp__fixed(small, sizeof small, 123456, 0), "123");
}

static void three_digits(void **state)
{
    (void)state;
    const struct {
        double value;
        const char *text;
    } want[] = {{0, "0"},
                {1, "1.00"},
                {-12.345, "-12.3"},
                {9.996, "10.0"},
                {99.96, "100"},
                {123456, "123456"},
                {0.0012345, "0.00123"},
                {1234567, "1.23e6"},
                {1e-9, "1.00e-9"},
                {-5e299, "-5.00e299"},
                {NAN, "-"}};
    char text[32];
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        assert_string_equal(axp__digits3(text, sizeof text, want[i].value),
                            want[i].text);
}

static void parsing(void **state)
{
    (void)state;
    const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},       {"12", 12},     {"0.5", 0.5},
                {".5", 0.5},    {"5.", 5},      {"1e3", 1000},
                {"2E-2", 0.02}, {"1.5e2", 150}, {"7.25", 7.25}};
    static const char *const bad[] = {"",     ".",   "-1",  "+1",   "1 ",
                                      " 1",   "1,",  "e3",  "1e",   "1e-",
                                      "0x10", "nan", "inf", "1.2.3"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ts_assert_between(good[i].value * (1 - 1e-12),
                          axp__parse_number(good[i].text),
                          good[i].value * (1 + 1e-12));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_true(isnan(axp__parse_number(bad[i])));
    assert_true(isinf(axp__parse_number("1e99999999999")));
    assert_true(axp__parse_number("0.3") == 0.3);
}

static void short_forms(void **state)
{
    (void)state;
    axp__cell c;
    assert_string_equal(axp__short_ns(c, 0), "0 ns");
    assert_string_equal(axp__short_ns(c, 999), "999 ns");
    assert_string_equal(axp__short_ns(c, 1000), "1.00 us");
    assert_string_equal(axp__short_ns(c, 9996), "10.0 us");
    assert_string_equal(axp__short_ns(c, 999499), "999 us");
    assert_string_equal(axp__short_ns(c, 999500), "1.00 ms");
    assert_string_equal(axp__short_ns(c, 1500000000), "1.50 s ");
    assert_string_equal(axp__short_ns(c, 7200000000000u), "7200 s ");
    assert_string_equal(axp__short_ns(c, UINT64_MAX), "18446744074 s ");
    assert_string_equal(axp__short_bytes(c, 0), "0 B ");
    assert_string_equal(axp__short_bytes(c, 1023), "1023 B ");
    assert_string_equal(axp__short_bytes(c, 1024), "1.00 KB");
    assert_string_equal(axp__short_bytes(c, 1048575), "1.00 MB");
    assert_string_equal(axp__short_bytes(c, (uint64_t)3 << 40), "3.00 TB");
    assert_string_equal(axp__short_count(c, 0), "0");
    assert_string_equal(axp__short_count(c, 999), "999");
    assert_string_equal(axp__short_count(c, 1000), "1,000");
    assert_string_equal(axp__short_count(c, 999999999), "999,999,999");
    assert_string_equal(axp__short_count(c, 1230000000), "1.23 G ");
    assert_string_equal(axp__short_rate(c, NAN), "");
    assert_string_equal(axp__short_rate(c, 0.001), "<0.01");
    assert_string_equal(axp__short_rate(c, 12.34), "12.3");
    assert_string_equal(axp__short_percent(c, 0.5), "50.0%");
    assert_string_equal(axp__short_number(c, 3), "3");
    assert_string_equal(axp__short_number(c, 2.5), "2.50");
}

static void whole(void **state)
{
    (void)state;
    assert_int_equal(axp__whole(0), 0);
    assert_int_equal(axp__whole(-1), 0);
    assert_int_equal(axp__whole(NAN), 0);
    assert_int_equal(axp__whole(0.4), 0);
    assert_int_equal(axp__whole(0.5), 1);
    assert_true(axp__whole(0x1p63) == (uint64_t)1 << 63);
    assert_true(axp__whole(nextafter(0x1p64, 0)) == UINT64_MAX - 2047);
    assert_true(axp__whole(0x1p64) == UINT64_MAX);
    assert_true(axp__whole(INFINITY) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_against_printf),
        cmocka_unit_test(fixed_at_the_edges),
        cmocka_unit_test(three_digits),
        cmocka_unit_test(parsing),
        cmocka_unit_test(short_forms),
        cmocka_unit_test(whole),
    };
    return TS_RUN(tests);
}
