/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recording on warm state calls neither malloc nor the kernel, and leaves
 * errno alone.
 *
 * Each call is warmed up until its timeline ring is full and recycles, then
 * made a million times in a child under two guards: this program's own
 * malloc, calloc, realloc and free, which end the process with a status of
 * their own while the guard is up, and a seccomp filter that kills the process at any system call but write,
 * exit_group and rt_sigreturn. Every call must survive. That the guards bite
 * is shown beside it: one deliberate malloc must end with that status, one
 * deliberate getppid by SIGSYS.
 *
 * Built with HOT_MISTAKE_MALLOC or HOT_MISTAKE_SYSCALL, the measured region
 * of every call has that mistake in it, and the same test must fail: then
 * this program passes if each of its cases was killed as expected. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "record/record_lane.h"
#include "stress_check.h"

#if defined(__SANITIZE_ADDRESS__) || STRESS_TSAN
#define CANNOT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CANNOT 1
#endif
#endif
#ifndef CANNOT
#define CANNOT 0
#endif

#define CALLED_MALLOC 99 /* exit status: the one thing the filter allows */
#define MEASURED 1000000
#define PAST_THE_POOL 5000000 /* scopes of 2 words; the pool has 32 MiB */

/* ---- guards -------------------------------------------------------------------- */

static volatile int is_guarded;

#if !CANNOT
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *memory);

void *malloc(size_t size)
{
    if (is_guarded) _exit(CALLED_MALLOC);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    if (is_guarded) _exit(CALLED_MALLOC);
    return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    if (is_guarded) _exit(CALLED_MALLOC);
    return __libc_realloc(old, size);
}

void free(void *memory)
{
    if (is_guarded) _exit(CALLED_MALLOC);
    __libc_free(memory);
}
#endif

