/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bytes and durations as people read them: the one place that decides the
 * strings, used by every report. Writes nothing when buf is NULL or size 0. */
#include <string.h>

#include "axprof/axprof.h"
#include "base/base_number.h"

static char *with_unit(char *buf, size_t size, double value, int decimals,
                       const char *unit)
{
    axp__fixed(buf, size, value, decimals);
    size_t len = axp__append(buf, size, strlen(buf), " ");
    axp__append(buf, size, len, unit);
    return buf;
}

char *axp_format_bytes(char *buf, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"KB", "MB", "GB"};
    double value = (double)bytes / 1024;
    int unit = 0;

    if (!buf || !size) return buf;
    if (bytes < 1024) return with_unit(buf, size, (double)bytes, 0, "B");
    for (; value >= 1024 && unit < 2; unit++)
        value /= 1024;
    return with_unit(buf, size, value, 2, units[unit]);
}

/* In whole numbers until the last division, so that a half of the last digit
 * is rounded up whatever a double makes of it. */
static char *in_unit(char *buf, size_t size, axp_ns ns, axp_ns thousandth,
                     const char *unit)
{
    axp_ns n = ns / thousandth + (ns % thousandth * 2 >= thousandth);

    return with_unit(buf, size, (double)n / 1000, 3, unit);
}

char *axp_format_ns(char *buf, size_t size, axp_ns ns)
{
    if (!buf || !size) return buf;
    if (ns >= 1000000000) return in_unit(buf, size, ns, 1000000, "s");
    if (ns >= 1000000) return in_unit(buf, size, ns, 1000, "ms");
    if (ns >= 1000) return in_unit(buf, size, ns, 1, "us");
    return with_unit(buf, size, (double)ns, 0, "ns");
}
