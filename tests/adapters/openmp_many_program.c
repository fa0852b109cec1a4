/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* More regions than there is room for, by GNU's entries: each is recorded, by its
 * name. */
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "wait_check.h"

#define MANY 20000u

extern void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);

/* Of operations that have a name; what has none is counted apart. */
static uint64_t n_calls(const axp_view *view, uint64_t *others)
{
    static axp_op ops[2 * MANY];
    uint64_t calls = 0;
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, 2 * MANY);
    *others = 0;
    for (size_t i = 0; i < n && i < 2 * MANY; i++)
        if (!strcmp(ops[i].name, "OpenMP (other)"))
            *others += ops[i].calls;
        else if (strncmp(ops[i].name, "OpenMP ", 7) != 0)
            calls += ops[i].calls;
    return calls;
}

/* Functions that return at once, each at an address of its own. */
static uint32_t *make_functions(void)
{
    size_t bytes = MANY * sizeof(uint32_t);
    uint32_t *code = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(code != MAP_FAILED);
    for (unsigned i = 0; i < MANY; i++)
#if defined __x86_64__
        code[i] = 0xc3;
#else
        code[i] = 0xd65f03c0;
#endif
    __builtin___clear_cache((char *)code, (char *)code + bytes);
    CHECK(!mprotect(code, bytes, PROT_READ | PROT_EXEC));
    return code;
}

static void more_than_there_is_room_for(void)
{
    uint32_t *code = make_functions();
    for (unsigned i = 0; i < MANY; i++) {
        void (*function)(void *), *at = code + i;
        memcpy(&function, &at, sizeof function);
        GOMP_parallel(function, NULL, 1, 0);
    }
    axp_view *view = axp_snapshot(axp_global());
    uint64_t others, named = n_calls(view, &others);
    printf("%llu with a name, %llu others\n", (unsigned long long)named,
           (unsigned long long)others);
    CHECK(named >= 10000 && others > 0 && named + others == MANY);
    axp_view_destroy(view);
    axp_reset(axp_global());
}

/* ---- who enters late ---------------------------------------------------- */

#define WITHIN 3000u

static sem_t may_go_on;
static pthread_t other;
static pid_t other_id;

/* A thread of the pool's, before it enters its next region. */
static void stand(int number)
{
    (void)number;
    while (sem_wait(&may_go_on))
        continue;
}

static __attribute__((noinline)) void run_within(void)
{
#pragma omp parallel num_threads(1)
    __asm__ volatile("" ::: "memory");
}

static void run_around(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
        for (unsigned i = 0; i < WITHIN; i++)
            run_within();
        sem_post(&may_go_on);
    }
}

/* A region is what it was, however many others began since it did. */
static void entered_late(void)
{
    uint64_t n_around = 0, n_within = 0;
    axp_op ops[8];
    sem_init(&may_go_on, 0, 0);
    signal(SIGUSR1, stand);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        other = pthread_self();
        other_id = gettid();
    }
    do /* until it waits for the next one */
        sleep_ms(20);
    while (state_of(other_id) != 'S');
    axp_reset(axp_global());
    pthread_kill(other, SIGUSR1);
    run_around();
    axp_view *view = axp_snapshot(axp_global());
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, 8);
    for (size_t i = 0; i < n && i < 8; i++) {
        if (ops[i].calls == 2) n_around++;
        if (ops[i].calls == WITHIN) n_within++;
    }
    CHECK(n_around == 1 && n_within == 1);
    axp_view_destroy(view);
    axp_reset(axp_global());
}

/* ---- where another library was ------------------------------------------ */

#define TIMES 5u

static void run_in(const char *path)
{
    void (*run)(void), *found, *library = dlopen(path, RTLD_NOW);
    CHECK(library && (found = dlsym(library, "run_region")));
    memcpy(&run, &found, sizeof run);
    run();
    CHECK(!dlclose(library));
}

/* By its module's name, which is in front. */
static uint64_t calls_in(const axp_view *view, const char *module)
{
    axp_op ops[8];
    uint64_t calls = 0;
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, 8);
    for (size_t i = 0; i < n && i < 8; i++)
        if (strstr(ops[i].name, module)) calls += ops[i].calls;
    return calls;
}

static void closed_and_opened(void)
{
    for (unsigned i = 0; i < TIMES; i++) {
        run_in(openmp_closed_1);
        run_in(openmp_closed_2);
    }
    axp_view *view = axp_snapshot(axp_global());
    CHECK(calls_in(view, "openmp_closed_1") == 2 * TIMES);
    CHECK(calls_in(view, "openmp_closed_2") == 2 * TIMES);
    axp_view_destroy(view);
    axp_reset(axp_global());
}

int main(void)
{
    alarm(60);
    entered_late();
    closed_and_opened();
    more_than_there_is_room_for();
    puts("all as expected");
    return 0;
}
