/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the threads of a run did, by the scheduler's own records: ran, wanted to
 * run and had no processor, or waited. Sums of each thread's life, told when it
 * has ended, or sampling has; and each time off a processor that is worth it, divided into
 * waiting and standing ready (sampling_woken.h).
 *
 * Worth    10 µs, and twice as much after each 262,144 that were: a program that
 *          changes threads all the time is seen coarser, and no file grows
 *          without end.
 * Memory   of the threads that there are at once. Past LIMIT that have ended
 *          the others are one, of no process.
 */
#ifndef AXP_SAMPLING_STATES_H
#define AXP_SAMPLING_STATES_H
#include "base/base_bytes.h"
#include "sampling/sampling_perf.h"

enum axp__thread_state {
    AXP__THREAD_UNKNOWN,
    AXP__THREAD_RUNS,
    AXP__THREAD_READY,
    AXP__THREAD_WAITS
};

struct axp__states;
struct axp__thread_states;

/* Of a thread that was not on a processor. */
struct axp__off {
    uint64_t process, tid;
    uint64_t begin_ns, end_ns;
    bool is_ready;          /* it wanted one */
    const uint64_t *frames; /* where it was when it left one */
    size_t n_frames;        /* 0: not known */
};

struct axp__states_to {
    /* Each thread that has ended; times in ns of the kernel's records, as they
     * were given. */
    void (*end)(void *ctx, const struct axp__thread_states *s);
    void (*off)(void *ctx, const struct axp__off *off); /* maybe much later */
    void *ctx;
};

struct axp__states *axp__states_create(const struct axp__states_to *to);
void axp__states_destroy(struct axp__states *s); /* NULL allowed */
/* FORK, EXIT, SWITCH, COMM, LOST; others are nothing. */
void axp__states_take(struct axp__states *s, const struct axp__perf_record *r);
/* A thread is about to leave its processor, and is there. */
void axp__states_leaves(struct axp__states *s, uint64_t tid,
                        const uint64_t *frames, size_t n);
/* There was a look at /proc: what a thread wanted to run in all. */
struct axp__tasks;
void axp__states_look(struct axp__states *s, const struct axp__tasks *tasks);
/* All that are left end now. */
void axp__states_end(struct axp__states *s, uint64_t now_ns);

#endif
