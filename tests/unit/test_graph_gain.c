/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What findings say is regained, of a program whose second thread works behind
 * the first: by replay, not by how long it took. */
#include <semaphore.h>
#include <unistd.h>

#include "axprof/axprof_adapter.h"
#include "file/file_open.h"
#include "model/model_view.h"
#include "record/record_capture.h"
#include "record/record_process.h"
#include "test_support.h"

#define MS UINT64_C(1000000)
#define US UINT64_C(1000)

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

/* ---- the same where nothing tells who waited for whom ------------------------------ */

static void mark(void)
{
    axp_instant(axp_global(), "here");
}

static void begin_sleep(void)
{
    load = axp_begin(axp_global(), "sleep");
}

static void run_beside(void)
{
    pthread_t thread;
    sem_init(&told, 0, 0);
    sem_init(&is_done, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, worker, NULL), 0);
    mark();
    tell(mark);
    for (int i = 0; i < 12; i++) {
        uint64_t step = axp_begin(axp_global(), "step");
        tell(begin_sleep);
        ts_tick(2 * MS);
        tell(end_load);
        axp_end(step);
    }
    tell(NULL);
    pthread_join(thread, NULL);
}

enum timeline { NONE, EMPTIED, WHOLE };

/* What else the rows had is no longer there. */
static void keep_marks(struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_chunks; i++) {
        assert_int_equal(axp__word_kind(c->chunks[i].words[0]), AXP__W_INSTANT);
        c->chunks[i].n_words = c->chunks[i].n_events = 1;
    }
}

/* As if the threads had had a processor for so long. */
static axp_findings *analyze(axp_ns main_ns, axp_ns other_ns,
                             enum timeline timeline)
{
    axp_reset(axp_global());
    run_beside();
    struct axp__capture *c = axp__capture_take(axp_global());
    assert_non_null(c);
    if (c->trace) assert_int_equal(axp__trace_attach(c), 0);
    for (size_t i = 0; i < c->n_rows; i++)
        c->rows[i].cpu_ns =
            c->rows[i].tid == (uint64_t)getpid() ? main_ns : other_ns;
    if (timeline == NONE) c->n_chunks = 0;
    if (timeline == EMPTIED) keep_marks(c);
    axp_view *v = axp__view_make(c);
    assert_non_null(v);
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    axp_view_destroy(v);
    return f;
}

/* It gains nothing, and so no finding says it does: what sleeps, beside what is
 * the run. */
static void who_sleeps_beside_the_run_is_no_cause(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) { /* on a machine that is too busy, too */
        axp_findings *f = analyze((i < 3 ? 24 : 8) * MS, MS / 10, i % 3);
        const axp_finding *step = finding(f, "step");
        assert_null(finding(f, "sleep"));
        assert_non_null(step);
        assert_int_equal(step->severity, AXP_CRITICAL);
        assert_non_null(strstr(axp_findings_verdict(f), "the run is step;"));
        axp_findings_destroy(f);
    }
}

/* Who computes may be waited for, and of whom nobody knows may compute. */
static void who_computes_beside_the_run_may_be_a_cause(void **state)
{
    (void)state;
    static const axp_ns cpu_ns[] = {24 * MS, 0};
    for (int i = 0; i < 2; i++) {
        axp_findings *f = analyze(24 * MS, cpu_ns[i], WHOLE);
        const axp_finding *other = finding(f, "sleep");
        assert_non_null(other);
        assert_true(other->saving_ns > 0);
        axp_findings_destroy(f);
    }
    /* For a quarter of its time: that much at most. */
    axp_findings *f = analyze(24 * MS, 6 * MS, WHOLE);
    const axp_finding *other = finding(f, "sleep");
    assert_non_null(other);
    assert_true(other->saving_ns <= 6 * MS);
    axp_findings_destroy(f);
}

/* Who sleeps while nobody computes may be what the run is. */
static void who_sleeps_alone_may_be_the_run(void **state)
{
    (void)state;
    axp_findings *f = analyze(MS / 10, MS / 10, NONE);
    assert_non_null(finding(f, "sleep"));
    axp_findings_destroy(f);
}

/* ---- a lock that is seen to be given before it was waited for ----------------------- */

static axp_giver given;

static void give_lock(void)
{
    given = axp_sync_release(AXP_SYNC_LOCK, &object, 0, true);
}

/* A runtime may tell that it gave a lock when another has it already: then he is
 * seen to wait for nothing but the time before. Each round 60 us of step, and so
 * long in that wait. */
static axp_findings *wait_for_lock(axp_ns late)
{
    pthread_t thread;
    axp_reset(axp_global());
    sem_init(&told, 0, 0);
    sem_init(&is_done, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, worker, NULL), 0);
    for (int i = 0; i < 120; i++) {
        uint64_t step = axp_begin(axp_global(), "step");
        ts_tick(60 * US);
        tell(give_lock);
        axp_end(step);
        uint64_t began = axp_wait_begin();
        ts_tick(late);
        axp_sync_waited(&(axp_sync_wait){.kind = AXP_SYNC_LOCK,
                                         .object = &object,
                                         .began = began,
                                         .by = given,
                                         .name = "lock wait"});
    }
    tell(NULL);
    pthread_join(thread, NULL);
    axp_view *v = ts_snapshot(axp_global());
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    axp_view_destroy(v);
    return f;
}

/* None of the threads ends it: that is not so of one that says who did. */
static void a_wait_with_a_giver_is_not_for_nobody(void **state)
{
    (void)state;
    for (axp_ns late = 0; late <= 30 * US; late += 30 * US) {
        axp_findings *f = wait_for_lock(late);
        assert_null(finding(f, "lock wait"));
        const axp_finding *lock = finding(f, "(no scope)");
        assert_int_equal(lock && lock->type == AXP_LOCK_CONTENTION, late > 0);
        axp_findings_destroy(f);
    }
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hidden_time_regains_nothing),
        cmocka_unit_test(who_sleeps_beside_the_run_is_no_cause),
        cmocka_unit_test(who_computes_beside_the_run_may_be_a_cause),
        cmocka_unit_test(who_sleeps_alone_may_be_the_run),
        cmocka_unit_test(a_wait_with_a_giver_is_not_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
