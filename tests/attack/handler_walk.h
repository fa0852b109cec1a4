/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A signal at a chosen instruction of a call: a child of its own is run up to
 * there one instruction at a time (PTRACE_SINGLESTEP), gets the signal, and is
 * let go. It looks at itself what came of that, and its status says so.
 *
 *   parent   walk_to ───── steps ───── SIGUSR1, detach ───── waits
 *   child    prepares, stops │ the call … handler … its rest │ checks, ends
 *
 * The parent has recorded nothing, so that each child begins alike.
 *
 * Not here: what the child does (attack_handlers.c, attack_functions.c), and
 * other threads of it, which are not traced. */
#ifndef AXP_TEST_HANDLER_WALK_H
#define AXP_TEST_HANDLER_WALK_H
#include <sched.h>
#include <sys/mman.h>

#include "step_over.h"

#define WALK_MOST 400000u /* instructions of a call */
#define WALK_SECONDS 20u  /* a child's life: longer is a hang */
#define WALK_TO_END UINT64_MAX
#define WALK_TEXT ((size_t)1 << 18)

enum walk_stage { WALK_PREPARES, WALK_IS_INSIDE, WALK_IS_OVER };

struct walk_shared { /* between the two */
    uint32_t stage;
    bool is_clean; /* no signal: the child tells what is right */
    char right[WALK_TEXT], seen[WALK_TEXT];
};
static struct walk_shared *walk_shared;

struct walked {
    uint64_t n_steps; /* of the call, up to the signal */
    bool was_sent;    /* false: the call was over before */
    int status;
};

static uint64_t walk_n_children, walk_n_sent, walk_n_failures;

/* ---- the child ------------------------------------------------------------------ */

/* Around the call that is walked through. Whoever traces runs what is before. */
static void walk_begin(void)
{
    raise(SIGSTOP);
    __atomic_store_n(&walk_shared->stage, WALK_IS_INSIDE, __ATOMIC_RELEASE);
}

static void walk_end(void)
{
    __atomic_store_n(&walk_shared->stage, WALK_IS_OVER, __ATOMIC_RELEASE);
}

static pid_t walk_fork(void (*child)(void))
{
    walk_shared->stage = WALK_PREPARES;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid) return pid;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) _exit(77);
    alarm(WALK_SECONDS);
    child();
    _exit(0);
}

/* ---- the parent ----------------------------------------------------------------- */

static uint32_t walk_stage(void)
{
    return __atomic_load_n(&walk_shared->stage, __ATOMIC_ACQUIRE);
}

/* To the child's first stop; false: it ended before. */
static bool walk_start(pid_t pid, int *status)
{
    int sig = 0;
    do {
        if (sig) CHECK(!ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)sig));
        CHECK(waitpid(pid, status, __WALL) == pid);
        if (!WIFSTOPPED(*status)) return false;
        sig = WSTOPSIG(*status);
    } while (sig != SIGSTOP);
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(intptr_t)PTRACE_O_EXITKILL);
    while (walk_stage() == WALK_PREPARES)
        step_one(pid);
    return true;
}

/* Lets a child go so many instructions into its call and interrupts it there.
 * WALK_TO_END: it is not interrupted. */
static struct walked walk_to(void (*child)(void), uint64_t to)
{
    struct walked w = {0};
    walk_shared->is_clean = to == WALK_TO_END;
    pid_t pid = walk_fork(child);
    walk_n_children++;
    if (!walk_start(pid, &w.status)) {
        if (WIFEXITED(w.status) && WEXITSTATUS(w.status) == 77) _exit(77);
        return w;
    }
    while (w.n_steps < to && walk_stage() == WALK_IS_INSIDE) {
        CHECK(w.n_steps++ < WALK_MOST);
        step_one(pid);
    }
    w.was_sent = walk_stage() == WALK_IS_INSIDE;
    walk_n_sent += w.was_sent;
    int sig = w.was_sent ? SIGUSR1 : 0;
    CHECK(!ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)sig));
    CHECK(waitpid(pid, &w.status, __WALL) == pid);
    return w;
}

static bool walk_is_right(const struct walked *w)
{
    return WIFEXITED(w->status) && WEXITSTATUS(w->status) == 0;
}

static void walk_print(const struct walked *w)
{
    if (WIFSIGNALED(w->status))
        printf("  killed by %s\n", strsignal(WTERMSIG(w->status)));
    else
        printf("  exit status %d\n", WEXITSTATUS(w->status));
}

/* Parent and child take turns, which costs less on one processor. */
static void walk_stay(void)
{
    cpu_set_t one;
    int cpu = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(cpu < 0 ? 0 : cpu, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
}

static void walk_init(void)
{
    walk_stay();
    setvbuf(stdout, NULL, _IOLBF, 0);
    walk_shared = mmap(NULL, sizeof *walk_shared, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(walk_shared != MAP_FAILED);
}

/* The status of the program. */
static int walk_result(void)
{
    printf("%" PRIu64 " children, %" PRIu64 " interrupted, %" PRIu64
           " failures\n",
           walk_n_children, walk_n_sent, walk_n_failures);
    return walk_n_failures != 0;
}

#endif
