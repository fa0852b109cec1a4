/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernel's samples of a process and all that it starts: events of each CPU,
 * inherited, in a ring that is read here.
 *
 *   CPU 0   a clock, what threads do ─► ring ─┐
 *   CPU 1   a clock, what threads do ─► ring ─┴─► records, by time
 *
 * Clocks   a program that does the same every 77 µs would be met at the same
 *          place again and again by one. All clocks of all CPUs differ, and
 *          every 20 ms or later the other one of each CPU takes over for one or
 *          two ms, in which the first stands still, and then goes on elsewhere.
 *          While one takes over both are on: never neither.
 *          A sample stands for the period of its clock.
 * Few      a thread has all events of all CPUs: each is made when it begins,
 *          and looked at whenever it gets its processor, also one that is off.
 * Stacks   are copied for whoever unwinds, with the kernel's chain where that is
 *          worth it (AXP__HAS_CHAIN), who says how much it took
 *          (sampling_tiers.h): one clock copies little, one much. That one, where
 *          it is needed, stands still for some µs instead of giving way.
 * Leaves   some times that a thread leaves its processor have a stack, too: what
 *          it waits in. The record that it has left follows.
 * Order    a record is given once no ring can have an older one to come: what
 *          is younger than some ms waits in its ring.
 * Input    the kernel's, whose lengths are held against the ring nevertheless.
 * Cost     nothing is copied but what lies across the end of a ring.
 * Failure  of opening is an errno, to be said by the caller.
 */
#ifndef AXP_SAMPLING_PERF_H
#define AXP_SAMPLING_PERF_H
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampling/sampling_tiers.h"

struct axp__perf;

struct axp__perf_options {
    pid_t pid;     /* it has not called exec yet: sampling begins there */
    double hz;     /* samples of a busy thread in a second */
    bool is_blind; /* without rings: nothing can be read (sampling_toll.h) */
};

/* NULL: not allowed, or not possible; *error is why. */
struct axp__perf *axp__perf_open(const struct axp__perf_options *o, int *error);
void axp__perf_close(struct axp__perf *p); /* NULL allowed */

/* What a record says, where it has that. */
struct axp__perf_sample {
    uint64_t ip, weight_ns;
    bool is_kernel;
    bool is_leaving;       /* no clock's: the thread leaves its processor */
    const uint64_t *regs;  /* NULL: none; in the order of the kernel's mask */
    const uint8_t *stack;  /* the bytes from the stack pointer on … */
    uint64_t n_stack;      /* … and how many they are */
    const uint64_t *chain; /* where it is, and what it will return to */
    uint64_t n_chain;
};
struct axp__perf_mapping {
    uint64_t address, bytes, offset;
    uint64_t device, inode;
    uint64_t generation; /* of the inode's number; 0: not known */
    bool is_code;
    const char *path;
};
struct axp__perf_record {
    uint32_t type;    /* PERF_RECORD_… */
    uint64_t time_ns; /* CLOCK_MONOTONIC_RAW */
    uint32_t pid, tid;
    union {
        struct axp__perf_sample sample;   /* SAMPLE */
        struct axp__perf_mapping mapping; /* MMAP2 */
        struct {
            uint32_t parent; /* FORK: of its process */
            uint32_t by;     /* … the thread that made it; 0: not known */
        } fork;
        struct {
            const char *name; /* COMM */
            bool is_exec;
        } comm;
        struct {
            uint64_t count; /* LOST */
        } lost;
        struct {
            bool is_out;       /* SWITCH: off its processor, */
            bool is_preempted; /* … and it would have gone on */
        } turn;
    };
};

/* The next one, by time; it is the callee's until the call after. False: none
 * that is ready. is_end: all are, nothing more will come. */
bool axp__perf_next(struct axp__perf *p, bool is_end,
                    struct axp__perf_record *out);
/* How many bytes of its stack the last sample's frames took. */
void axp__perf_used(struct axp__perf *p, uint64_t bytes, enum axp__copy copy);
/* How full the fullest ring is, 0…1. */
double axp__perf_fill(const struct axp__perf *p);
/* How soon it wants to be looked at; UINT64_MAX: whenever. */
uint64_t axp__perf_stay(const struct axp__perf *p);
/* Whether time in the kernel is seen. */
bool axp__perf_has_kernel(const struct axp__perf *p);

#endif
