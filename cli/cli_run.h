/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One run of `axprof run`, shared by the file that starts and watches it
 * (cli_run.c) and the one that reports (cli_run_report.c). */
#ifndef CLI_RUN_H
#define CLI_RUN_H
#include <axprof/axprof.h>

#include "cli/cli_drain.h"
#include "cli/cli_files.h"
#include "cli/cli_launch.h"
#include "cli/cli_processes.h"
#include "cli/cli_sampling.h"
#include "cli/cli_status.h"
#include "cli/cli_unrecorded.h"
#include "cli/cli_watch.h"
#include "cli/cli_window.h"

typedef struct cli_run {
    const cli_args *args;
    bool is_quiet;
    cli_target target;
    char *preload; /* adapters; NULL: none */
    char *count;   /* where processes count themselves; NULL: nowhere */
    cli_unrecorded unrecorded;
    cli_window window;
    cli_files files;
    cli_drains *drains;
    cli_launch launch;
    axp_profiler *profiler; /* what is seen from outside */
    char *why_no_file;      /* that has one; NULL: it has */
    cli_processes *processes;
    cli_sampling sampling;
    uint64_t memory_bytes; /* cli_memory.h */
    bool has_no_events;    /* of the program, in what was reported */
    cli_status status;
    cli_watch watch;
    uint64_t begin_ns, next_look_ns, next_line_ns, next_drain_ns;
    uint64_t next_sampling_ns;
    uint64_t line_ns, line_steps; /* when it was last shown, and steps then */
} cli_run;

/* The program goes on: what there is. */
void cli_run_report_so_far(cli_run *r);
/* The program has ended: completes the files, reports, says where they are. */
void cli_run_report(cli_run *r);

#endif
