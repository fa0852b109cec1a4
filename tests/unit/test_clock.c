/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The clock's rate: the kernel's own, known at once, the same in every
 * process. */
#include "test_support.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>

#include "os/os_vvar.h"

/* ---- the kernel's rounding -------------------------------------------------- */

/* As clocks_calc_mult_shift of Linux gives them, in kHz on x86-64 and in Hz on
 * aarch64: mult and shift. */
static const struct {
    uint64_t hz, mult;
    unsigned shift;
} known[] = {
    {1000000000, 8388608, 23},  {2100000000, 7989150, 24},
    {1050000000, 15978301, 24}, {2095078000, 8007920, 24},
    {2899999000, 5785249, 24},  {3700000000, 2267191, 23},
    {5200000000, 3226388, 24},  {25000000, 671088640, 24},
    {54000000, 310689185, 24},  {19200000, 873813333, 24},
    {62500000, 134217728, 23},
};

static void rates_are_rounded_as_by_the_kernel(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(axp__clock_mult_of(known[i].hz),
                         known[i].mult << (32 - known[i].shift));
    assert_int_equal(axp__clock_mult_of(0), 0);
}

/* ---- the kernel's page ------------------------------------------------------ */

enum { NOW = 1000000, RATE_WORDS = 512 };

struct page {
    uint64_t words[RATE_WORDS];
};

/* n: words before the mask. */
static void put_record(uint64_t *at, size_t n, uint64_t mode, uint64_t mult,
                       uint64_t shift)
{
    at[0] = mode << 32 | 4;
    at[1] = NOW - 5000;
    at[n] = UINT64_MAX;
    at[n + 1] = shift << 32 | mult;
}

static void both_layouts_are_read(void **state)
{
    (void)state;
    for (size_t n = 2; n <= 3; n++)
        for (size_t at = 0; at < 64; at += 16) {
            struct page p = {{0}};
            put_record(p.words + at, n, 1, 7989151, 24);
            put_record(p.words + at + 29, n, 1, 7989150, 24);
            assert_int_equal(axp__vvar_mult_of_page(p.words, NOW),
                             (uint64_t)7989150 << 8);
            /* read on another CPU between our reads of counter and page */
            p.words[at + 1] = p.words[at + 30] = NOW + 100;
            assert_int_equal(axp__vvar_mult_of_page(p.words, NOW),
                             (uint64_t)7989150 << 8);
        }
}

static uint64_t mult_of(uint64_t first_mode, uint64_t mode, uint64_t mult,
                        uint64_t shift)
{
    struct page p = {{0}};
    put_record(p.words, 3, first_mode, 8000000, 24);
    put_record(p.words + 29, 3, mode, mult, shift);
    return axp__vvar_mult_of_page(p.words, NOW);
}

static void other_pages_are_not_believed(void **state)
{
    (void)state;
    struct page p = {{0}};
    assert_int_not_equal(mult_of(1, 1, 8000000, 24), 0);
    assert_int_equal(mult_of(2, 1, 8000000, 24), 0);  /* another clock */
    assert_int_equal(mult_of(1, 2, 8000000, 24), 0);  /* likewise */
    assert_int_equal(mult_of(1, 1, 0, 24), 0);        /* no rate */
    assert_int_equal(mult_of(1, 1, 8000000, 23), 0);  /* another rate */
    assert_int_equal(mult_of(1, 1, 8100000, 24), 0);  /* likewise */
    assert_int_equal(mult_of(1, 1, 8000000, 200), 0); /* no rate at all */
    assert_int_equal(axp__vvar_mult_of_page(p.words, NOW), 0);
    memset(&p, 255, sizeof p);
    assert_int_equal(axp__vvar_mult_of_page(p.words, NOW), 0);
    memset(&p, 0, sizeof p); /* a counter of long ago */
    put_record(p.words, 3, 1, 8000000, 24);
    put_record(p.words + 29, 3, 1, 8000000, 24);
    assert_int_equal(axp__vvar_mult_of_page(p.words, (uint64_t)1 << 50), 0);
}

