/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs whose processor time is known by how they are made: all of them spin
 * in loops of the same instructions, whose rounds are counted.
 *
 *   sampled_program shares MS THREADS US   "forty" has 40 of 100 rounds and
 *                                          "sixty" the others, in turns of
 *                                          so many us; "middle" calls both
 *   sampled_program late MS                the same, and allocates at its end
 *   sampled_program deep MS                the same below 20 calls of "deep"
 *   sampled_program tower MS CALLS         "shares", and for as long again below
 *                                          calls of "tower", 500 bytes each
 *   sampled_program tail MS                "last" is called by a jump
 *   sampled_program closed MS LIBRARY      half of the time in a library that
 *                                          is closed before the end
 *   sampled_program linked MS LIBRARY      in a function without tables of the
 *                                          library, which calls it by a link
 *   sampled_program made MS                "forty" and "sixty" as code that is
 *                                          made at run time, with a map for perf
 *   sampled_program assembly MS            half of the time in a function without
 *                                          tables that "by_call" calls, half in
 *                                          it when "by_pointer" does (x86-64)
 *   sampled_program wide MS                in another one, with a large block on
 *                                          its stack, that "by_wide" calls
 *   sampled_program fork N MS              N children one after the other
 *   sampled_program short N                N threads of a fifth of a ms
 *   sampled_program scopes MS              (with the recorder) "forty" in the
 *                                          scope "alpha", "sixty" in "beta"
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef WITH_SCOPES
#include <axprof/axprof.h>
#else
#define AXP_SCOPE(name) ((void)0)
#endif

#define NEVER_INLINE __attribute__((noinline, noipa))
#define SPIN(rounds)                                                           \
    double x = 1;                                                              \
    for (long i = (rounds); i > 0; i--)                                        \
        x = x * 1.0000001 + 0.1;                                               \
    sink = x

static volatile double sink;

NEVER_INLINE static void forty(long rounds)
{
    SPIN(4 * rounds);
}

NEVER_INLINE static void sixty(long rounds)
{
    SPIN(6 * rounds);
}

NEVER_INLINE static void middle(long rounds)
{
    forty(rounds);
    sixty(rounds);
    sink = 0;
}

NEVER_INLINE static int deep(int calls, long rounds)
{
    if (!calls) {
        middle(rounds);
        return 0;
    }
    int below = deep(calls - 1, rounds);
    sink = below; /* there is something to come back to */
    return below + 1;
}

NEVER_INLINE static int tower(int calls, long rounds)
{
    volatile char room[500];
    room[calls] = 1;
    if (!calls) {
        middle(rounds);
        return 0;
    }
    return tower(calls - 1, rounds) + room[calls];
}

NEVER_INLINE static void last(long rounds)
{
    SPIN(rounds);
}

NEVER_INLINE static void jumps(long rounds)
{
    last(10 * rounds);
}

static double seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Rounds, of which ten take so long, of this thread's processor time. */
static long rounds_of(double us)
{
    double best = 1;
    for (int i = 0; i < 5; i++) {
        double from = seconds(CLOCK_THREAD_CPUTIME_ID);
        last(100000);
        double took = seconds(CLOCK_THREAD_CPUTIME_ID) - from;
        if (took < best) best = took;
    }
    return (long)(us / 10 / (10 * best)) + 1;
}

struct job {
    double s;
    long rounds;
};

static void *work(void *arg)
{
    const struct job *job = arg;
    double end = seconds(CLOCK_MONOTONIC) + job->s;
    while (seconds(CLOCK_MONOTONIC) < end)
        middle(job->rounds);
    return NULL;
}

static void shares(const struct job *job, int n)
{
    pthread_t threads[64];
    for (int i = 0; i < n && i < 64; i++)
        pthread_create(&threads[i], NULL, work, (void *)job);
    if (!n) work((void *)job);
    for (int i = 0; i < n && i < 64; i++)
        pthread_join(threads[i], NULL);
}

static int closed(const struct job *job, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*spin)(long);
    if (!library) return 1;
    *(void **)&spin = dlsym(library, "spin_in_library");
    for (double end = seconds(CLOCK_MONOTONIC) + job->s;
         seconds(CLOCK_MONOTONIC) < end;) {
        spin(10 * job->rounds);
        middle(job->rounds);
    }
    return dlclose(library);
}

static int linked(const struct job *job, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*spin)(long);
    if (!library) return 1;
    *(void **)&spin = dlsym(library, "spin_by_link");
    for (double end = seconds(CLOCK_MONOTONIC) + job->s;
         seconds(CLOCK_MONOTONIC) < end;)
        spin(100000);
    return 0;
}

