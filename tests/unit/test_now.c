/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The first calls that need nanoseconds wait for nothing: told by how often
 * they look at the kernel's clock, which here is this program's. */
#include "test_support.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static unsigned n_looks;

int clock_gettime(clockid_t id, struct timespec *ts)
{
    __atomic_fetch_add(&n_looks, 1, __ATOMIC_RELAXED);
    return (int)syscall(SYS_clock_gettime, id, ts);
}

static void the_first_call_waits_for_nothing(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    unsigned before = n_looks;
    axp_track *track = axp_track_create(p, "device");
    axp_ns at = axp_now(p);
    axp_track_span(track, "span", at, at + 10, NULL);
    /* Where it is the clock, now and the span read it once, and so do the rows
     * that the thread and the track get; a thread's row has its CPU time. */
    assert_in_range(n_looks - before, 0, 5);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_call_waits_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
