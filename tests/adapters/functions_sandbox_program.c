/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Built with -finstrument-functions and run with the adapter loaded: threads that
 * forbid themselves all system calls but what their end takes, and call deeper
 * than the adapter has memory for. It may get none, and is not killed. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <axprof/axprof_adapter.h>
#include <axprof/axprof_read.h>

#define PLAIN __attribute__((no_instrument_function))
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (condition) break;                                                  \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);        \
        exit(1);                                                               \
    } while (0)

static volatile int sink;

__attribute__((noinline)) static void leaf(void)
{
    sink++;
}

__attribute__((noinline)) static void recurse(int n)
{
    if (n) recurse(n - 1);
    leaf();
}

#define ALLOW(call)                                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                     \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Of the calling thread alone. */
PLAIN static void forbid(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(exit),
        ALLOW(futex),
        ALLOW(madvise),
        ALLOW(rt_sigprocmask),
        ALLOW(write),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    axp_quiet_begin();
    CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* It has a stack of open calls, which has no room. */
PLAIN static void *goes_deeper(void *argument)
{
    recurse(3);
    forbid();
    recurse(3000);
    recurse(3);
    return argument;
}

/* It has none. */
PLAIN static void *begins(void *argument)
{
    forbid();
    recurse(3);
    return argument;
}

PLAIN int main(void)
{
    pthread_t thread;
    recurse(3);
    CHECK(!pthread_create(&thread, NULL, goes_deeper, NULL));
    pthread_join(thread, NULL);
    CHECK(!axp_is_enabled(axp_global()));
    CHECK(!pthread_create(&thread, NULL, begins, NULL));
    pthread_join(thread, NULL);

    axp_quiet_undo(); /* this thread has none */
    recurse(3000);
    recurse(3000);
    axp_view *view = axp_snapshot(axp_global());
    axp_op ops[4];
    size_t n = axp_view_ops(view, AXP_BY_CALLS, ops, 4);
    CHECK(n == 2);
    for (size_t i = 0; i < n; i++)
        CHECK(ops[i].calls == 4 + 4 + 2 * 3001);
    axp_view_destroy(view);
    puts("functions are left alone");
    return 0;
}
