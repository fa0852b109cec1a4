/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Processes of a run that could not make their recording, as they tell it in a
 * file of the run's parts which they and we have mapped (axprof_adapter.h). What
 * is in it is theirs: it is copied before it is looked at. Where not even that
 * file can be made, none of theirs can. */
#ifndef CLI_UNRECORDED_H
#define CLI_UNRECORDED_H
#include <stdbool.h>

#include <axprof/axprof_adapter.h>

typedef struct cli_unrecorded {
    char *path; /* NULL: there is none, and nothing is told */
    axp_unrecorded *page;
    const char *folder; /* where no file could be made, not even this one; */
    int error;          /* and why not; 0: it could */
} cli_unrecorded;

/* In that folder, which stays the caller's; NULL: nowhere, as was said. */
void cli_unrecorded_begin(cli_unrecorded *u, const char *folder);
void cli_unrecorded_fini(cli_unrecorded *u);
/* A warning of the run's, where there are any. `is_any`: something was recorded
 * in the program. */
void cli_unrecorded_record(const cli_unrecorded *u, axp_profiler *p,
                           bool is_any);
/* One line, where there are any; whether. */
bool cli_unrecorded_say(const cli_unrecorded *u, bool is_any);

#endif
