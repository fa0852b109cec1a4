/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the threads of a run did, by the scheduler's own records: ran, wanted to
 * run and had no processor, or waited. Sums of each thread's life; there is one
 * record when a thread has ended, or sampling has.
 *
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

/* Given each thread that has ended; times in ns of the kernel's records, as
 * they were given. */
typedef void (*axp__states_fn)(void *ctx, const struct axp__thread_states *s);

struct axp__states *axp__states_create(axp__states_fn give, void *ctx);
void axp__states_destroy(struct axp__states *s); /* NULL allowed */
/* FORK, EXIT, SWITCH, and COMM where it is exec's; others are nothing. */
void axp__states_take(struct axp__states *s, const struct axp__perf_record *r);
/* All that are left end now. */
void axp__states_end(struct axp__states *s, uint64_t now_ns);

#endif
