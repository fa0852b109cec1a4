/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What findings say is regained, of a program whose second thread works behind
 * the first: by replay, not by how long it took. */
#include <semaphore.h>

#include "axprof/axprof_adapter.h"
#include "test_support.h"

#define MS UINT64_C(1000000)

/* ---- a thread that does what it is told ---------------------------------------- */

static sem_t told, is_done;
static void (*what)(void);

static void *worker(void *unused)
{
    for (;;) {
        sem_wait(&told);
        if (!what) return unused;
        what();
        sem_post(&is_done);
    }
}

static void tell(void (*to_do)(void))
{
    what = to_do;
    sem_post(&told);
    if (to_do) sem_wait(&is_done);
}

/* ---- the program: 6 ms of load beside 12 ms of step ------------------------------ */

static uint64_t load;
static int object;

static void begin_load(void)
{
    load = axp_begin(axp_global(), "load");
}

static void end_load(void)
{
    axp_end(load);
}

static void end(void)
{
    axp_sync_give(AXP_SYNC_THREAD_END, &object, 0);
}

static void run(void)
{
    pthread_t thread;
    sem_init(&told, 0, 0);
    sem_init(&is_done, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, worker, NULL), 0);
    uint64_t step = axp_begin(axp_global(), "step");
    for (int i = 0; i < 12; i++) {
        tell(begin_load);
        ts_tick(MS / 2);
        tell(end_load);
    }
    tell(end);
    ts_tick(6 * MS);
    axp_end(step);
    axp_sync_take(AXP_SYNC_THREAD_END, &object, 0, NULL);
    tell(NULL);
    pthread_join(thread, NULL);
}

static const axp_finding *finding(const axp_findings *f, const char *name)
{
    for (size_t i = 0; i < axp_findings_count(f); i++)
        if (!strcmp(axp_findings_at(f, i)->name, name))
            return axp_findings_at(f, i);
    return NULL;
}

static void hidden_time_regains_nothing(void **state)
{
    (void)state;
    axp_reset(axp_global()); /* it began before the clock was ours */
    run();
    axp_view *v = ts_snapshot(axp_global());
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    const axp_finding *of_load = finding(f, "load");
    const axp_finding *of_step = finding(f, "step");
    assert_non_null(of_load);
    assert_non_null(of_step);
    assert_int_equal(of_load->saving_ns, 0);
    assert_int_equal(of_load->severity, AXP_LOW);
    assert_true(of_step->saving_is_bound);
    assert_int_equal(of_step->saving_ns, 6 * MS); /* then load is the run */
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_time_regains_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
