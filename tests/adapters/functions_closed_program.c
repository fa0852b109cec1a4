/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Run with the adapter loaded: two libraries whose functions are recorded, each
 * opened where the other one was, so that the same addresses are now of one and
 * then of the other. What is counted and not recorded is theirs, too. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <axprof/axprof_read.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (condition) break;                                                  \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);        \
        exit(1);                                                               \
    } while (0)

#define TIMES 3u

static unsigned n_calls;

static void *run_in(const char *path)
{
    void (*run)(unsigned), *found, *library = dlopen(path, RTLD_NOW);
    CHECK(library && (found = dlsym(library, "run_often")));
    memcpy(&run, &found, sizeof run);
    run(n_calls);
    CHECK(!dlclose(library));
    return found;
}

/* In turn: what is counted is told when the thread ends, and no library is there
 * any more. */
static void *run_in_both(void *argument)
{
    for (unsigned i = 0; i < TIMES; i++)
        CHECK(run_in(functions_closed_1) == run_in(functions_closed_2));
    return argument;
}

/* Recorded and counted, of the module with that name. */
static uint64_t calls_in(const axp_view *view, const char *module)
{
    axp_op ops[16];
    axp_counter_info counters[16];
    uint64_t calls = 0;
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, 16);
    for (size_t i = 0; i < n && i < 16; i++)
        if (strstr(ops[i].name, module)) calls += ops[i].calls;
    n = axp_view_counters(view, counters, 16);
    for (size_t i = 0; i < n && i < 16; i++)
        if (strstr(counters[i].name, module))
            calls += (uint64_t)counters[i].last;
    return calls;
}

static void check_calls(unsigned n)
{
    pthread_t thread;
    n_calls = n;
    CHECK(!pthread_create(&thread, NULL, run_in_both, NULL));
    CHECK(!pthread_join(thread, NULL));
    axp_view *view = axp_snapshot(axp_global());
    uint64_t first = calls_in(view, "functions_closed_1");
    uint64_t second = calls_in(view, "functions_closed_2");
    fprintf(stderr, "%u calls: %llu and %llu\n", n, (unsigned long long)first,
            (unsigned long long)second);
    CHECK(first == TIMES * (n + 1) && second == TIMES * (n + 1));
    axp_view_destroy(view);
    axp_reset(axp_global());
}

int main(void)
{
    alarm(60);
    check_calls(10);
    check_calls(1000000);
    puts("each library has its own");
    return 0;
}
