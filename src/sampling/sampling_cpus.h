/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The CPUs that a process of this control group may ever run on.
 *
 * Which    all that the group has; the affinity of the moment does not count, as
 *          a program may widen its own up to that.
 * Why      each thread of a sampled program has events of each CPU, which take the
 *          kernel some 2 µs apiece when it begins and ends: a job that was given 8
 *          CPUs of 128 would pay for all.
 * How      a thread of its own asks for all CPUs and is given those.
 */
#ifndef AXP_SAMPLING_CPUS_H
#define AXP_SAMPLING_CPUS_H
#include <sched.h>
#include <stdbool.h>

struct axp__cpus {
    bool is_known;    /* else any */
    cpu_set_t set[8]; /* 8192 CPUs, as many as Linux can have */
};

void axp__cpus_reach(struct axp__cpus *c);

static inline bool axp__cpus_has(const struct axp__cpus *c, int cpu)
{
    return !c->is_known || CPU_ISSET_S((size_t)cpu, sizeof c->set, c->set);
}

#endif
