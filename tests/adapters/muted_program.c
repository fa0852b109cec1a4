/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Built with -finstrument-functions and run with the adapter loaded: functions
 * that are called millions of times are muted, and no call is lost: it is
 * recorded, or counted. With an argument, that many calls and no questions; with
 * one more, the first thread and a child do the same, and end by _exit. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

#define DEPTH 100u

static volatile unsigned sink;
static unsigned n_calls = 3000000;

__attribute__((noinline)) static void tiny(void)
{
    sink++;
}

/* Muted while it is open many times over. */
__attribute__((noinline)) static void deep(unsigned n)
{
    if (n) deep(n - 1);
    sink++;
}

__attribute__((noinline)) static void seldom(void)
{
    for (int i = 0; i < 100; i++)
        sink++;
}

static void *thread_main(void *argument)
{
    for (unsigned i = 0; i < n_calls; i++) {
        tiny();
        if (i % 100000 == 0) seldom();
    }
    for (unsigned i = 0; i < n_calls / DEPTH; i++)
        deep(DEPTH - 1);
    seldom();
    return argument;
}

/* The end of the name of a function. */
PLAIN static void end_of(uintptr_t function, char *end, size_t size)
{
    Dl_info info;
    struct link_map *map;
    CHECK(dladdr1((void *)function, &info, (void **)&map, RTLD_DL_LINKMAP));
    snprintf(end, size, "+0x%lx", (unsigned long)(function - map->l_addr));
}

PLAIN static uint64_t calls_of(const axp_view *view, uintptr_t function)
{
    static axp_op ops[64];
    char end[32];
    end_of(function, end, sizeof end);
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, 64);
    for (size_t i = 0; i < n && i < 64; i++) {
        const char *plus = strchr(ops[i].name, '+');
        if (plus && !strcmp(plus, end)) return ops[i].calls;
    }
    return 0;
}

PLAIN static uint64_t muted_calls(const axp_view *view)
{
    static axp_warning all[32];
    size_t n = axp_view_warnings(view, all, 32);
    uint64_t found = 0;
    for (size_t i = 0; i < n && i < 32; i++) {
        CHECK(strcmp(all[i].code, "open_scopes"));
        CHECK(strcmp(all[i].code, "abandoned_scopes"));
        if (!strcmp(all[i].code, "muted_calls")) found = all[i].count;
    }
    return found;
}

PLAIN static void end_at_once(void)
{
    pid_t child = fork();
    thread_main(NULL);
    if (child > 0) waitpid(child, NULL, 0);
    _exit(0);
}

PLAIN int main(int argc, char **argv)
{
    pthread_t threads[2];
    if (argc > 1) n_calls = (unsigned)atoi(argv[1]);
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&threads[i], NULL, thread_main, NULL));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (argc > 2) end_at_once();
    if (argc > 1) return 0;

    axp_view *view = axp_snapshot(axp_global());
    CHECK(view);
    uint64_t n_tiny = calls_of(view, (uintptr_t)tiny);
    uint64_t n_deep = calls_of(view, (uintptr_t)deep);
    CHECK(n_tiny >= 16384 && n_tiny < n_calls);
    CHECK(n_deep >= 16384 && n_deep < n_calls);
    CHECK(n_tiny + n_deep + muted_calls(view) == 4 * n_calls);
    CHECK(calls_of(view, (uintptr_t)seldom) == 2 * 31);
    CHECK(calls_of(view, (uintptr_t)thread_main) == 2);
    axp_view_destroy(view);
    puts("functions are muted");
    return 0;
}
