/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program with planted causes, of which one is planted at a time.
 *
 *   PROGRAM --list                          what it has, a line a cause
 *   PROGRAM CAUSE INTENSITY [SEED [plain]]
 *
 * Intensity 0 is the healthy twin; ½, 1 and 2 are ever more of the cause, and
 * change that alone: all else is the same work. The seed makes the sizes of a
 * step's operations differ a little. "plain" leaves out every mark (scopes,
 * steps, work), so that only what is seen from outside is known.
 *
 * diagnosis_main.c is the frame; each family is a file with a table `causes`,
 * linked with it into a program of its own. diagnosis.py runs them all. */
#ifndef AXP_DIAGNOSIS_CAUSE_H
#define AXP_DIAGNOSIS_CAUSE_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <axprof/axprof.h>

#include "timed_support.h"

struct cause {
    const char *name;
    /* The finding that is right, and what it is to be about; '|' stands between
     * several that are, "*" for anything. NULL: the program is healthy. */
    const char *finding, *about;
    /* The same where nothing is marked, "name" or "Finding=name"; NULL: it
     * cannot be seen then. */
    const char *plain;
    void (*run)(void);
    bool is_starving; /* it takes the processors from itself */
};
extern const struct cause causes[]; /* the last has no name */

extern double cause_k; /* the intensity */

/* ---- marks, which "plain" leaves out ------------------------------------------- */
uint64_t cause_begin(const char *name); /* ended by axp_end */
uint64_t cause_begin_work(const char *name, axp_work work);
void cause_data(void); /* the open scope's category */
void cause_step(void);
void cause_alloc(const char *name, void *block, size_t bytes);
void cause_free(void *block);

/* ---- work ------------------------------------------------------------------------ */
#define CAUSE_UNIT 500000  /* additions: about 0.2 ms */
double cause_random(void); /* 0…1, of this thread */
double cause_jitter(void); /* 0.97…1.03 */

/* A function that does nothing but so many units of work: an operation of its
 * name where scopes are marked, a function that is sampled where not. */
#define OPERATION(name)                                                        \
    static __attribute__((noinline)) void name(double units)                   \
    {                                                                          \
        double additions = units * CAUSE_UNIT * cause_jitter();                \
        uint64_t scope = cause_begin(#name);                                   \
        TIMED_SPIN(additions);                                                 \
        axp_end(scope);                                                        \
    }

/* What a healthy program does: so many units, in eight operations of which none
 * is much. */
void cause_compute(double units);

/* Keeps what was computed from being left out. */
#define CAUSE_USE(x) __asm__ volatile("" : : "r,m"(x) : "memory")
void *cause_memory(size_t bytes); /* all 1, touched */

/* ---- threads --------------------------------------------------------------------- */
/* body(0) here and body(1) on another thread, until both have ended. */
void cause_pair(void (*body)(int me));
void cause_start(pthread_t *thread, void *(*body)(void *), void *argument);
extern pthread_barrier_t cause_barrier; /* of two */

#endif
