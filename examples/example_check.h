/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The examples check what they print: a claim that does not hold ends the
 * program with a message and status 1. */
#ifndef EXAMPLE_CHECK_H
#define EXAMPLE_CHECK_H
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(claim)                                                           \
    do {                                                                       \
        if (!(claim)) {                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,  \
                    #claim);                                                   \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/* Something that takes a while. */
static inline void work_for_ms(long ms)
{
    struct timespec ts = {0, ms * 1000000};
    nanosleep(&ts, NULL);
}

#endif
