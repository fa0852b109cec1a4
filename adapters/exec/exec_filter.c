/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that filter their own system calls are left alone from then on.
 *
 * A filter may end the process for a call that is not the program's, so all of
 * ours hear of it before it is there (axp_quiet_begin). One is set by prctl, or by
 * syscall, as libseccomp does. A program that promises to gain no rights is about
 * to: its recording gets its file. What it starts has the filter as well, and gets
 * no adapters (exec_environment.h).
 *
 * syscall    is called for whatever has no function in the C library, clone with
 *            a stack that parent and child share among it: so it is a jump, and
 *            has no frame.
 * Not here   who asks the kernel with instructions of its own.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <axprof/axprof_adapter.h>

#include "exec_environment.h"
#include "exec_leave.h"
#include "exec_real.h"

#define WRAPPER __attribute__((visibility("default")))

bool exec_is_filtered;
__thread bool exec_child_is_filtered;

static int (*real_prctl)(int, ...);

static long find_and_call(long number, ...);
EXEC_HIDDEN long (*exec_real_syscall)(long, ...) = find_and_call;

__attribute__((constructor)) static void load(void)
{
    int error = errno;
    if (real_prctl) return;
    exec_real_find("syscall", &exec_real_syscall);
    exec_real_find("prctl", &real_prctl);
    errno = error;
}

/* ---- a filter ----------------------------------------------------------- */

/* Whether it may set one: with none it asks whether there are filters. */
static bool is_filter(unsigned long mode, const void *program)
{
    return mode == SECCOMP_MODE_STRICT ||
           (mode == SECCOMP_MODE_FILTER && program);
}

static bool begin(unsigned long mode, const void *program)
{
    if (exec_is_filtered || !is_filter(mode, program)) return false;
    if (!exec_is_own()) {
        exec_child_is_filtered = true;
        return false;
    }
    axp_quiet_begin();
    return exec_is_filtered = true;
}

/* Of what begin began. */
static void end(bool is_set)
{
    exec_is_filtered = is_set;
    if (is_set) {
        exec_environment_shorten();
        axp_quiet_keep();
    } else {
        axp_quiet_undo();
    }
}

/* ---- prctl -------------------------------------------------------------- */

WRAPPER int prctl(int option, ...)
{
    unsigned long at[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        at[i] = va_arg(list, unsigned long);
    va_end(list);
    load();
    bool is_begun = option == PR_SET_SECCOMP &&
                    begin(at[0], (const void *)(uintptr_t)at[1]);
    if (option == PR_SET_NO_NEW_PRIVS && !exec_is_filtered && exec_is_own())
        axp_recording_begin();
    int rc = real_prctl(option, at[0], at[1], at[2], at[3]);
    if (is_begun) end(rc == 0);
    return rc;
}

/* ---- syscall ------------------------------------------------------------ */

/* Before the constructor. */
static long find_and_call(long number, ...)
{
    long at[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        at[i] = va_arg(list, long);
    va_end(list);
    load();
    return exec_real_syscall(number, at[0], at[1], at[2], at[3], at[4], at[5]);
}

/* Where the jump of seccomp(2) goes. Its modes are one less than prctl's. */
EXEC_HIDDEN __attribute__((used)) long exec_seccomp(long number,
                                                    unsigned long operation,
                                                    unsigned long flags,
                                                    const void *program)
{
    load();
    bool is_begun =
        operation <= SECCOMP_SET_MODE_FILTER && begin(operation + 1, program);
    long rc = exec_real_syscall(number, operation, flags, program, 0l, 0l, 0l);
    if (is_begun) end(rc >= 0);
    return rc;
}

#if defined __aarch64__
_Static_assert(SYS_seccomp == 277, "as below");
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, %function\n"
        "syscall:\n"
        "    hint #34\n" /* bti c */
        "    cmp x0, #277\n"
        "    b.eq exec_seccomp\n"
        "    adrp x16, exec_real_syscall\n"
        "    ldr x16, [x16, :lo12:exec_real_syscall]\n"
        "    br x16\n"
        ".size syscall, . - syscall\n");
#elif defined __x86_64__
_Static_assert(SYS_seccomp == 317, "as below");
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "    endbr64\n"
        "    cmpq $317, %rdi\n"
        "    je exec_seccomp\n"
        "    jmp *exec_real_syscall(%rip)\n"
        ".size syscall, . - syscall\n");
#endif
