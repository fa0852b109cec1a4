/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The critical path for reports: what the run's length consists of.
 *
 * Place      text, Markdown, JSON; emit_perfetto_path.c has it over time.
 * Ownership  parts are the caller's, to be freed; strings are the view's.
 */
#ifndef AXP_EMIT_PATH_H
#define AXP_EMIT_PATH_H
#include "axprof/axprof_whatif.h"
#include "emit/emit_json_out.h"

#define AXP__PATH_SHOWN 8u /* parts, to people */

struct axp__path_parts {
    axp_path_part *at; /* most first */
    size_t n;
    axp_replay_info total;
    bool is_run; /* seen from outside: axprof run */
};

/* n = 0: there is nothing to tell. */
axp_status axp__path_parts(const axp_view *v, struct axp__path_parts *out);
/* The sentence that says how far to believe it; NULL: to the nanosecond. */
const char *axp__path_doubt(const struct axp__path_parts *p);
axp_status axp__path_json(struct axp__json *j, const axp_view *v);

#endif
