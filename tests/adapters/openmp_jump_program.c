/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Regions of LLVM's OpenMP that are the last of their functions, which jump to the
 * runtime instead of calling it: each has its own function's name. Built by clang
 * with -O2. */
#include <omp.h>
#include <string.h>

#include "wait_check.h"

#define ROUNDS 7

static uint64_t n_entered;

__attribute__((noinline)) static void jumps_first(void)
{
#pragma omp parallel num_threads(2)
    __atomic_add_fetch(&n_entered, 1, __ATOMIC_RELAXED);
}

/* By a stub: others may have one of that name. */
__attribute__((noinline)) void jumps_second(void);
void jumps_second(void)
{
#pragma omp parallel num_threads(2)
    __atomic_add_fetch(&n_entered, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void calls(void)
{
#pragma omp parallel num_threads(2)
    __atomic_add_fetch(&n_entered, 1, __ATOMIC_RELAXED);
    n_entered--;
}

/* The inner one is the last of the outer one's own function, which the runtime
 * calls. */
__attribute__((noinline)) static void nests(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        __atomic_add_fetch(&n_entered, 1, __ATOMIC_RELAXED);
    }
    n_entered--;
}

static uint64_t calls_of(const axp_view *v, const char *function)
{
    size_t n = axp_view_ops(v, AXP_BY_CALLS, NULL, 0), len = strlen(function);
    axp_op *ops = calloc(n + 1, sizeof *ops);
    uint64_t sum = 0;
    CHECK(ops != NULL);
    axp_view_ops(v, AXP_BY_CALLS, ops, n);
    for (size_t i = 0; i < n; i++)
        if (!strncmp(ops[i].name, function, len) && ops[i].name[len] == ':')
            sum += ops[i].calls;
    free(ops);
    return sum;
}

/* A snapshot has addresses; a recording that is opened has names. */
static axp_view *record(const char *path)
{
    axp_view *view = NULL;
    CHECK(!axp_global_open(path));
    for (int i = 0; i < ROUNDS; i++) {
        jumps_first();
        jumps_second();
        jumps_first();
        calls();
        nests();
    }
    CHECK(!axp_finish(axp_global()));
    CHECK(axp_open(&path, 1, &view) == AXP_OK);
    unlink(path);
    return view;
}

int main(void)
{
    char path[] = "/tmp/axprof-openmp-XXXXXX";
    int fd = mkstemp(path);
    omp_set_max_active_levels(2);
    CHECK(fd >= 0 && !close(fd) && !unlink(path));
    axp_view *v = record(path);
    printf("jumps_first %llu, jumps_second %llu, calls %llu, others %llu\n",
           (unsigned long long)calls_of(v, "jumps_first"),
           (unsigned long long)calls_of(v, "jumps_second"),
           (unsigned long long)calls_of(v, "calls"),
           (unsigned long long)calls_of(v, "record"));
    CHECK(calls_of(v, "jumps_first") == 2 * 2 * ROUNDS);
    CHECK(calls_of(v, "jumps_second") == 2 * ROUNDS);
    CHECK(calls_of(v, "calls") == 2 * ROUNDS);
    CHECK(calls_of(v, "nests") == (2 + 2 * 2) * ROUNDS);
    CHECK(calls_of(v, "record") + calls_of(v, "main") == 0);
    axp_view_destroy(v);
    puts("regions have their own functions' names");
    return 0;
}
