/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Built with -finstrument-functions and run with the adapter loaded: signals whose
 * handler leaves by siglongjmp, wherever they come in the adapter's hooks. What is
 * called after that is recorded as ever. (Recording is off meanwhile: the recorder
 * drops what comes after such a jump out of itself, and says so.) */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <axprof/axprof_read.h>

#define PLAIN __attribute__((no_instrument_function))
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (condition) break;                                                  \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);        \
        exit(1);                                                               \
    } while (0)

enum { CHILDREN = 10, CALLS = 300000, AFTER = 777 };

static volatile int sink, n_left, n_jumps;
static sigjmp_buf back;

__attribute__((noinline)) static void leaf(void)
{
    sink++;
}

__attribute__((noinline)) static void after(void)
{
    sink--;
}

__attribute__((noinline)) static void in_handler(void)
{
    n_jumps++;
    siglongjmp(back, 1);
}

PLAIN static void on_signal(int number)
{
    (void)number;
    in_handler();
}

PLAIN static void arm(long every_us)
{
    struct itimerval often = {{0, every_us}, {0, every_us}};
    CHECK(!setitimer(ITIMER_REAL, &often, NULL));
}

PLAIN static int child(bool is_apart)
{
    static char there[1 << 16];
    stack_t apart = {.ss_sp = there, .ss_size = sizeof there};
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = is_apart ? SA_ONSTACK : 0};
    axp_op ops[8];
    if (is_apart) CHECK(!sigaltstack(&apart, NULL));
    CHECK(!sigaction(SIGALRM, &action, NULL));
    n_left = CALLS;
    axp_set_enabled(axp_global(), false);
    arm(100);
    sigsetjmp(back, 1);
    while (n_left > 0) {
        n_left--;
        leaf();
    }
    arm(0);
    axp_set_enabled(axp_global(), true);
    for (int i = 0; i < AFTER; i++)
        after();
    axp_view *view = axp_snapshot(axp_global());
    int n = 0;
    size_t n_ops = axp_view_ops(view, AXP_BY_CALLS, ops, 8);
    for (size_t i = 0; i < n_ops && i < 8; i++)
        n += ops[i].calls == AFTER;
    CHECK(n == 1);
    axp_view_destroy(view);
    return 0;
}

PLAIN int main(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t pid = fork();
        if (!pid) _exit(child(i % 2));
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    puts("functions are recorded after jumps");
    return 0;
}
