/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bytes and durations as people read them: the one place that decides the
 * strings, used by every report. Writes nothing when buf is NULL or size 0. */
#include <inttypes.h>
#include <stdio.h>

#include "axprof/axprof.h"

char *axp_format_bytes(char *buf, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"KB", "MB", "GB"};
    double value = (double)bytes / 1024;
    int unit = 0;

    if (!buf || !size) return buf;
    if (bytes < 1024) {
        snprintf(buf, size, "%" PRIu64 " B", bytes);
        return buf;
    }
    for (; value >= 1024 && unit < 2; unit++)
        value /= 1024;
    snprintf(buf, size, "%.2f %s", value, units[unit]);
    return buf;
}

char *axp_format_ns(char *buf, size_t size, axp_ns ns)
{
    if (!buf || !size) return buf;
    if (ns < 1000)
        snprintf(buf, size, "%" PRIu64 " ns", ns);
    else if (ns < 1000000)
        snprintf(buf, size, "%.3f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        snprintf(buf, size, "%.3f ms", (double)ns / 1e6);
    else
        snprintf(buf, size, "%.3f s", (double)ns / 1e9);
    return buf;
}
