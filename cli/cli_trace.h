/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The recordings a verb was given: opened, or a message that says what to do.
 *
 * Ownership  the view is the caller's.
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H
#include <axprof/axprof_read.h>

#include "cli/cli_args.h"

/* Is there at least one, and does each look like a file? */
int cli_trace_check(const cli_args *args);
int cli_trace_open(const cli_args *args, axp_view **out);
/* Refuses to write over a recording that was given. */
int cli_trace_spare(const cli_args *args, const char *path);
/* What was written of the view went well with rc: says what the recording lacks,
 * CLI_DAMAGED if it lacks anything. */
int cli_trace_damage(const axp_view *view, int rc);

#endif
