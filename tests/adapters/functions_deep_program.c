/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A thread's open calls outgrow their room at the worst of moments: while the
 * adapter measures what a muted call takes, and while a signal's handler has
 * interrupted the hooks. It calls them itself, so that depths are known. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <axprof/axprof_read.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (condition) break;                                                  \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);        \
        exit(1);                                                               \
    } while (0)

enum {
    SHALLOWEST = 150, /* less than a page of open calls … */
    DEEPEST = 350,    /* … and more than two */
    CALLS = 40000,    /* so that it is muted */
    HANDLER_DEPTH = 600,
    STEADY = 32 /* calls of a thread: 500 threads have none that is muted */
};

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

/* Functions, as far as hooks know: addresses. */
static char outer[DEEPEST][16], hot[DEEPEST][16], inner[HANDLER_DEPTH][16];
static char steady[2][16];

static void enter(char *function)
{
    __cyg_profile_func_enter(function, NULL);
}

static void leave(char *function)
{
    __cyg_profile_func_exit(function, NULL);
}

static void *be_hot_below(void *arg)
{
    int depth = *(int *)arg;
    for (int i = 0; i < depth; i++)
        enter(outer[i]);
    for (int i = 0; i < CALLS; i++) {
        enter(hot[depth]);
        leave(hot[depth]);
    }
    for (int i = depth; i-- > 0;)
        leave(outer[i]);
    return NULL;
}

static void run(void *(*thread)(void *), void *arg)
{
    pthread_t id;
    CHECK(!pthread_create(&id, NULL, thread, arg));
    pthread_join(id, NULL);
}

static volatile sig_atomic_t n_signals;

/* Deeper than its thread has been, as a rule. */
static void go_deep(int number)
{
    int depth = (int)(n_signals * 7 % HANDLER_DEPTH);
    (void)number;
    n_signals++;
    for (int i = 0; i < depth; i++)
        enter(inner[i]);
    for (int i = depth; i-- > 0;)
        leave(inner[i]);
}

static void *be_interrupted(void *arg)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    for (int i = 0; i < STEADY; i++) {
        enter(steady[0]);
        enter(steady[1]);
        leave(steady[1]);
        leave(steady[0]);
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return arg;
}

/* Of a name's end, which is where it is in the program. */
static uint64_t calls_of(const axp_view *view, const char *function)
{
    static axp_op ops[2 * (DEEPEST + HANDLER_DEPTH)];
    size_t most = sizeof ops / sizeof *ops;
    Dl_info info;
    struct link_map *map;
    char end[32];
    CHECK(dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP));
    snprintf(end, sizeof end, "+0x%lx",
             (unsigned long)((uintptr_t)function - map->l_addr));
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, most);
    for (size_t i = 0; i < n && i < most; i++) {
        const char *plus = strchr(ops[i].name, '+');
        if (plus && !strcmp(plus, end)) return ops[i].calls;
    }
    return 0;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void)
{
    for (int depth = SHALLOWEST; depth < DEEPEST; depth++)
        run(be_hot_below, &depth);

    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGALRM, go_deep);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 100}, {0, 100}}, NULL);
    uint64_t n_threads = 0;
    for (double end = now_s() + 2; now_s() < end && n_threads < 500;
         n_threads++)
        run(be_interrupted, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);

    axp_view *view = axp_snapshot(axp_global());
    CHECK(view);
    CHECK(n_signals > 0);
    CHECK(calls_of(view, steady[0]) == STEADY * n_threads);
    CHECK(calls_of(view, steady[1]) == STEADY * n_threads);
    CHECK(calls_of(view, outer[0]) == DEEPEST - SHALLOWEST);
    axp_view_destroy(view);
    puts("deep calls are recorded");
    return 0;
}
