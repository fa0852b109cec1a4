/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A profiler's warnings into a capture: of a live one, and of a spool's. */
#ifndef AXP_RECORD_WARNING_H
#define AXP_RECORD_WARNING_H
#include "record/record_profiler.h"
#include "tally/tally_capture.h"

/* False: no memory. */
static inline bool axp__warnings_copy(struct axp__capture *c,
                                      const struct axp__prof *p)
{
    static const char *const codes[] = {
#define X(id, code, text) code,
#include "record/record_warning.def"
#undef X
    };
    static const char *const texts[] = {
#define X(id, code, text) text,
#include "record/record_warning.def"
#undef X
    };
    c->warnings = axp__cap_take(c, AXP__N_WARNINGS, sizeof *c->warnings);
    if (!c->warnings) return false;
    for (int i = 0; i < AXP__N_WARNINGS; i++)
        c->warnings[c->n_warnings++] = (struct axp__cap_warning){
            codes[i], texts[i], axp__get(&p->warning[i].count),
            axp__get(&p->warning[i].name)};
    return true;
}

#endif
