/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Measuring: the kernels compute what they say, the time is kept, whoever wants
 * it to stop is heard. How fast they are is the bench's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "machine/machine.h"
#include "machine/machine_crew.h"
#include "machine/machine_item.h"
#include "machine/machine_kernel.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Every one that the processor has runs, and leaves callers' registers alone. */
static void kernels_run(void **state)
{
    struct axp__kernel all[48];
    size_t n = axp__kernels(all, 48), n_f32 = 0, n_f64 = 0;
    (void)state;
    volatile double kept[16];
    for (int i = 0; i < 16; i++)
        kept[i] = i * 1.5;
    for (size_t i = 0; i < n; i++) {
        double a = kept[1], b = kept[2], c = kept[3];
        all[i].run(3);
        assert_true(a == 1.5 && b == 3 && c == 4.5);
        assert_true(all[i].flops > 0);
        n_f32 += all[i].dtype == AXP_F32;
        n_f64 += all[i].dtype == AXP_F64;
    }
    assert_true(n_f32 >= 1 && n_f64 >= 1);
    axp__kernel_chain(3);
    assert_int_equal(axp__kernels(all, 1), 1);
}

/* to = a + 3 b, of all bytes and no others. */
static void streams_move(void **state)
{
    struct axp__mover all[8];
    size_t n = axp__movers(all, 8), bytes = 5 * AXP__MOVER_BYTES;
    size_t count = bytes / sizeof(double);
    double *m = aligned_alloc(64, 4 * bytes);
    (void)state;
    assert_non_null(m);
    for (size_t i = 0; i < n; i++) {
        if (all[i].read) all[i].read(m, bytes);
        for (size_t k = 0; k < 4 * count; k++)
            m[k] = (double)k;
        if (all[i].copy) all[i].copy(m, m + 3 * count, bytes);
        for (size_t k = 0; k < 4 * count; k++)
            assert_true(m[k] ==
                        (double)(all[i].copy && k < count ? 3 * count + k : k));
        if (!all[i].triad) continue;
        all[i].triad(m, m + count, m + 2 * count, bytes);
        for (size_t k = 0; k < count; k++)
            assert_true(m[k] == m[count + k] + 3 * m[2 * count + k]);
        for (size_t k = count; k < 4 * count; k++)
            assert_true(m[k] == (double)k);
    }
    free(m);
    assert_true(n >= 1);
}

/* Up to the last byte, whatever the length is, and none beyond it. */
static void streams_stay_inside(void **state)
{
    struct axp__mover all[8];
    size_t n = axp__movers(all, 8), page = 65536;
    char *m = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_true(m != MAP_FAILED);
    assert_int_equal(mprotect(m + page, page, PROT_NONE), 0);
    for (size_t bytes = AXP__MOVER_BYTES; bytes <= page / 4;
         bytes += AXP__MOVER_BYTES)
        for (size_t i = 0; i < n; i++) {
            char *at = m + page - bytes;
            if (all[i].read) all[i].read(at, bytes);
            if (all[i].copy) all[i].copy(at, at, bytes);
            if (all[i].triad) all[i].triad(at, at, at, bytes);
        }
    munmap(m, 2 * page);
}

struct met {
    atomic_int n;
    atomic_uint mask;
};

static void meet(void *ctx, uint32_t thread)
{
    struct met *met = ctx;
    atomic_fetch_add(&met->n, 1);
    atomic_fetch_or(&met->mask, 1u << thread);
    usleep(2000);
}

static void crew_works_together(void **state)
{
    struct axp__crew *crew = axp__crew_create(3);
    struct met met = {0};
    (void)state;
    assert_non_null(crew);
    assert_int_equal(axp__crew_size(crew), 3);
    double took = axp__crew_run(crew, 2, meet, &met);
    assert_int_equal(atomic_load(&met.n), 2);
    assert_int_equal(atomic_load(&met.mask), 3);
    assert_true(took >= 0.002);
    for (int i = 0; i < 100; i++)
        axp__crew_run(crew, 1 + (uint32_t)i % 5, meet, &met);
    assert_int_equal(atomic_load(&met.mask), 7);
    axp__crew_destroy(crew);
    axp__crew_destroy(NULL);
}

/* Of each trial it has the processor for a third. */
static void run_starved(const struct axp__item *item, uint32_t thread,
                        uint64_t passes)
{
    double end = now() + 1e-3 * (double)passes;
    (void)item;
    (void)thread;
    while (now() < end)
        continue;
    usleep(2000 * (unsigned)passes);
}

