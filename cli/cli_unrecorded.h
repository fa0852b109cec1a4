/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Processes of a run that could not make their recording, as they tell it in a
 * file of the run's parts which they and we have mapped (axprof_adapter.h). What
 * is in it is theirs: it is copied before it is looked at. */
#ifndef CLI_UNRECORDED_H
#define CLI_UNRECORDED_H
#include <axprof/axprof_adapter.h>

typedef struct cli_unrecorded {
    char *path; /* NULL: there is none, and nothing is told */
    axp_unrecorded *page;
} cli_unrecorded;

/* In that folder; NULL: nowhere. */
void cli_unrecorded_begin(cli_unrecorded *u, const char *folder);
void cli_unrecorded_fini(cli_unrecorded *u);
/* A warning of the run's, where there are any. */
void cli_unrecorded_record(const cli_unrecorded *u, axp_profiler *p);
/* One line, where there are any; how many. */
uint64_t cli_unrecorded_say(const cli_unrecorded *u);

#endif
