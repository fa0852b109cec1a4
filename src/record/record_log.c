/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages for the program; see record_log.h. */
#include "record/record_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "record/record_name.h"

void axp__log(const struct axp__prof *p, int level, const char *format, ...)
{
    char text[4800]; /* a path and a sentence */
    int keep = errno;
    va_list args;
    if (!p->log) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->log(level, text, p->log_ctx);
    errno = keep;
}

void axp__log_warnings(const struct axp__prof *p)
{
    static const struct {
        const char *code, *text;
    } kinds[] = {
#define X(id, code, text) {code, text},
#include "record/record_warning.def"
#undef X
    };
    for (int i = 0; p->log && i < AXP__N_WARNINGS; i++) {
        uint64_t count = axp__get(&p->warning[i].count);
        uint32_t name = axp__get(&p->warning[i].name);
        if (!count) continue;
        if (name)
            axp__log(p, AXP_LOG_WARNING, "%s: %llu %s (last: %s)",
                     kinds[i].code, (unsigned long long)count, kinds[i].text,
                     axp__name_at(name)->text);
        else
            axp__log(p, AXP_LOG_WARNING, "%s: %llu %s", kinds[i].code,
                     (unsigned long long)count, kinds[i].text);
    }
}
