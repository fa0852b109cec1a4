/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_ring.h: samples that programs take of themselves, by a timer, where the
 * kernel lets nobody else take them. A file that all processes of a run map and
 * that axp_sampling reads (axprof_file.h, axp_sampling_options.ring).
 *
 * Writers    any thread, in a signal handler. Each takes the next number, fills
 *            its slot and says so last; where the reader has not been yet the
 *            sample is lost, and counted.
 * Reader     one. It believes nothing: lengths are held against the slot.
 */
#ifndef AXPROF_RING_H
#define AXPROF_RING_H
#include <stdint.h>

#define AXP_RING_MAGIC UINT64_C(0x32676e6972707861) /* "axpring2" */
#define AXP_RING_SLOTS 256u
#define AXP_RING_STACK 16384u
#define AXP_RING_REGS 33u

typedef enum axp_ring_kind {
    AXP_RING_SAMPLE = 1,
    AXP_RING_BEGIN, /* a program begins in the process */
    AXP_RING_FORK   /* the process begins as a copy of regs[0]'s */
} axp_ring_kind;

typedef struct axp_ring_slot {
    uint64_t number;  /* 1 + which of all it is, once it is whole */
    uint64_t time_ns; /* CLOCK_MONOTONIC_RAW */
    uint64_t weight_ns;
    uint32_t kind, process_id, thread_id, n_stack;
    uint64_t pid_namespace; /* the inode of /proc/self/ns/pid; 0: not known */
    /* In the order in which the kernel gives them with its samples: ax bx cx dx
     * si di bp sp ip r8 … r15; x0 … x30 sp pc. */
    uint64_t regs[AXP_RING_REGS];
    uint8_t stack[AXP_RING_STACK]; /* from the stack pointer on */
} axp_ring_slot;

typedef struct axp_ring {
    uint64_t magic;
    uint64_t period_ns; /* that timers are to have */
    uint64_t next;      /* numbers given out */
    uint64_t taken;     /* the reader's: all below are free again */
    uint64_t lost;
    uint64_t reserved[59];
    axp_ring_slot slots[AXP_RING_SLOTS];
} axp_ring;

#endif
