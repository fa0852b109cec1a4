/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A process that filters its system calls: what it had open stays open, and
 * nothing that ends or is named from then on asks the kernel for anything. Where
 * a filter would not do (a sanitizer's own calls, an emulator) what is recorded is
 * looked at alone. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axprof/axprof_adapter.h"
#include "test_support.h"

#define ALLOW(call)                                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                     \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Of the calling thread alone. */
static void forbid(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(exit_group),
        ALLOW(write),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (!TS_SLOW && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *start_elsewhere(void *unused)
{
    axp_start(axp_global(), "elsewhere");
    return unused;
}

#define N_SCOPES 200
static uint64_t tokens[N_SCOPES];

/* Of as many names: a histogram each. */
static void begin_scopes(void)
{
    char name[] = "scope 000";
    for (int i = 0; i < N_SCOPES; i++) {
        name[6] = (char)('0' + i / 100);
        name[7] = (char)('0' + i / 10 % 10);
        name[8] = (char)('0' + i % 10);
        tokens[i] = axp_begin(axp_global(), name);
    }
}

static void end_scopes(void)
{
    for (int i = N_SCOPES; i-- > 0;)
        axp_end(tokens[i]);
}

static void stop_own(void)
{
    axp_stop(axp_global(), "own");
}

static void stop_elsewhere(void)
{
    axp_stop(axp_global(), "elsewhere");
}

static void end_async(void)
{
    axp_async_end(axp_global(), "async", 1);
}

/* New ones, of which each that is kept takes room. */
static void name_things(void)
{
    char name[400];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    for (int i = 0; i < 5000; i++) {
        name[0] = (char)('a' + i % 20);
        name[1] = (char)('a' + i / 20 % 20);
        name[2] = (char)('a' + i / 400);
        axp_thread_name(axp_global(), name);
        const char *kept = axp_name(name, strlen(name));
        if (strcmp(kept, "(other)") != 0) _exit(3);
    }
    if (strcmp(axp_name("async", 5), "async") != 0) _exit(4); /* it is known */
}

static uint64_t n_ended(void)
{
    return axp_call_count(axp_global(), "scope 199") +
           axp_call_count(axp_global(), "own") +
           axp_call_count(axp_global(), "elsewhere") +
           axp_call_count(axp_global(), "async");
}

static void in_child(void (*what)(void))
{
    pthread_t thread;
    int status = -1;
    pid_t pid = fork();
    if (!pid) {
        if (!AXP_EMULATED) {
            pthread_create(&thread, NULL, start_elsewhere, NULL);
            pthread_join(thread, NULL);
        }
        begin_scopes();
        axp_start(axp_global(), "own");
        axp_async_begin(axp_global(), "async", 1);
        axp_quiet_begin();
        uint64_t before = n_ended();
        forbid();
        what();
        _exit(n_ended() == before ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void scopes_stay_open(void **state)
{
    (void)state;
    in_child(end_scopes);
}

static void named_scopes_stay_open(void **state)
{
    (void)state;
    in_child(stop_own);
    in_child(stop_elsewhere);
}

static void spans_stay_open(void **state)
{
    (void)state;
    in_child(end_async);
}

static void nothing_is_named(void **state)
{
    (void)state;
    in_child(name_things);
}

static bool was_told;

static void hear(bool is_quiet)
{
    was_told = is_quiet;
}

static void who_comes_late_is_told(void **state)
{
    (void)state;
    axp_quiet_begin();
    axp_quiet_tell(hear);
    assert_true(was_told);
    axp_quiet_undo();
    assert_false(was_told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scopes_stay_open),
        cmocka_unit_test(named_scopes_stay_open),
        cmocka_unit_test(spans_stay_open),
        cmocka_unit_test(nothing_is_named),
        cmocka_unit_test(who_comes_late_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
