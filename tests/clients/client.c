/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the C clients are: it records and it reads. */
#include <axprof/axprof_read.h>
#include <stdio.h>

static void work(void)
{
    AXP_SCOPE_WORK("work", .flops = 100);
    AXP_COUNTER("counter", 1);
}

int main(void)
{
    axp_op op;
    for (int i = 0; i < 3; i++) {
        work();
        AXP_STEP();
    }
    axp_view *v = axp_snapshot(axp_global());
    if (!v || axp_view_op(v, "work", &op) != AXP_OK) return 1;
    printf("work: %d calls, %g flops, %d steps\n", (int)op.calls, op.flops,
           (int)axp_view_steps(v).count);
    axp_view_destroy(v);
    return 0;
}