static void scopes(const struct job *job)
{
    for (double end = seconds(CLOCK_MONOTONIC) + job->s;
         seconds(CLOCK_MONOTONIC) < end;) {
        {
            AXP_SCOPE("alpha");
            forty(job->rounds);
        }
        {
            AXP_SCOPE("beta");
            sixty(job->rounds);
        }
    }
}

static void *short_one(void *arg)
{
    last(*(const long *)arg);
    return NULL;
}

static void short_ones(int n, long rounds)
{
    while (n--) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, short_one, &rounds)) return;
        pthread_join(thread, NULL);
    }
}

static void children(int n, const struct job *job)
{
    while (n--) {
        pid_t pid = fork();
        if (!pid) {
            work((void *)job);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

/* Wants the signal for itself, in the midst of it: gets what it sends, and
 * nothing else. */
static volatile sig_atomic_t n_urgent;

static void on_urgent(int number)
{
    (void)number;
    n_urgent++;
}

static int urgent(const struct job *job)
{
    work((void *)job);
    signal(SIGURG, on_urgent);
    for (int i = 0; i < 3; i++)
        raise(SIGURG);
    work((void *)job);
    return n_urgent == 3 ? 0 : 9;
}

/* On a stack of its own, which ends where nothing may be read. */
static ucontext_t back, there;
static const struct job *of_fibre;

static void fibre(void)
{
    work((void *)of_fibre);
    swapcontext(&there, &back);
}

static void *fibre_main(void *job)
{
    size_t bytes = 8 << 20;
    char *stack = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack + bytes, 4096, PROT_NONE))
        return NULL;
    of_fibre = job;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = bytes;
    there.uc_link = NULL;
    makecontext(&there, fibre, 0);
    swapcontext(&back, &there);
    return (void *)of_fibre;
}

static int on_a_fibre(const struct job *job)
{
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, fibre_main, (void *)job)) return 9;
    pthread_join(thread, &result);
    return result ? 0 : 9;
}

/* Counts its argument down. */
#if defined(__aarch64__)
static const uint32_t count_down[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#else
static const unsigned char count_down[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
#endif

typedef void (*made_fn)(long);

static made_fn make(char *at, FILE *map, const char *name)
{
    made_fn made;
    memcpy(at, count_down, sizeof count_down);
    __builtin___clear_cache(at, at + sizeof count_down);
    fprintf(map, "%lx %zx %s\n", (unsigned long)at, sizeof count_down, name);
    memcpy(&made, &at, sizeof made);
    return made;
}

/* What was there before had another name; both are called with spaces. */
static int made(const struct job *job)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "we");
    char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!map || code == MAP_FAILED) return 9;
    (void)make(code, map, "gone");
    made_fn first = make(code, map, "JS:forty a b.js:1");
    made_fn second = make(code + 64, map, "JS:sixty a b.js:2");
    fclose(map);
    for (double end = seconds(CLOCK_MONOTONIC) + job->s;
         seconds(CLOCK_MONOTONIC) < end;) {
        first(400000);
        second(600000);
    }
    return unlink(path) ? 9 : 0;
}

#if defined(__aarch64__)
/* Keeps registers, has room on the stack that it leaves as it was. */
__asm__(".text\n"
        ".type without_tables, %function\n"
        "without_tables:\n"
        "sub sp, sp, #256\n"
        "stp d8, d9, [sp]\n"
        "stp x19, x20, [sp, #16]\n"
        "1: subs x0, x0, #1\n"
        "b.ne 1b\n"
        "ldp x19, x20, [sp, #16]\n"
        "add sp, sp, #256\n"
        "ret\n"
        ".size without_tables, . - without_tables\n"
        ".type wide_without_tables, %function\n"
        "wide_without_tables:\n"
        "sub sp, sp, #0x3, lsl #12\n"
        "1: subs x0, x0, #1\n"
        "b.ne 1b\n"
        "add sp, sp, #0x3, lsl #12\n"
        "ret\n"
        ".size wide_without_tables, . - wide_without_tables\n");
#else
/* Keeps registers, uses the frame pointer for something else, has room on the
 * stack that it leaves as it was. */
