/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Choice of the clock, and its rate; see os_clock.h. */
#include "os/os_clock.h"

#include "os/os_vvar.h"

#define NS_PER_S 1000000000u

uint8_t axp__clock_source = AXP__CLOCK_UNSET;
static uint64_t (*test_read)(void);
static uint64_t raw_mult; /* known before the source is RAW */
static struct axp__clock_pair first_pair;
static uint8_t first_pair_state; /* 0 none, 1 being taken, 2 there */

uint64_t axp__clock_of(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts)) return 0;
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Of the counter, where the kernel keeps time by it; else 0. */
static uint64_t find_mult(void)
{
#if defined(__aarch64__)
    uint64_t hz;
    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    return axp__clock_mult_of(hz);
#else
    return axp__vvar_mult();
#endif
}

uint64_t axp__clock_mult_of(uint64_t hz)
{
    unsigned room = 32;
    for (uint64_t high = 600 * hz >> 32; high; high >>= 1)
        room--;
    for (unsigned shift = 32; hz && shift; shift--) {
        uint64_t mult = (((uint64_t)NS_PER_S << shift) + hz / 2) / hz;
        if (mult >> room == 0) return mult << (32 - shift);
    }
    return 0;
}

static uint8_t choose_source(void)
{
    uint64_t mult = find_mult();
    if (!mult) return AXP__CLOCK_OS;
    axp__put(&raw_mult, mult);
    return AXP__CLOCK_RAW;
}

static void choose_once(void)
{
    if (axp__get(&axp__clock_source) == AXP__CLOCK_UNSET)
        axp__put_release(&axp__clock_source, choose_source());
}

struct axp__clock_pair axp__clock_pair_now(void)
{
    struct axp__clock_pair best = {0, 0, 0};
    uint64_t best_window = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = axp__clock_ticks();
        uint64_t mono = axp__clock_of(CLOCK_MONOTONIC);
        uint64_t after = axp__clock_ticks();
        if (after - before >= best_window) continue;
        best_window = after - before;
        best.ticks = before + best_window / 2;
        best.monotonic_ns = mono;
    }
    best.realtime_ns = axp__clock_of(CLOCK_REALTIME) -
                       (axp__clock_of(CLOCK_MONOTONIC) - best.monotonic_ns);
    return best;
}

void axp__clock_init(void)
{
    uint8_t none = 0;
    choose_once();
    if (!axp__cas(&first_pair_state, &none, 1)) return;
    first_pair = axp__clock_pair_now();
    axp__put_release(&first_pair_state, 2);
}

struct axp__clock_pair axp__clock_pair_first(void)
{
    if (axp__get(&test_read)) return (struct axp__clock_pair){0, 0, 0};
    axp__clock_init();
    /* Another thread may be taking it, or was when this process was forked. */
    bool is_there = axp__get_acquire(&first_pair_state) == 2;
    return is_there ? first_pair : axp__clock_pair_now();
}

uint64_t axp__clock_read_slow(void)
{
    uint64_t (*read)(void) = axp__get(&test_read);
    if (read) return read();
    choose_once();
    return axp__clock_is_raw() ? axp__clock_raw()
                               : axp__clock_of(CLOCK_MONOTONIC);
}

uint64_t axp__clock_now(void)
{
    return axp__clock_ticks();
}

struct axp__rate axp__clock_rate(void)
{
    choose_once();
    bool is_raw = axp__get_acquire(&axp__clock_source) == AXP__CLOCK_RAW;
    return (struct axp__rate){is_raw ? axp__get(&raw_mult) : (uint64_t)1 << 32};
}

void axp__clock_set_test(uint64_t (*read)(void))
{
    axp__put(&test_read, read);
    axp__put(&axp__clock_source,
             read ? (uint8_t)AXP__CLOCK_OS : choose_source());
}
