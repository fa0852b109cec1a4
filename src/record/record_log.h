/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program hears while it records: axp_options.log.
 *
 * Said     that a file begins and is complete; that it cannot be written, with
 *          the reason; and when all is over each kind of warning, for programs
 *          that never look at a report.
 * From     axp_profiler_create, axp_flush, axp_finish, axp_profiler_destroy and
 *          the drain. Never a recording call: those call nobody.
 * Not      when the process ends by itself: the client's code may be gone.
 */
#ifndef AXP_RECORD_LOG_H
#define AXP_RECORD_LOG_H
#include "record/record_profiler.h"

__attribute__((format(printf, 3, 4))) void axp__log(const struct axp__prof *p,
                                                    int level,
                                                    const char *format, ...);
/* Each warning that was counted. */
void axp__log_warnings(const struct axp__prof *p);

#endif
