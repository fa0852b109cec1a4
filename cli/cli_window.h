/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which part of a run is recorded, and which part of the timeline is kept:
 * --delay, --duration, --steps; --keep, --keep-steps, --trigger. */
#ifndef CLI_WINDOW_H
#define CLI_WINDOW_H
#include <axprof/axprof_file.h>

#include "cli/cli_args.h"

typedef struct cli_window {
    uint64_t delay_ns, duration_ns; /* 0: none */
    uint64_t first_step, end_step;  /* end 0: none */
    bool has_steps;
    axp_drain_keep keep;
} cli_window;

int cli_window_read(const cli_args *args, cli_window *out);
/* The variable for the program, "AXPROF_WINDOW=…"; NULL: everything is
 * recorded. Caller frees. */
char *cli_window_variable(const cli_window *w, uint64_t begin_ns);
/* Sets our own: what is recorded from outside is of the same part, and says
 * which one that was to be, though nothing else comes of it. */
void cli_window_announce(const cli_window *w, uint64_t begin_ns);
/* When recording must end; 0: never. */
uint64_t cli_window_end(const cli_window *w, uint64_t begin_ns);
/* "from 5.000 s to 15.000 s", for a remark; NULL: all. Caller frees. */
char *cli_window_text(const cli_window *w);

#endif
