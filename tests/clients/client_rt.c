/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A client that records and asks one number: libaxprof_rt alone. */
#include <axprof/axprof.h>
#include <stdio.h>

int main(void)
{
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE("work");
    }
    printf("work: %d calls\n", (int)axp_call_count(axp_global(), "work"));
    return 0;
}
