/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sampling as part of a run: on unless it is switched off, and where it cannot
 * be that is said, once, at the end. */
#ifndef CLI_SAMPLING_H
#define CLI_SAMPLING_H
#include <sys/types.h>

#include <axprof/axprof_file.h>

#include "cli/cli_args.h"

typedef struct cli_sampling {
    bool is_off;
    double hz; /* 0: the default */
    axp_sampling *of;
    char *path;    /* of its recording */
    char *ring;    /* the program's processes sample themselves, into it */
    char *why_not; /* NULL: it goes on, or went well */
    axp_sampling_info seen;
} cli_sampling;

int cli_sampling_read(const cli_args *args, cli_sampling *s);
typedef struct cli_sampling_of {
    const char *path; /* NULL: there is no place for it */
    const char
        *ring; /* for where the kernel gives no samples; NULL: not then */
    const char *title;
    const char *own; /* adapters, with colons between; NULL: none */
    pid_t pid;
} cli_sampling_of;
/* Before the program is executed. */
void cli_sampling_start(cli_sampling *s, const cli_sampling_of *of);
/* When to come again. */
uint64_t cli_sampling_step(cli_sampling *s, uint64_t now_ns);
/* Its recording is complete, or gone if nothing was seen; harmless to
 * repeat. */
void cli_sampling_stop(cli_sampling *s);
void cli_sampling_say(cli_sampling *s);

#endif
