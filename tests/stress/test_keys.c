/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program with many pthread keys, whose malloc records, and whose handlers
 * record a thread's first event. glibc allocates at a thread's first use of a
 * key past the 32nd: a recording call must not.
 *
 * The keys are made before any constructor runs, so that the library's own
 * comes after them; malloc has a lock that is not to be taken twice. */
#include <pthread.h>
#include <sched.h>

#include "stress_check.h"

#define N_THREADS 400
#define AT_ONCE 8

/* ---- before all constructors ------------------------------------------------ */

static void make_keys(int argc, char **argv, char **env)
{
    pthread_key_t key;
    (void)argc;
    (void)argv;
    for (; *env; env++)
        if (!strncmp(*env, "TEST_KEYS=", 10))
            for (int n = atoi(*env + 10); n > 0; n--)
                CHECK(!pthread_key_create(&key, NULL));
}

__attribute__((section(".preinit_array"),
               used)) static void (*const first)(int, char **,
                                                 char **) = make_keys;

/* ---- a malloc that records ---------------------------------------------------- */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);

static __thread bool is_mine; /* a thread of the test, not of the library */
static __thread bool is_held;
static int lock;
static uint64_t n_mallocs, n_signals;

static void enter(void)
{
    CHECK(!is_held); /* where it would wait for itself */
    is_held = true;
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    {
        AXP_SCOPE("malloc");
    }
    __atomic_add_fetch(&n_mallocs, 1, __ATOMIC_RELAXED);
}

static void leave(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
    is_held = false;
}

void *malloc(size_t bytes)
{
    bool is_recorded = is_mine;
    if (is_recorded) enter();
    void *memory = __libc_malloc(bytes);
    if (is_recorded) leave();
    return memory;
}

void *calloc(size_t n, size_t bytes)
{
    bool is_recorded = is_mine;
    if (is_recorded) enter();
    void *memory = __libc_calloc(n, bytes);
    if (is_recorded) leave();
    return memory;
}

/* ---- threads -------------------------------------------------------------------- */

static void *volatile kept;

static void *in_malloc(void *arg)
{
    (void)arg;
    is_mine = true;
    void *memory = malloc(10); /* the thread's first event */
    kept = memory;
    {
        AXP_SCOPE("thread");
    }
    free(memory);
    is_mine = false;
    return NULL;
}

static void on_signal(int sig)
{
    (void)sig;
    {
        AXP_SCOPE("handler");
    }
    __atomic_add_fetch(&n_signals, 1, __ATOMIC_RELAXED);
}

/* The first event is in a handler, in the middle of malloc. */
static void *in_handler(void *arg)
{
    (void)arg;
    is_held = is_mine = true;
    raise(SIGUSR1);
    is_held = is_mine = false;
    return NULL;
}

static void run_threads(void *(*fn)(void *))
{
    pthread_t t[AT_ONCE];
    for (int i = 0; i < N_THREADS; i += AT_ONCE) {
        for (int k = 0; k < AT_ONCE; k++)
            CHECK(!pthread_create(&t[k], NULL, fn, NULL));
        for (int k = 0; k < AT_ONCE; k++)
            CHECK(!pthread_join(t[k], NULL));
    }
}

static int run(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    stress_watch(60);
    CHECK(!sigaction(SIGUSR1, &action, NULL));
    run_threads(in_malloc);
    run_threads(in_handler);
    unsigned before = stress_count_maps();
    run_threads(in_malloc);
    run_threads(in_handler);
    unsigned after = stress_count_maps();
    CHECK_EQ(axp_call_count(axp_global(), "malloc"), n_mallocs);
    CHECK_EQ(axp_call_count(axp_global(), "handler"), n_signals);
    CHECK_EQ(axp_call_count(axp_global(), "thread"), 2 * N_THREADS);
    CHECK_EQ(n_signals, 2 * N_THREADS);
    axp_view *v = axp_snapshot(axp_global());
    CHECK(v != NULL);
    stress_check_view(v);
    CHECK_EQ(axp_view_threads(v, NULL, 0), 4 * N_THREADS);
    CHECK_EQ(stress_view_warning(v, "signal_drops"), 0);
    CHECK_EQ(stress_view_warning(v, "no_memory"), 0);
    axp_view_destroy(v);
    dprintf(1, "        %u maps, then %u\n", before, after);
    CHECK(after < before + 100); /* what ended threads had is used again */
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const keys[] = {"31", "32", "40", "200"};
    int failed = 0;
    (void)argc;
    if (getenv("TEST_KEYS")) return run();
    if (STRESS_TSAN || STRESS_ASAN) return 77; /* they have malloc and keys */
    if (STRESS_EMULATED) return 77;
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
        int status = 0;
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (!pid) {
            setenv("TEST_KEYS", keys[i], 1);
            execv("/proc/self/exe", argv);
            _exit(1);
        }
        CHECK(waitpid(pid, &status, 0) == pid);
        bool ok = WIFEXITED(status) && !WEXITSTATUS(status);
        printf("%s  %s keys\n", ok ? "ok    " : "FAILED", keys[i]);
        fflush(stdout);
        failed += !ok;
    }
    return failed ? 1 : 0;
}
