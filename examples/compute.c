/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compute statistics: declared work, and the operations by time and calls. */
#include <axprof/axprof_read.h>
#include <math.h>
#include <string.h>

#include "example_check.h"

int main(void)
{
    axp_profiler *profiler = axp_profiler_create(NULL);
    const double flops = 2.0 * 1024 * 1024 * 1024;
    char time[32];
    CHECK(profiler);

    axp_start_work(profiler, "matmul",
                   (axp_work){.flops = flops, .bytes = 12.0 * 1024 * 1024});
    work_for_ms(10);
    axp_stop(profiler, "matmul");
    for (int i = 0; i < 4; i++) {
        axp_start(profiler, "relu");
        work_for_ms(1);
        axp_stop(profiler, "relu");
    }

    axp_view *view = axp_snapshot(profiler);
    axp_op top[5];
    CHECK(view);
    size_t n = axp_view_ops(view, AXP_BY_TIME, top, 5);
    CHECK(n == 2);
    for (size_t i = 0; i < n; i++)
        printf("%s: %llu calls, %s total, %.1f GFLOP/s\n", top[i].name,
               (unsigned long long)top[i].calls,
               axp_format_ns(time, sizeof time, top[i].total_ns),
               axp_op_gflops(&top[i]));
    CHECK(!strcmp(top[0].name, "matmul") && top[0].calls == 1);
    CHECK(top[0].flops == flops && top[0].n_flops_calls == 1);
    CHECK(fabs(axp_op_gflops(&top[0]) - flops / (double)top[0].total_ns) <
          1e-6);
    CHECK(isnan(axp_op_gflops(&top[1])));
    axp_view_ops(view, AXP_BY_CALLS, top, 5);
    CHECK(!strcmp(top[0].name, "relu") && top[0].calls == 4);

    axp_view_destroy(view);
    axp_profiler_destroy(profiler);
    return 0;
}
