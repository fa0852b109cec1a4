/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A client that calls libaxprof alone, which has to find libaxprof_rt. */
#include <axprof/axprof_read.h>
#include <stdio.h>

int main(void)
{
    const char *name = axp_export_format_name(AXP_EXPORT_CHROME, NULL);
    printf("format: %s\n", name);
    return 0;
}
