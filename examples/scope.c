/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes: timed from their line to the end of the block, however it is left.
 */
#include <axprof/axprof.h>

#include "example_check.h"

static int early_return(axp_profiler *profiler, int n)
{
    AXP_SCOPE_IN(profiler, "early_return");
    if (n < 0) return -1; /* the scope ends here too */
    work_for_ms(1);
    return n;
}

int main(void)
{
    axp_profiler *profiler = axp_profiler_create(NULL);
    CHECK(profiler);
    {
        AXP_SCOPE_IN(profiler, "expensive_operation");
        work_for_ms(3);
    }
    for (int i = 0; i < 5; i++) {
        AXP_SCOPE_IN(profiler, "another_operation");
        if (i == 3) break;
        work_for_ms(1);
    }
    early_return(profiler, -1);
    early_return(profiler, 1);

    CHECK(axp_call_count(profiler, "expensive_operation") == 1);
    CHECK(axp_total_time(profiler, "expensive_operation") >= 3000000);
    CHECK(axp_call_count(profiler, "another_operation") == 4);
    CHECK(axp_call_count(profiler, "early_return") == 2);
    printf("expensive_operation: %llu ns\n",
           (unsigned long long)axp_total_time(profiler, "expensive_operation"));
    axp_profiler_destroy(profiler);
    return 0;
}
