/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The recordings a verb was given: opened, or a message that says what to do.
 *
 * A recording is its file and, while its run goes on or after a kill, the parts
 * beside it (cli_parts.h). Without a name it is the newest here, which is said.
 *
 * Ownership  view and list are the caller's.
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H
#include <axprof/axprof_read.h>

#include "cli/cli_args.h"
#include "cli/cli_parts.h"

/* Files to read, at least one. */
int cli_trace_find(const cli_args *args, cli_parts *list);
/* symbols: the option that names folders with symbols. */
int cli_trace_open(const cli_args *args, cli_option_id symbols, axp_view **out);
/* Refuses to write over a recording that was given. */
int cli_trace_spare(const cli_args *args, const char *path);
/* What was written of the view went well with rc: says what the recording lacks,
 * CLI_DAMAGED if it lacks anything. */
int cli_trace_damage(const axp_view *view, int rc);

#endif