/* Nothing beyond the page is looked at. */
static void the_page_ends(void **state)
{
    (void)state;
    char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(m, MAP_FAILED);
    assert_int_equal(mprotect(m + 4096, 4096, PROT_NONE), 0);
    uint64_t *words = (uint64_t *)(void *)m;
    put_record(words, 3, 1, 8000000, 24);
    words[RATE_WORDS - 1] = UINT64_MAX;
    words[RATE_WORDS - 3] = NOW;
    words[RATE_WORDS - 4] = (uint64_t)1 << 32;
    assert_int_equal(axp__vvar_mult_of_page(words, NOW), 0);
    munmap(m, 8192);
}

/* ---- the clock of this machine ---------------------------------------------- */

static uint64_t raw_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Ticks beside CLOCK_MONOTONIC_RAW, the closest of many: a pair between which
 * something else ran is wide. */
static struct axp__clock_pair closest(void)
{
    struct axp__clock_pair best = {0, 0, 0};
    uint64_t width = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = axp__clock_ticks(), ns = raw_ns();
        uint64_t after = axp__clock_ticks();
        if (after - before >= width) continue;
        width = after - before;
        best = (struct axp__clock_pair){before + width / 2, ns, 0};
    }
    return best;
}

/* Linux since 5.3, with its page in sight (which valgrind hides), by tsc. */
static bool has_page(void)
{
    struct utsname os;
    unsigned major = 0, minor = 0;
    char name[16] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/"
                    "current_clocksource",
                    "r");
    if (f) {
        if (!fgets(name, sizeof name, f)) name[0] = 0;
        fclose(f);
    }
    if (uname(&os) || sscanf(os.release, "%u.%u", &major, &minor) != 2)
        return false;
    return !strcmp(name, "tsc\n") && getauxval(AT_SYSINFO_EHDR) &&
           (major > 5 || (major == 5 && minor >= 3));
}

static void the_counter_is_used_where_the_kernel_uses_it(void **state)
{
    (void)state;
    axp__clock_init();
#ifdef __x86_64__
    if (!has_page()) skip();
#else
    (void)has_page;
#endif
    assert_true(axp__clock_is_raw());
}

/* Over 200 ms to 10⁻⁶; 10 s show 10⁻⁸ (AXP_TEST_CLOCK_MS=10000). */
static void ticks_are_the_kernels_raw_time(void **state)
{
    (void)state;
    if (AXP_EMULATED) skip(); /* its counter is not the kernel's */
    const char *asked = getenv("AXP_TEST_CLOCK_MS");
    long ms = asked ? atol(asked) : 200;
    axp__clock_init();
    if (!axp__clock_is_raw()) skip();
    struct axp__clock_pair from = closest();
    ts_sleep_ms(ms);
    struct axp__clock_pair to = closest();
    double ours =
        (double)axp__rate_to_ns(axp__clock_rate(), to.ticks - from.ticks);
    double theirs = (double)(to.monotonic_ns - from.monotonic_ns);
    double apart = ours / theirs - 1;
    if (apart * (double)ms > 2e-4 || apart * (double)ms < -2e-4)
        fail_msg("%.3g apart over %ld ms", apart, ms);
    if (asked) print_message("%.3g apart over %ld ms\n", apart, ms);
}

static void a_test_clock_has_its_own_rate(void **state)
{
    (void)state;
    uint64_t mult = axp__clock_rate().mult;
    axp__clock_set_test(ts_read_fake);
    assert_int_equal(axp__clock_rate().mult, (uint64_t)1 << 32);
    axp__clock_set_test(NULL);
    assert_int_equal(axp__clock_rate().mult, mult);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_rounded_as_by_the_kernel),
        cmocka_unit_test(both_layouts_are_read),
        cmocka_unit_test(other_pages_are_not_believed),
        cmocka_unit_test(the_page_ends),
        cmocka_unit_test(the_counter_is_used_where_the_kernel_uses_it),
        cmocka_unit_test(ticks_are_the_kernels_raw_time),
        cmocka_unit_test(a_test_clock_has_its_own_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
