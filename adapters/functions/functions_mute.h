/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that are recorded no longer, since recording them took too much.
 *
 * Rule       16384 calls of each function are recorded in any case. One that is
 *            then called 1024 times within 3 ms takes more than 2 % of a
 *            thread's time to record (60 ns a call): from then on its calls
 *            are counted and not recorded. With n threads they must
 *            come n times as fast. A function that takes 3 us never comes so
 *            far.
 * Counts     each thread counts muted calls by itself, exactly; what it has
 *            counted is told to the recorder (axp_muted) now and then, when
 *            the thread ends, and for all when the process ends
 *            (common_exit.h).
 * Cost       of a muted call is measured now and then, some 25 us each time,
 *            and told with the counts, so that reports say what it came to.
 * Names      of muted functions are kept from when they were muted: their library
 *            may be gone when their calls are told. Of one that comes back and is
 *            muted again the calls are added.
 * Memory     some pages of counts a thread, used again by later threads and never
 *            unmapped: the last one reads them all.
 * Threads    functions_count by its own thread alone.
 */
#ifndef FUNCTIONS_MUTE_H
#define FUNCTIONS_MUTE_H
#include <stdint.h>

#include "functions_near.h"
#include "functions_sites.h"

/* Muted functions have numbers from 1; those past the last share it. One more is
 * that of the functions that are called to measure, and is told to nobody. */
enum {
    FUNCTIONS_MUTED_MAX = 510,
    FUNCTIONS_MEASURED = FUNCTIONS_MUTED_MAX,
    FUNCTIONS_TOO_OFTEN = 1024,
    FUNCTIONS_FREE = 16384
};

/* What a thread has. */
struct functions_counts {
    struct functions_counts *next;
    uint32_t is_taken;
    uint32_t n_misses;                        /* of near */
    uint64_t n_calls[FUNCTIONS_MEASURED + 1]; /* by number, not told yet */
    struct functions_near near[FUNCTIONS_NEAR];
};

/* NULL: no memory, or it is not to be asked for. */
struct functions_counts *functions_counts_take(void);
/* What the calling thread has; NULL: nothing yet. (functions_hooks.c) */
const struct functions_counts *functions_counts_own(void);
/* Tells what was counted, and lets another thread have it. */
void functions_counts_give(struct functions_counts *c);

/* A recorded call. HOT */
static inline int functions_is_hot(struct functions_site *s)
{
    return s->n_calls++ % FUNCTIONS_TOO_OFTEN == 0;
}
/* When that says so: looks at the clock, and mutes it or not. */
void functions_judge(struct functions_site *s);

/* It is another function from now on (functions_close.h), and recorded. */
void functions_unmute(struct functions_site *s);

/* A call of a muted function, in one of a thread's n_calls. HOT */
static inline int functions_count(uint64_t *n_calls)
{
    return (++*n_calls & ((1u << 20) - 1)) == 0;
}
/* What a muted call takes more than one of the C library's empty hooks, in
 * picoseconds: calls the hooks of this thread's. (functions_hooks.c) */
uint64_t functions_measure(void);
/* One more time: the lower quartile of all is told. */
void functions_measure_again(void);
/* When that says so: tells. */
void functions_count_tell(struct functions_counts *c, uint32_t number);

#endif
