/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One step of a traced process that can always be done.
 *
 * On aarch64 an exclusive store fails if there was an exception since the
 * exclusive load before it, and a step is one: who steps through such a pair
 * repeats it for ever. From an exclusive load on the process therefore runs
 * until after the store, or to where a branch leaves the pair; nothing is
 * stored in between, so that no state is missed.
 *
 * Not here: pairs longer than EXCLUSIVE_MOST instructions, and other threads,
 * which would meet the breakpoints. */
#ifndef AXP_TEST_STEP_OVER_H
#define AXP_TEST_STEP_OVER_H
#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "stress_check.h"

/* The signal that stopped it. */
static int wait_stop(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, __WALL) == pid);
    CHECK(WIFSTOPPED(status));
    return WSTOPSIG(status);
}

#if defined(__aarch64__)
#include <asm/ptrace.h>
#define EXCLUSIVE_MOST 16u
#define EXCLUSIVE_ENDS 4u
#define BREAKPOINT 0xd4200000u

static uint32_t step_code(pid_t pid, uint64_t at)
{
    long word = ptrace(PTRACE_PEEKTEXT, pid, at & ~(uint64_t)7, NULL);
    return (uint32_t)((uint64_t)word >> (at & 4 ? 32 : 0));
}

static void step_set_code(pid_t pid, uint64_t at, uint32_t code)
{
    uint64_t even = at & ~(uint64_t)7;
    uint64_t word = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, even, NULL);
    unsigned shift = at & 4 ? 32 : 0;
    word = (word & ~((uint64_t)UINT32_MAX << shift)) | (uint64_t)code << shift;
    CHECK(!ptrace(PTRACE_POKETEXT, pid, even, word));
}

/* Both of one or two registers, of any size, with or without an order. */
static bool is_exclusive(uint32_t code, bool is_load)
{
    return (code & 0x3fc00000u) == (is_load ? 0x08400000u : 0x08000000u);
}

/* Where a conditional branch at a place goes; 0: there is none. */
static uint64_t branch_target(uint64_t at, uint32_t code)
{
    bool is_flags = (code & 0xff000010u) == 0x54000000u;
    bool is_zero = (code & 0x7e000000u) == 0x34000000u;
    if (!is_flags && !is_zero) return 0;
    int64_t words = (int64_t)((int32_t)(code << 8) >> 13);
    return at + (uint64_t)(words * 4);
}

/* Where the pair that begins at a place can be left; how many there are. */
static size_t find_ends(pid_t pid, uint64_t at, uint64_t *ends)
{
    size_t n = 0;
    for (uint64_t i = 1; i < EXCLUSIVE_MOST; i++) {
        uint64_t place = at + 4 * i, target;
        uint32_t code = step_code(pid, place);
        if (is_exclusive(code, false)) {
            ends[n++] = place + 4;
            return n;
        }
        target = branch_target(place, code);
        if (!target) continue;
        CHECK(n < EXCLUSIVE_ENDS - 1);
        ends[n++] = target;
    }
    return 0;
}

/* Runs the pair that begins at the process's next instruction, if one does. */
static bool step_over_pair(pid_t pid)
{
    struct user_pt_regs regs;
    struct iovec io = {&regs, sizeof regs};
    uint64_t ends[EXCLUSIVE_ENDS];
    uint32_t codes[EXCLUSIVE_ENDS];
    CHECK(!ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io));
    if (!is_exclusive(step_code(pid, regs.pc), true)) return false;
    size_t n = find_ends(pid, regs.pc, ends);
    if (!n) return false;
    for (size_t i = 0; i < n; i++)
        codes[i] = step_code(pid, ends[i]);
    for (size_t i = 0; i < n; i++)
        step_set_code(pid, ends[i], BREAKPOINT);
    CHECK(!ptrace(PTRACE_CONT, pid, NULL, NULL));
    CHECK_EQ((uint64_t)wait_stop(pid), SIGTRAP);
    for (size_t i = 0; i < n; i++)
        step_set_code(pid, ends[i], codes[i]);
    return true;
}
#else
static bool step_over_pair(pid_t pid)
{
    (void)pid;
    return false;
}
#endif

static void step_one(pid_t pid)
{
    if (step_over_pair(pid)) return;
    CHECK(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
    CHECK_EQ((uint64_t)wait_stop(pid), SIGTRAP);
}

#endif
