/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers in few columns; see emit_short.h. */
#include "emit/emit_short.h"

#include <stdio.h>
#include <string.h>

#include "base/base_number.h"

/* The unit has two columns, so that digits stand below digits. */
static char *join(axp__cell out, double value, int decimals, const char *unit)
{
    axp__fixed(out, AXP__CELL, value, decimals);
    size_t len = axp__append(out, AXP__CELL, strlen(out), " ");
    len = axp__append(out, AXP__CELL, len, unit);
    if (!unit[1]) axp__append(out, AXP__CELL, len, " ");
    return out;
}

static char *with_unit(axp__cell out, double value, const char *unit)
{
    return join(out, value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

char *axp__short_ns(axp__cell out, axp_ns ns)
{
    double value = (double)ns;
    if (ns < 1000) return join(out, value, 0, "ns");
    if (value < 999.5e3) return with_unit(out, value / 1e3, "us");
    if (value < 999.5e6) return with_unit(out, value / 1e6, "ms");
    return with_unit(out, value / 1e9, "s");
}

char *axp__short_bytes(axp__cell out, uint64_t bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB", "PB"};
    double value = (double)bytes / 1024;
    int unit = 0;
    if (bytes < 1024) return join(out, (double)bytes, 0, "B");
    for (; value >= 1023.5 && unit < 4; unit++)
        value /= 1024;
    return with_unit(out, value, units[unit]);
}

char *axp__short_count(axp__cell out, uint64_t count)
{
    char digits[10]; /* the last one first */
    size_t n = 0, len = 0;
    if (count >= 1000000000000u)
        return with_unit(out, (double)count / 1e12, "T");
    if (count >= 1000000000) return with_unit(out, (double)count / 1e9, "G");
    do
        digits[n++] = (char)('0' + count % 10);
    while (count /= 10);
    while (n--) {
        out[len++] = digits[n];
        if (n && n % 3 == 0) out[len++] = ',';
    }
    out[len] = 0;
    return out;
}

char *axp__short_rate(axp__cell out, double value)
{
    out[0] = 0;
    if (isnan(value)) return out;
    if (value > 0 && value < 0.005) {
        axp__append(out, AXP__CELL, 0, "<0.01");
        return out;
    }
    return axp__fixed(out, AXP__CELL, value,
                      value < 9.995   ? 2
                      : value < 99.95 ? 1
                                      : 0);
}

char *axp__short_percent(axp__cell out, double share)
{
    axp__fixed(out, AXP__CELL, 100 * share, 1);
    axp__append(out, AXP__CELL, strlen(out), "%");
    return out;
}

char *axp__short_number(axp__cell out, double value)
{
    if (fabs(value) < 1e9 && value == floor(value))
        return axp__fixed(out, AXP__CELL, value, 0);
    return axp__digits3(out, AXP__CELL, value);
}

static bool has_many(const axp_warning *w)
{
    return w->count >= 2 && strncmp(w->text, "the ", 4) != 0;
}

const char *axp__short_last(const axp_warning *w)
{
    bool is_most = !strcmp(w->code, "own_overhead"); /* called most often */
    return has_many(w) && !is_most ? "last: " : "";
}

char *axp__short_place(char out[AXP__SHORT_PLACE_BYTES], const char *file,
                       int line, size_t columns)
{
    char text[4200];
    if (!file || !*file || line <= 0) return NULL;
    if (columns >= AXP__SHORT_PLACE_BYTES) columns = AXP__SHORT_PLACE_BYTES - 1;
    int n = snprintf(text, sizeof text, "%s:%d", file, line);
    size_t len = n < (int)sizeof text ? (size_t)n : sizeof text - 1;
    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~') text[i] = '?';
    const char *from = text;
    if (len > columns) {
        from = text + len - columns + 3;
        const char *folder = strchr(from, '/');
        if (folder) from = folder + 1;
    }
    size_t at =
        axp__append(out, AXP__SHORT_PLACE_BYTES, 0, from > text ? "..." : "");
    axp__append(out, AXP__SHORT_PLACE_BYTES, at, from);
    return out;
}

char *axp__cell_place(axp__cell out, const char *file, int line)
{
    char place[AXP__SHORT_PLACE_BYTES];
    bool is_known = axp__short_place(place, file, line, AXP__CELL - 4);
    axp__append(out, AXP__CELL, 0, is_known ? place : "");
    return out;
}

char *axp__mark_doubt(axp__cell out, const char *figure, const axp_op *op)
{
    snprintf(out, AXP__CELL, "%s%s", op->is_doubtful ? "?" : "", figure);
    return out;
}

bool axp__has_doubt(const axp_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ops[i].is_doubtful) return true;
    return false;
}

const char *axp__short_many(axp__cell out, const axp_warning *w)
{
    out[0] = 0;
    if (!has_many(w)) return out;
    axp__short_count(out, w->count);
    axp__append(out, AXP__CELL, strlen(out), " ");
    return out;
}

char *axp__short_waiting(axp__cell out, const axp_thread_info *t)
{
    axp_ns ns = t->is_scheduled ? t->off_ns + t->spun_ns : t->wait_ns;
    out[0] = 0;
    return ns ? axp__short_ns(out, ns) : out;
}
