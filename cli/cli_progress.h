/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A line on the terminal about something that takes longer than a second: how
 * long it has taken, and how much is written. It goes when that is done. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct cli_progress {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t done;
    bool is_done, is_on;
    const char *what;
    int fd; /* that is written to */
} cli_progress;

/* Only where standard error is a terminal and the output is none. */
void cli_progress_begin(cli_progress *p, const char *what, FILE *to);
void cli_progress_end(cli_progress *p);

#endif
