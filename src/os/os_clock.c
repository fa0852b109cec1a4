/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Choice and calibration of the clock; see os_clock.h. */
#include "os/os_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CALIBRATE_NS 20000000u

uint8_t axp__clock_source = AXP__CLOCK_UNSET;
static uint64_t (*test_read)(void);
static uint64_t fixed_mult;
static struct axp__clock_pair first_pair;
static uint8_t first_pair_state; /* 0 none, 1 being taken, 2 there */

static uint64_t os_ns(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts)) return 0;
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#if defined(__x86_64__)
/* Many virtual machines hide the invariant flag while the kernel itself runs
 * on the counter: believe the kernel. */
static int kernel_runs_on_tsc(void)
{
    char name[8] = {0};
    int keep = errno, ok = 0;
    int fd = open("/sys/devices/system/clocksource/clocksource0/"
                  "current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ok = read(fd, name, sizeof name - 1) >= 3 && !memcmp(name, "tsc", 3);
        close(fd);
    }
    errno = keep;
    return ok;
}
#endif

static uint8_t choose_source(void)
{
#if defined(__aarch64__)
    return AXP__CLOCK_RAW;
#elif defined(__x86_64__)
    return kernel_runs_on_tsc() ? AXP__CLOCK_RAW : AXP__CLOCK_OS;
#else
    return AXP__CLOCK_OS;
#endif
}

struct axp__clock_pair axp__clock_pair_now(void)
{
    struct axp__clock_pair best = {0, 0, 0};
    uint64_t best_window = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = axp__clock_ticks();
        uint64_t mono = os_ns(CLOCK_MONOTONIC);
        uint64_t after = axp__clock_ticks();
        if (after - before >= best_window) continue;
        best_window = after - before;
        best.ticks = before + best_window / 2;
        best.monotonic_ns = mono;
    }
    best.realtime_ns =
        os_ns(CLOCK_REALTIME) - (os_ns(CLOCK_MONOTONIC) - best.monotonic_ns);
    return best;
}

void axp__clock_init(void)
{
    uint8_t none = 0;
    if (axp__get(&axp__clock_source) == AXP__CLOCK_UNSET)
        axp__put(&axp__clock_source, choose_source());
    if (!axp__cas(&first_pair_state, &none, 1)) return;
    first_pair = axp__clock_pair_now();
    axp__put_release(&first_pair_state, 2);
}

struct axp__clock_pair axp__clock_pair_first(void)
{
    if (axp__get(&test_read)) return (struct axp__clock_pair){0, 0, 0};
    while (axp__get_acquire(&first_pair_state) != 2)
        axp__clock_init();
    return first_pair;
}

uint64_t axp__clock_read_slow(void)
{
    uint64_t (*read)(void) = axp__get(&test_read);
    if (read) return read();
    if (axp__get(&axp__clock_source) == AXP__CLOCK_UNSET) {
        axp__put(&axp__clock_source, choose_source());
        if (axp__get(&axp__clock_source) == AXP__CLOCK_RAW)
            return axp__clock_ticks();
    }
    return os_ns(CLOCK_MONOTONIC);
}

#if defined(__x86_64__)
static uint64_t measured_mult(void)
{
    struct axp__clock_pair from, to;
    while (axp__get_acquire(&first_pair_state) != 2)
        axp__clock_init();
    from = first_pair;
    do
        to = axp__clock_pair_now();
    while (to.monotonic_ns - from.monotonic_ns < CALIBRATE_NS);
    return (uint64_t)(((axp__wide)(to.monotonic_ns - from.monotonic_ns) << 32) /
                      (to.ticks - from.ticks));
}
#endif

static uint64_t find_mult(void)
{
    if (axp__get(&axp__clock_source) != AXP__CLOCK_RAW)
        return (uint64_t)1 << 32;
#if defined(__aarch64__)
    uint64_t hz;
    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    return (uint64_t)(((axp__wide)1000000000u << 32) / hz);
#elif defined(__x86_64__)
    return measured_mult();
#else
    return (uint64_t)1 << 32;
#endif
}

uint64_t axp__clock_now(void)
{
    return axp__clock_ticks();
}

struct axp__rate axp__clock_rate(void)
{
    uint64_t mult = axp__get(&fixed_mult);
    if (!mult) {
        uint64_t found = find_mult();
        mult = axp__cas(&fixed_mult, &mult, found) ? found : mult;
    }
    return (struct axp__rate){mult};
}

void axp__clock_set_test(uint64_t (*read)(void))
{
    axp__put(&test_read, read);
    axp__put(&axp__clock_source,
             read ? (uint8_t)AXP__CLOCK_OS : choose_source());
}
