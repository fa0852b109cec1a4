/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How long threads ran and wanted to run, by /proc/PID/task/TID/schedstat: all
 * that is known where the kernel's records are refused (sampling_states.h has
 * them); beside those, how long threads wanted to run that had been woken, since
 * no record says when that was.
 *
 * Place    the parent looks every 20 ms, or so seldom that looking takes a
 *          hundredth of the time; what happened after the last look at a thread
 *          is not known.
 * Input    the kernel's texts; what is not there, or is something else, is
 *          nothing.
 * Memory   of the threads that there were, up to 65,536.
 */
#ifndef AXP_SAMPLING_TASKS_H
#define AXP_SAMPLING_TASKS_H
#include <stdbool.h>
#include <stdint.h>

struct axp__tasks;
struct axp__thread_states;

struct axp__tasks *axp__tasks_create(void);    /* NULL: no memory */
void axp__tasks_destroy(struct axp__tasks *t); /* NULL allowed */
/* Whether it is time for another look; then each process is to be looked at,
 * and the look ended. */
bool axp__tasks_begin(struct axp__tasks *t);
bool axp__tasks_look(struct axp__tasks *t, uint32_t pid); /* false: gone */
void axp__tasks_end(struct axp__tasks *t);
/* The last look at a thread: for how long it had wanted to run by then. 0: none. */
struct axp__task_look {
    uint64_t at_ns, ready_ns;
};
struct axp__task_look axp__tasks_look_of(const struct axp__tasks *t,
                                         uint64_t pid, uint64_t tid);
/* Each thread, its times in ns of CLOCK_MONOTONIC_RAW. */
void axp__tasks_give(struct axp__tasks *t,
                     void (*give)(void *ctx,
                                  const struct axp__thread_states *s),
                     void *ctx);

#endif
