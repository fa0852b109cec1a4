/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Basic profiling: start and stop by name, and the quick answers. */
#include <axprof/axprof.h>

#include "example_check.h"

int main(void)
{
    axp_profiler *profiler = axp_profiler_create(NULL);
    char total[32], avg[32];
    CHECK(profiler);

    for (int i = 0; i < 3; i++) {
        axp_start(profiler, "forward_pass");
        work_for_ms(5);
        axp_stop(profiler, "forward_pass");
    }

    axp_ns total_ns = axp_total_time(profiler, "forward_pass");
    axp_ns avg_ns = axp_avg_time(profiler, "forward_pass");
    printf("Total: %s, Average: %s\n",
           axp_format_ns(total, sizeof total, total_ns),
           axp_format_ns(avg, sizeof avg, avg_ns));

    CHECK(axp_call_count(profiler, "forward_pass") == 3);
    CHECK(total_ns >= 15000000);
    CHECK(avg_ns == total_ns / 3);
    CHECK(axp_total_time(profiler, "never started") == 0);
    axp_profiler_destroy(profiler);
    return 0;
}