__asm__(".text\n"
        ".type without_tables, @function\n"
        "without_tables:\n"
        "push %rbp\n"
        "push %rbx\n"
        "sub $248, %rsp\n"
        "mov $1, %ebp\n"
        "1: dec %rdi\n"
        "jnz 1b\n"
        "add $248, %rsp\n"
        "pop %rbx\n"
        "pop %rbp\n"
        "ret\n"
        ".size without_tables, . - without_tables\n"
        /* has a block of its own, aligned, and its old stack in a register */
        ".type wide_without_tables, @function\n"
        "wide_without_tables:\n"
        "sub $64, %rsp\n"
        "mov %rbx, (%rsp)\n"
        "mov %rbp, 8(%rsp)\n"
        "mov %rsp, %rbx\n"
        "sub $0x2080, %rsp\n"
        "and $-4096, %rsp\n"
        "mov $1, %ebp\n"
        "1: dec %rdi\n"
        "jnz 1b\n"
        "mov %rbx, %rsp\n"
        "mov 8(%rsp), %rbp\n"
        "mov (%rsp), %rbx\n"
        "add $64, %rsp\n"
        "ret\n"
        ".size wide_without_tables, . - wide_without_tables\n");
#endif
void without_tables(long rounds);
void wide_without_tables(long rounds);

/* Leaves return addresses below the stack pointer. */
NEVER_INLINE static int leave_traces(int depth)
{
    int below = depth ? leave_traces(depth - 1) : 0;
    sink = below;
    return below + 1;
}

NEVER_INLINE static void by_call(long rounds)
{
    leave_traces(20);
    without_tables(rounds);
    sink = 0;
}

NEVER_INLINE static void by_wide(long rounds)
{
    leave_traces(200);
    wide_without_tables(rounds);
    sink = 0;
}

static void (*volatile pointer)(long) = without_tables;

NEVER_INLINE static void by_pointer(long rounds)
{
    leave_traces(20);
    pointer(rounds);
    sink = 0;
}

static void assembly(const struct job *job)
{
    for (double end = seconds(CLOCK_MONOTONIC) + job->s;
         seconds(CLOCK_MONOTONIC) < end;) {
        by_call(100000);
        by_pointer(100000);
    }
}

static void wide(const struct job *job)
{
    for (double end = seconds(CLOCK_MONOTONIC) + job->s;
         seconds(CLOCK_MONOTONIC) < end;)
        by_wide(1000000);
}

/* Waits for whatever signal comes: the one that it sends itself. */
static int waits_for_signals(const struct job *job)
{
    sigset_t all;
    int got = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    work((void *)job);
    alarm(1);
    sigwait(&all, &got);
    return got == SIGALRM ? 0 : 9;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    double ms = argc > 2 ? atof(argv[2]) : 0;
    double us = argc > 4 ? atof(argv[4]) : 100;
    bool is_late = !strcmp(word, "late");
    if (!is_late) puts("ready"); /* which allocates */
    fflush(stdout);
    struct job job = {ms / 1000, rounds_of(us)};
    if (!strcmp(word, "shares") || is_late)
        shares(&job, argc > 3 ? atoi(argv[3]) : 0);
    if (!strcmp(word, "closed")) return closed(&job, argv[3]);
    if (!strcmp(word, "linked")) return linked(&job, argv[3]);
    if (!strcmp(word, "scopes")) scopes(&job);
    if (!strcmp(word, "made")) return made(&job);
    if (!strcmp(word, "assembly")) assembly(&job);
    if (!strcmp(word, "wide")) wide(&job);
    if (!strcmp(word, "urgent")) return urgent(&job);
    if (!strcmp(word, "fibre")) return on_a_fibre(&job);
    if (!strcmp(word, "signals")) return waits_for_signals(&job);
    if (!strcmp(word, "short")) short_ones((int)ms, 10 * rounds_of(200));
    if (!strcmp(word, "fork")) {
        job.s = atof(argv[3]) / 1000;
        children((int)ms, &job);
    }
    for (double end = seconds(CLOCK_MONOTONIC) + job.s;
         !strcmp(word, "deep") && seconds(CLOCK_MONOTONIC) < end;)
        deep(20, job.rounds);
    if (!strcmp(word, "tower")) shares(&job, 0);
    for (double end = seconds(CLOCK_MONOTONIC) + job.s;
         !strcmp(word, "tower") && seconds(CLOCK_MONOTONIC) < end;)
        tower(atoi(argv[3]), job.rounds);
    for (double end = seconds(CLOCK_MONOTONIC) + job.s;
         !strcmp(word, "tail") && seconds(CLOCK_MONOTONIC) < end;)
        jumps(job.rounds);
    if (is_late) puts("ready");
    return 0;
}
