/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How the kernel turns the counter of an x86-64 CPU into nanoseconds.
 *
 * Place    behind os_clock, once a process. CLOCK_MONOTONIC_RAW is ticks *
 *          mult / 2^shift, with a mult that the kernel chose when it came up
 *          and never changes. It stands on the page from which the kernel's
 *          own vdso computes clock_gettime, mapped before the vdso into every
 *          process. Whoever reads it there has the very rate of that clock
 *          at once, and every process of a boot has the same.
 * Input    trusted, but its layout is no interface: a page is believed only
 *          if it holds two records, one after the other, that say: kept by
 *          the counter, last read a moment ago, all 64 bits count, and nearly
 *          the same rate. The first is bent by NTP, the second is not. They
 *          have looked like that since Linux 5.3.
 * Cost     about 10 µs, the system calls that ask whether a page may be read;
 *          no descriptor, no memory, errno untouched.
 * Failure  0: another clock, an older kernel, an emulator, valgrind. Such a
 *          process uses clock_gettime, whose rate is 1.
 */
#ifndef AXP_OS_VVAR_H
#define AXP_OS_VVAR_H
#include <stdint.h>

/* ns = ticks * this / 2^32 */
uint64_t axp__vvar_mult(void);

/* The same of one page; now: the counter. */
uint64_t axp__vvar_mult_of_page(const volatile uint64_t *page, uint64_t now);

#endif