#define LOAD(field)                                                            \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW(number)                                                          \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                       \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static bool forbid_system_calls(void)
{
    struct sock_filter filter[] = {
        LOAD(nr),
        ALLOW(__NR_write),
        ALLOW(__NR_exit_group),
        ALLOW(__NR_rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* ---- the calls ------------------------------------------------------------------- */

static axp_profiler *prof;
static char blocks[64];
static const char *const names[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static void by_scope(unsigned i)
{
    (void)i;
    AXP_SCOPE("scope");
    AXP_SCOPE("nested");
}

static void by_scope_work(unsigned i)
{
    AXP_SCOPE_WORK("scope work", .flops = i, .bytes = 8, .dims = {2, 3});
}

static void by_scope_name(unsigned i)
{
    AXP_SCOPE_NAME(names[i % 8]);
    AXP_FUNCTION();
}

static void by_scope_in(unsigned i)
{
    AXP_SCOPE_IN(prof, names[i % 8]);
    axp_add_work(prof, (axp_work){.flops = 1});
    axp_category(prof, AXP_CAT_FORWARD);
}

static void by_start_stop(unsigned i)
{
    axp_start(prof, names[i % 8]);
    axp_start_work(prof, "work", (axp_work){.flops = 1});
    axp_stop(prof, names[i % 8]); /* overlapping */
    axp_stop(prof, "work");
}

static void by_record_alloc(unsigned i)
{
    axp_record_alloc(prof, names[i % 8], i);
    axp_record_free(prof, names[i % 8], i);
}

static void by_track_alloc(unsigned i)
{
    axp_track_alloc(prof, names[i % 8], &blocks[i % 64], i);
    axp_track_free(prof, &blocks[i % 64]);
}

static void by_counter(unsigned i)
{
    axp_counter(prof, "counter", i);
}

static void by_instant(unsigned i)
{
    axp_instant(prof, names[i % 8]);
}

static void by_event(unsigned i)
{
    axp_event(prof, names[i % 8], AXP_EVENT_CUSTOM, "some metadata");
}

static void by_step(unsigned i)
{
    (void)i;
    axp_step(prof);
}

static void by_async_and_flow(unsigned i)
{
    axp_async_begin(prof, "async", i % 64);
    axp_flow_out(prof, i);
    axp_flow_in(prof, i);
    axp_async_end(prof, "async", i % 64);
}

static axp_track *track;

static void by_track(unsigned i)
{
    axp_track_span(track, names[i % 8], i, i + 1, NULL);
    axp_track_alloc_at(track, "device", i % 64 + 1, 8, i);
    axp_track_free_at(track, i % 64 + 1, i);
}

static void by_wrong_use(unsigned i)
{
    axp_stop(prof, "never started");
    axp_track_free(prof, &blocks[i % 64]);
    axp_record_alloc(prof, NULL, SIZE_MAX);
    axp_instant(prof, "");
    axp_instant(NULL, "x");
}

static void while_disabled(unsigned i)
{
    AXP_SCOPE("disabled");
    AXP_SCOPE_IN(prof, "disabled");
    AXP_ALLOC("disabled", i);
    axp_start(prof, "disabled");
    axp_stop(prof, "disabled");
}

/* ---- a case ------------------------------------------------------------------------- */

static void (*call)(unsigned i);
/* A page of a histogram is mapped when the first call of that duration ends.
 * On a busy machine one may take a thousand times longer than the others: so
 * that each page there could be is there. */
static void warm_histograms(void)
{
    for (uint32_t i = 0; i < axp__tls->n_lanes; i++) {
        struct axp__lane *lane = axp__tls->lanes[i];
        axp__ref ref = lane ? lane->tally.first.ops : 0;
        while (ref) {
            struct axp__op *op = axp__arena_at(&lane->tally.arena, ref);
            for (unsigned k = 0; k < 36; k++)
                axp__tally_bucket(&lane->tally, op, (uint64_t)1 << k);
            ref = op->next;
        }
    }
}

static unsigned n_warm;

static void mistake(unsigned i)
{
#if defined(HOT_MISTAKE_MALLOC)
    if (i == MEASURED / 2) {
        void *volatile memory = malloc(10);
        (void)memory;
    }
#elif defined(HOT_MISTAKE_SYSCALL)
    if (i == MEASURED / 2) syscall(SYS_getppid);
#else
    (void)i;
#endif
}

static void run_case(void)
{
    prof = axp_profiler_create(&(axp_options){.timeline_capacity = 1000});
    CHECK(prof != NULL);
    track = axp_track_create(prof, "track");
    if (call == while_disabled) {
        axp_set_enabled(prof, false);
        axp_set_enabled(axp_global(), false);
    }
    for (unsigned i = 0; i < n_warm; i++)
        call(i);
    warm_histograms();
    if (!forbid_system_calls()) _exit(77);
    is_guarded = 1;
    errno = EDOM;
    for (unsigned i = 0; i < MEASURED; i++) {
        call(i);
        mistake(i);
    }
    bool is_same = errno == EDOM;
    is_guarded = 0;
    _exit(is_same ? 0 : 2);
}

static void guard_malloc(void)
{
    CHECK(forbid_system_calls());
    is_guarded = 1;
    void *volatile memory = malloc(10);
    (void)memory;
}

static void guard_syscall(void)
{
    CHECK(forbid_system_calls());
    syscall(SYS_getppid);
}

#if defined(HOT_MISTAKE_MALLOC)
#define EXPECTED -CALLED_MALLOC
#elif defined(HOT_MISTAKE_SYSCALL)
#define EXPECTED SIGSYS
#else
#define EXPECTED 0
#endif

/* expected: a signal, minus an exit status, or 0 for a clean end. */
static int died_by(void (*fn)(void), int expected)
{
    int status = stress_in_child(fn, 120);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        printf("no seccomp filter here\n");
        exit(77);
    }
    int got = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (WIFEXITED(status) && WEXITSTATUS(status)) got = -WEXITSTATUS(status);
    if (got == expected) return 0;
    printf("FAILED  ended with %d (a signal, or minus the exit status), "
           "not %d\n",
           got, expected);
    return 1;
}

static int try_call(const char *name, void (*fn)(unsigned), unsigned warm)
{
    call = fn;
    n_warm = warm;
    int bad = died_by(run_case, EXPECTED);
    printf("%s %s\n", bad ? "FAILED " : "ok     ", name);
    fflush(stdout);
    return bad;
}
#define TRY(fn, warm) try_call(#fn, fn, warm)

int main(void)
{
    int failed = 0;
    if (CANNOT) {
        printf("a sanitizer's runtime makes calls of its own\n");
        return 77;
    }
    failed += died_by(guard_malloc, -CALLED_MALLOC);
    failed += died_by(guard_syscall, SIGSYS);
    failed += TRY(by_scope, PAST_THE_POOL);
    failed += TRY(by_scope_work, PAST_THE_POOL / 2);
    failed += TRY(by_scope_name, PAST_THE_POOL);
    failed += TRY(by_scope_in, 100000);
    failed += TRY(by_start_stop, 100000);
    failed += TRY(by_record_alloc, 100000);
    failed += TRY(by_track_alloc, 100000);
    failed += TRY(by_counter, 100000);
    failed += TRY(by_instant, 100000);
    failed += TRY(by_event, 100000);
    failed += TRY(by_step, 100000);
    failed += TRY(by_async_and_flow, 100000);
    failed += TRY(by_track, 100000);
    failed += TRY(by_wrong_use, 100000);
    failed += TRY(while_disabled, 100000);
    return failed ? 1 : 0;
}
