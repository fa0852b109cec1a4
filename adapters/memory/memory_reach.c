/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How far up a stack may be read; see memory_reach.h. */
#include "memory_reach.h"

#include <sys/syscall.h>

/* A first look at a stack, or one far below the last, asks for no more pages
 * than that: 4 MiB of stack in use, some 100 us, once a thread. */
#define MOST_OWN 1024u
/* A frame of another's stack is not larger. */
#define MOST_OTHER 64u
#define BAD_ADDRESS 14 /* EFAULT; errno itself is the program's */

extern void *__libc_stack_end; /* ld.so's: where the first thread began */

__thread struct memory_own memory_own;

/* rt_sigprocmask reads its set before it looks at what to do with it, which is
 * nothing that exists: so it changes nothing, and says whether eight bytes
 * could be read. No filter of system calls forbids it. */
static long ask_kernel(uintptr_t address)
{
    long nothing = -1;
#if defined(__x86_64__)
    long result;
    register long size __asm__("r10") = 8;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_rt_sigprocmask), "D"(nothing),
                       "S"(address), "d"(0L), "r"(size)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = SYS_rt_sigprocmask;
    register long x0 __asm__("x0") = nothing;
    register uintptr_t x1 __asm__("x1") = address;
    register long x2 __asm__("x2") = 0;
    register long x3 __asm__("x3") = 8;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3)
                     : "memory");
    return x0;
#endif
}

/* Does the kernel, or what stands for it, answer as it should? */
static bool can_ask(void)
{
    static int8_t answer; /* 0: not asked; whoever asks gets the same */
    int8_t known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
    if (!known) {
        known = ask_kernel(-MEMORY_PAGE) == -BAD_ADDRESS ? 1 : -1;
        __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
    }
    return known > 0;
}

static bool is_readable(uintptr_t page)
{
    return ask_kernel(page) != -BAD_ADDRESS;
}

static uintptr_t page_of(uintptr_t address)
{
    return address & ~(MEMORY_PAGE - 1);
}

/* Are all pages above that of sp there, up to end? What is not is remembered:
 * a hint only, so that it need not stay true. */
static bool is_joined(uintptr_t sp, uintptr_t end)
{
    struct memory_own *own = &memory_own;
    uintptr_t first = page_of(sp), page = first + MEMORY_PAGE;
    if (end - first > MOST_OWN * MEMORY_PAGE || !can_ask()) return false;
    for (; page < end; page += MEMORY_PAGE) {
        bool is_other = page >= own->other_low && page < own->other_high;
        if (!is_other && is_readable(page)) continue;
        if (!is_other) own->other_high = page;
        own->other_low = first;
        return false;
    }
    return true;
}

static uintptr_t thread_top(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

/* Makes sp a part of the own stack, if it is. The order is for a signal handler
 * in between: a range that is empty at first. */
static bool join_own(uintptr_t sp)
{
    uintptr_t tops[] = {(uintptr_t)__libc_stack_end, thread_top()};
    struct memory_own *own = &memory_own;
    if (sp >= own->other_low && sp < own->other_high) return false;
    if (own->high) {
        if (sp >= own->low || !is_joined(sp, own->low)) return false;
        __atomic_store_n(&own->low, page_of(sp), __ATOMIC_RELAXED);
        return true;
    }
    for (int i = 0; i < 2; i++) {
        if (sp >= tops[i] || !is_joined(sp, tops[i])) continue;
        __atomic_store_n(&own->low, page_of(sp), __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        __atomic_store_n(&own->high, tops[i], __ATOMIC_RELAXED);
        return true;
    }
    return false;
}

struct memory_reach memory_reach_find(uintptr_t sp)
{
    if (join_own(sp)) return (struct memory_reach){memory_own.high, true};
    return (struct memory_reach){page_of(sp) + MEMORY_PAGE, false};
}

struct memory_reach memory_reach_of(uintptr_t sp)
{
    bool is_there = can_ask() && is_readable(sp);
    return is_there ? memory_reach_from(sp) : (struct memory_reach){0, true};
}

bool memory_reach_extend(struct memory_reach *reach, uintptr_t end)
{
    if (reach->is_own || end <= reach->end || !can_ask()) return false;
    if (end - reach->end > MOST_OTHER * MEMORY_PAGE) return false;
    while (reach->end < end) {
        if (!is_readable(reach->end)) return false;
        reach->end += MEMORY_PAGE;
    }
    return true;
}
