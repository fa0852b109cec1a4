/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The clock: raw counter ticks, and their value in nanoseconds.
 *
 * Place    read twice a scope, so its cost is the cost of the profiler
 *          (bench/floor.c): 6.7 ns on a Neoverse V1, 17–19 ns on the x86-64
 *          virtual machines tried. A fence would double it; order within a
 *          few nanoseconds does not matter to a profile.
 * Source   rdtsc or cntvct_el0 where the kernel itself keeps time by it and
 *          its rate is known, else clock_gettime (1 tick = 1 ns).
 * Rate     the kernel's own, that of CLOCK_MONOTONIC_RAW: on x86-64 read where
 *          the kernel keeps it (os_vvar), on aarch64 computed from the
 *          counter's frequency as the kernel does. Nothing is measured, so
 *          nobody waits, and all processes of a boot have one rate. It never
 *          changes: time never bends.
 * Threads  all functions from any thread.
 * Not here converting what a file recorded: that uses the file's own rate.
 */
#ifndef AXP_OS_CLOCK_H
#define AXP_OS_CLOCK_H
#include <stdint.h>
#include <time.h>

#include "base/base_atomic.h"

enum axp__clock_source { AXP__CLOCK_UNSET, AXP__CLOCK_RAW, AXP__CLOCK_OS };

__extension__ typedef unsigned __int128 axp__wide;

struct axp__rate { /* ns = ticks * mult / 2^32 */
    uint64_t mult;
};

extern uint8_t axp__clock_source __attribute__((visibility("hidden")));
uint64_t axp__clock_read_slow(void);

static inline bool axp__clock_is_raw(void)
{
    return axp__get(&axp__clock_source) == AXP__CLOCK_RAW;
}

/* The counter itself; means nothing unless axp__clock_is_raw. HOT */
static inline uint64_t axp__clock_raw(void)
{
#if defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#elif defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return axp__clock_read_slow();
#endif
}

/* HOT */
static inline uint64_t axp__clock_ticks(void)
{
    if (axp__likely(axp__clock_is_raw())) return axp__clock_raw();
    return axp__clock_read_slow();
}

/* The same, for libaxprof. */
__attribute__((visibility("default"))) uint64_t axp__clock_now(void);

/* Chooses the source, about 10 µs; harmless to repeat. */
void axp__clock_init(void);
__attribute__((visibility("default"))) struct axp__rate axp__clock_rate(void);

/* The mult of a counter of so many Hz, rounded as Linux rounds its own
 * (clocks_calc_mult_shift, for 600 s): up to 10⁻⁷ beside the frequency for a
 * counter of 2 GHz, and exactly CLOCK_MONOTONIC_RAW. */
uint64_t axp__clock_mult_of(uint64_t hz);

static inline uint64_t axp__rate_to_ns(struct axp__rate r, uint64_t ticks)
{
    return (uint64_t)((axp__wide)ticks * r.mult >> 32);
}

/* Nearest; the inverse of axp__rate_to_ns up to one tick. */
static inline uint64_t axp__rate_to_ticks(struct axp__rate r, uint64_t ns)
{
    return (uint64_t)((((axp__wide)ns << 32) + r.mult / 2) / r.mult);
}

/* A clock of the system, in nanoseconds; 0: there is none such. */
__attribute__((visibility("default"))) uint64_t axp__clock_of(clockid_t id);

/* Both clocks of the system beside the ticks, as close together as can be. */
struct axp__clock_pair {
    uint64_t ticks, monotonic_ns, realtime_ns;
};
struct axp__clock_pair axp__clock_pair_now(void);
/* The pair of this process's beginning; ticks 0: a test's clock runs. */
struct axp__clock_pair axp__clock_pair_first(void);

/* Tests only: replaces the source; NULL restores it. */
void axp__clock_set_test(uint64_t (*read)(void));

#endif
