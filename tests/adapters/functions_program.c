/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Built with -finstrument-functions and run with the adapter loaded: it looks
 * at what was recorded of its own functions, which are told apart by their
 * addresses. Also the program whose symbols are looked up. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof_read.h>

#define PLAIN __attribute__((no_instrument_function))
#define CHECK(condition)                                                       \
    do {                                                                       \
        if (condition) break;                                                  \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);        \
        exit(1);                                                               \
    } while (0)

void functions_library(void); /* in a library */

static volatile int sink;

__attribute__((noinline)) static void leaf(void)
{
    sink++;
}

__attribute__((noinline)) static void recurse(int n)
{
    if (n) recurse(n - 1);
    leaf();
}

static jmp_buf back;
__attribute__((noinline)) static void jump(void)
{
    longjmp(back, 1);
}
__attribute__((noinline)) static void catch_jump(void)
{
    if (!setjmp(back)) jump();
    leaf();
}

static void *thread_main(void *argument)
{
    recurse(2000); /* deeper than the first page of a thread's stack */
    return argument;
}

__attribute__((noinline)) static void on_signal(int number)
{
    (void)number;
    leaf();
}

/* The op of a function; calls 0: there is none. */
PLAIN static axp_op op_of(const axp_view *view, uintptr_t function)
{
    static axp_op ops[256];
    Dl_info info;
    struct link_map *map;
    char end[32];
    axp_op none = {0};
    CHECK(dladdr1((void *)function, &info, (void **)&map, RTLD_DL_LINKMAP));
    snprintf(end, sizeof end, "+0x%lx",
             (unsigned long)(function - map->l_addr));
    size_t n = axp_view_ops(view, AXP_BY_TIME, ops, 256);
    for (size_t i = 0; i < n && i < 256; i++) {
        const char *plus = strchr(ops[i].name, '+');
        if (plus && !strcmp(plus, end)) return ops[i];
    }
    return none;
}

PLAIN static uint64_t calls_of(const axp_view *view, uintptr_t function)
{
    return op_of(view, function).calls;
}

/* The loader calls it by a link, libfunctions_library.so.1; what the kernel lists
 * as mapped, and what the recording has of it, is the file. */
PLAIN static void expect_file_behind_links(const axp_view *view)
{
    Dl_info info;
    char path[PATH_MAX];
    axp_op op = op_of(view, (uintptr_t)functions_library);
    CHECK(op.calls == 1);
    CHECK(dladdr((void *)(uintptr_t)functions_library, &info));
    CHECK(realpath(info.dli_fname, path) && strcmp(path, info.dli_fname) != 0);
    CHECK(!strcmp(op.file, path));
    const char *base = strrchr(path, '/') + 1;
    CHECK(!strncmp(op.name, base, strlen(base)));
}

PLAIN int main(int argc, char **argv)
{
    pthread_t threads[4];
    (void)argc;
    recurse(99);
    functions_library();
    for (int i = 0; i < 3; i++)
        catch_jump();
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&threads[i], NULL, thread_main, NULL));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);

    axp_view *view = axp_snapshot(axp_global());
    CHECK(view);
    CHECK(calls_of(view, (uintptr_t)recurse) == 100 + 4 * 2001);
    CHECK(calls_of(view, (uintptr_t)leaf) == 100 + 3 + 1 + 4 * 2001);
    CHECK(calls_of(view, (uintptr_t)catch_jump) == 3);
    CHECK(calls_of(view, (uintptr_t)jump) == 3);
    CHECK(calls_of(view, (uintptr_t)thread_main) == 4);
    CHECK(calls_of(view, (uintptr_t)on_signal) == 1);

    axp_op op = op_of(view, (uintptr_t)leaf);
    const char *base = strrchr(argv[0], '/');
    base = base ? base + 1 : argv[0];
    CHECK(!strncmp(op.name, base, strlen(base)));
    CHECK(op.file && op.file[0] == '/' && strstr(op.file, base));
    expect_file_behind_links(view);
    axp_view_destroy(view);
    puts("functions are recorded");
    return 0;
}
