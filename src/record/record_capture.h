/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A live profiler's state, copied while its threads go on; record_capture.c.
 * Exported to libaxprof of the same version alone. */
#ifndef AXP_RECORD_CAPTURE_H
#define AXP_RECORD_CAPTURE_H
#include "axprof/axprof.h"
#include "tally/tally_capture.h"

struct axp__prof;

/* NULL on failure: axp_last_error says why. */
AXP_API struct axp__capture *axp__capture_take(axp_profiler *p);
/* The same without words, by the profiler's mutex. */
struct axp__capture *axp__capture_of(struct axp__prof *p);
AXP_API void axp__capture_free(struct axp__capture *c); /* NULL allowed */

#endif