/* One loop, whose trials have so many seconds. */
static struct axp__items *items_of(struct axp__item item, double seconds)
{
    struct axp__items *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->crew = axp__crew_create(1);
    assert_non_null(s->crew);
    s->trial_s = 0.002;
    s->begin_s = now();
    s->end_s = s->begin_s + seconds;
    s->limit_s = s->begin_s + 3600;
    item.what = "a loop";
    item.threads = 1;
    axp__items_add(s, item);
    return s;
}

static void items_done(struct axp__items *s)
{
    axp__crew_destroy(s->crew);
    free(s);
}

/* A neighbour that is always there makes all trials equally slow: they agree, and
 * are doubtful. */
static void a_best_trial_without_a_processor_is_doubtful(void **state)
{
    struct axp__figure figure = {0};
    (void)state;
    struct axp__items *s = items_of(
        (struct axp__item){.run = run_starved, .work = 1, .to = &figure}, 0.02);
    axp__items_measure(s);
    assert_true(figure.best > 0);
    assert_true(figure.spread > 0.5 && figure.spread <= 1);
    items_done(s);
}

static void short_form_keeps_its_time(void **state)
{
    struct axp__machine m;
    axp_machine_options o = {.is_short = true};
    (void)state;
    double began = now();
    axp__machine_measure(&m, &o);
    assert_true(now() - began < 60); /* 3 s, but for what else runs here */
    assert_true(m.n_compute >= 2 && m.compute[0].one.best > 0);
    assert_true(m.is_short && m.n_blas == 0);
    assert_true(m.n_threads >= 1 && m.n_threads <= m.n_allowed);
    for (size_t i = 0; i < m.n_compute; i++) {
        double spread = m.compute[i].one.spread;
        assert_true(spread >= 0 && spread < 1);
        /* as it is stored: what is doubtful here is so wherever it is read */
        assert_true(spread == round(spread * 1000) / 1000);
    }
}

static int stop_at_once(double part, const char *what, void *ctx)
{
    int *n = ctx;
    assert_true(part >= 0 && part <= 1);
    assert_non_null(what);
    return ++*n >= 3;
}

static void stops_when_told(void **state)
{
    struct axp__machine m;
    int n = 0;
    axp_machine_options o = {.progress = stop_at_once, .ctx = &n};
    (void)state;
    double began = now();
    axp__machine_measure(&m, &o);
    assert_int_equal(n, 3);
    assert_true(m.is_partial);
    assert_true(now() - began < 60);
    assert_int_equal(m.n_blas, 0);
}

/* Short passes, each time after a wait for the processor. */
static void run_late(const struct axp__item *item, uint32_t thread,
                     uint64_t passes)
{
    (void)thread;
    usleep(3000);
    for (volatile uint64_t i = 0; i < passes * (uint64_t)item->work; i++)
        continue;
}

/* Where every trial has to wait, waiting is not what makes one long enough: its
 * figure would be of that. */
static void waiting_makes_no_trial_long(void **state)
{
    struct axp__figure figure = {0};
    (void)state;
    struct axp__items *s = items_of(
        (struct axp__item){.run = run_late, .work = 100, .to = &figure}, 0.1);
    axp__items_measure(s);
    assert_true(s->all[0].passes > 100);
    assert_true(axp__crew_ran(s->crew) > s->trial_s / 4);
    items_done(s);
}

/* Short passes, but that a neighbour took the processor in the first. */
static void run_disturbed(const struct axp__item *item, uint32_t thread,
                          uint64_t passes)
{
    static bool was_disturbed;
    (void)thread;
    if (!was_disturbed) usleep(20000);
    was_disturbed = true;
    for (volatile uint64_t i = 0; i < passes * (uint64_t)item->work; i++)
        continue;
}

/* Else all its trials would be that short, and the figure that of the clock and
 * of threads that meet. */
static void trials_get_their_length_after_a_disturbance(void **state)
{
    struct axp__figure figure = {0};
    (void)state;
    struct axp__items *s = items_of(
        (struct axp__item){.run = run_disturbed, .work = 10, .to = &figure},
        3600);
    for (int i = 0; i < 3; i++)
        axp__items_round(s);
    assert_int_equal(s->all[0].n_trials, 3);
    assert_true(s->all[0].passes > 1000);
    items_done(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_run),
        cmocka_unit_test(streams_move),
        cmocka_unit_test(streams_stay_inside),
        cmocka_unit_test(crew_works_together),
        cmocka_unit_test(trials_get_their_length_after_a_disturbance),
        cmocka_unit_test(waiting_makes_no_trial_long),
        cmocka_unit_test(a_best_trial_without_a_processor_is_doubtful),
        cmocka_unit_test(short_form_keeps_its_time),
        cmocka_unit_test(stops_when_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
