/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The global profiler: no handle to pass around. */
#include <axprof/axprof.h>

#include "example_check.h"

static void layer(void)
{
    AXP_FUNCTION();
    AXP_SCOPE_WORK("matmul", .flops = 2e6, .bytes = 3e4);
    work_for_ms(2);
}

int main(void)
{
    AXP_START("global_operation");
    layer();
    AXP_STOP("global_operation");
    AXP_ALLOC("global_tensor", 1024);

    axp_profiler *profiler = axp_global();
    CHECK(axp_call_count(profiler, "global_operation") == 1);
    CHECK(axp_call_count(profiler, "layer") == 1);
    CHECK(axp_total_time(profiler, "global_operation") >=
          axp_total_time(profiler, "layer"));
    CHECK(axp_total_time(profiler, "matmul") >= 2000000);
    CHECK(axp_current_memory(profiler) == 1024);
    AXP_FREE("global_tensor", 1024);
    CHECK(axp_current_memory(profiler) == 0);
    printf("global_operation: %llu ns\n",
           (unsigned long long)axp_total_time(profiler, "global_operation"));
    return 0;
}
