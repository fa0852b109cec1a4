/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two threads of GNU's OpenMP that spin where they wait, on one processor: one of
 * them mostly waits for the other to get it, and also where a region begins, for
 * the pool's thread is not back from the one before. Hardly any of the time is
 * work; all else is waiting, and said to be. */
#include <omp.h>
#include <sched.h>

#include "wait_check.h"

#define REGIONS 60
#define THREADS 2

struct sum {
    uint64_t ns, n, of_start;
};

static int add(const axp_waits *w, void *ctx)
{
    struct sum *sum = ctx;
    bool is_start = !strcmp(w->name, "OpenMP start");
    if (w->thread_id != (uint64_t)getpid()) return 0;
    if (!is_start && strcmp(w->name, "OpenMP barrier") != 0) return 0;
    sum->ns += w->total_ns;
    if (!is_start) return 0;
    sum->n += w->count;
    sum->of_start += w->total_ns;
    CHECK(!w->by_thread_id); /* who was last nobody knows */
    return 0;
}

static void stay_here(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(!sched_setaffinity(0, sizeof one, &one));
}

int main(void)
{
    struct sum sum = {0};
    char path[] = "/tmp/axprof-openmp-XXXXXX";
    const char *opened = path;
    axp_view *view = NULL;
    int fd = mkstemp(path);
    CHECK(fd >= 0 && !close(fd) && !unlink(path));
    stay_here();
    CHECK(!axp_global_open(path));
    axp_ns begin = axp_now(axp_global());
    for (int i = 0; i < REGIONS; i++) {
#pragma omp parallel num_threads(THREADS)
        __asm__ volatile("" ::: "memory");
    }
    axp_ns took = axp_now(axp_global()) - begin;
    CHECK(!axp_finish(axp_global()));
    CHECK(axp_open(&opened, 1, &view) == AXP_OK);
    CHECK(!axp_view_waits(view, add, &sum));
    printf("%llu ms, of which waits %llu, %llu for a team of %llu\n",
           (unsigned long long)(took / MS), (unsigned long long)(sum.ns / MS),
           (unsigned long long)sum.n, (unsigned long long)(sum.of_start / MS));
    CHECK(sum.n >= 1 && sum.n < REGIONS); /* a pool that is made is none */
    CHECK(sum.of_start > 0); /* how much of it is the scheduler's to say */
    CHECK(sum.ns >= took / 10 * 9);
    axp_view_destroy(view);
    unlink(path);
    return 0;
}
