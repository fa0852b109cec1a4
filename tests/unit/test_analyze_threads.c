/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules about threads that wait for each other, on timelines written by hand:
 * what is found, absent, and said to be regained, against what can be counted. */
#include <math.h>

#include "graph_script.h"
#include "finding_support.h"

#define ROUNDS 20u
#define MS 1000000u
#define LAG 10u /* until who was waited for is awake */
#define NEAR (ROUNDS * 10 * LAG)

/* Two threads in rounds. In each the first does op0 for so long and the second
 * op1, or op0 as well; then they meet. */
struct round {
    uint64_t first, second;
    uint32_t second_op;
    uint64_t held, free; /* op2 of both: under a lock, then op3 without one */
};

/* Who comes first waits. */
static void meet(struct script *s, uint64_t now[2], uint64_t round)
{
    uint32_t early = now[0] < now[1] ? 0 : 1, late = 1 - early;
    script_gave(s, early, now[early], AXP_SYNC_BARRIER, 1, round);
    script_gave(s, late, now[late], AXP_SYNC_BARRIER, 1, round);
    script_waited(s, early, now[late] + LAG,
                  (struct script_wait){AXP_SYNC_BARRIER, 1, round, now[early],
                                       now[late], (int)late, 0, true});
    now[early] = now[late] + LAG;
}

/* The first has the lock first, and the second waits for it. */
static void contend(struct script *s, const struct round *r, uint64_t now[2])
{
    uint64_t given = now[0] + r->held;
    script_op(s, 0, now[0], r->held, 2);
    script_gave(s, 0, given, AXP_SYNC_LOCK, 2, 0);
    if (now[1] < given) {
        script_waited(s, 1, given + LAG,
                      (struct script_wait){AXP_SYNC_LOCK, 2, 0, now[1], given,
                                           0, 0, true});
        now[1] = given + LAG;
    }
    script_op(s, 1, now[1], r->held, 2);
    now[0] = given;
    now[1] += r->held;
}

static struct axp__cap_module *library; /* NULL: nothing is loaded */

static axp_view *run(const struct round *r)
{
    struct script *s = script_create();
    s->c.modules = library;
    s->c.n_modules = library != NULL;
    uint64_t now[2] = {0, 0};
    for (unsigned i = 1; i <= ROUNDS; i++) {
        if (r->first) script_op(s, 0, now[0], r->first, 0);
        now[0] += r->first;
        if (r->second) script_op(s, 1, now[1], r->second, r->second_op);
        now[1] += r->second;
        if (r->held) contend(s, r, now);
        for (uint32_t k = 0; k < 2 && r->free; k++) {
            script_op(s, k, now[k], r->free, 3);
            now[k] += r->free;
        }
        meet(s, now, i);
    }
    return script_view(s);
}

static axp_findings *analyze(const struct round *r, const char *set)
{
    axp_view *v = run(r);
    axp_findings *f =
        axp_analyze(v, &(axp_thresholds){.set = &set, .n_set = set != NULL});
    if (!f) fail_msg("no findings: %s", axp_last_error());
    ts_check_few(v);
    axp_view_destroy(v);
    return f;
}

static bool is_found(const struct round *r, axp_finding_type type,
                     const char *set)
{
    axp_findings *f = analyze(r, set);
    bool is = ts_find(f, type);
    axp_findings_destroy(f);
    return is;
}

static void is_about(const struct round *r, axp_finding_type type,
                     const char *name, uint64_t saving)
{
    axp_findings *f = analyze(r, NULL);
    const axp_finding *x = ts_find(f, type);
    assert_non_null(x);
    assert_string_equal(x->name, name);
    ts_assert_between((double)saving - NEAR, (double)x->saving_ns,
                      (double)saving + NEAR);
    assert_non_null(strstr(x->suggestion, name));
    axp_findings_destroy(f);
}

/* ---- locks ---------------------------------------------------------------------- */

static void a_lock_that_is_waited_for(void **state)
{
    (void)state;
    /* 10 ms of work, then 4 ms one after the other: 18 ms, or 14 at once. */
    struct round r = {10 * MS, 10 * MS, 1, 4 * MS, 0};
    is_about(&r, AXP_LOCK_CONTENTION, "op2", ROUNDS * 4 * MS);
    assert_false(is_found(&r, AXP_LOAD_IMBALANCE, NULL));
    assert_false(is_found(&r, AXP_SERIAL_PHASE, NULL));
    assert_true(is_found(&r, AXP_LOCK_CONTENTION, "lock_contention.waits=20"));
    assert_false(is_found(&r, AXP_LOCK_CONTENTION, "lock_contention.waits=21"));
}

static void is_said_of(const char *path, const char *advice)
{
    struct round r = {10 * MS, 10 * MS, 1, 4 * MS, 0};
    struct axp__cap_module m = {.first = 1, .last = 3, .path = path};
    library = &m;
    axp_findings *f = analyze(&r, NULL);
    library = NULL;
    const axp_finding *x = ts_find(f, AXP_LOCK_CONTENTION);
    assert_non_null(x);
    assert_non_null(strstr(x->suggestion, advice));
    bool is_own = strstr(advice, "less than all");
    assert_int_equal(x->saving_is_bound, !is_own);
    assert_int_equal(x->severity, AXP_HIGH);
    assert_int_equal(!!strstr(x->description, "'s own"), !is_own);
    axp_findings_destroy(f);
}

/* Nobody can hold that for less: who calls the library can do that less. */
static void a_lock_of_a_library(void **state)
{
    (void)state;
    is_said_of("/usr/lib/libopenblas.so.0", "(OPENBLAS_NUM_THREADS=1)");
    is_said_of("/home/me/numpy.libs/libopenblas64.so", "OPENBLAS_NUM_THREADS");
    is_said_of("/lib/libc.so.6", "call op2 less often");
    is_said_of("/home/me/train", "less than all of op2");
}

static void a_lock_at_its_threshold(void **state)
{
    (void)state;
    /* more than 1 of 20 ms */
    struct round r = {17900000, 17900000, 1, 1 * MS, 0};
    assert_true(is_found(&r, AXP_LOCK_CONTENTION, NULL));
    r.first = r.second = 19 * MS; /* 1 of 21 */
    assert_false(is_found(&r, AXP_LOCK_CONTENTION, NULL));
}

/* The second comes when the lock is free again; or has nothing else to do, so
 * that nobody waits for it in the end. */
static void a_lock_that_costs_nothing(void **state)
{
    (void)state;
    struct round r = {4 * MS, 10 * MS, 1, 6 * MS, 0};
    assert_false(is_found(&r, AXP_LOCK_CONTENTION, NULL));
}

/* ---- meetings --------------------------------------------------------------------- */

static void one_does_more(void **state)
{
    (void)state;
    /* 9 and 1 ms: 5 each */
    struct round r = {9 * MS, 1 * MS, 0, 0, 0};
    is_about(&r, AXP_LOAD_IMBALANCE, "op0", ROUNDS * 4 * MS);
    assert_false(is_found(&r, AXP_SERIAL_PHASE, NULL));
    assert_false(is_found(&r, AXP_LOCK_CONTENTION, NULL));
    axp_findings *f = analyze(&r, NULL);
    const axp_finding *x = ts_find(f, AXP_LOAD_IMBALANCE);
    assert_int_equal(x->severity, AXP_CRITICAL); /* 44 % */
    assert_string_equal(x->metrics[0].key, "balance");
    assert_true(fabs(x->metrics[0].value - 5.0 / 9) < 1e-4);
    assert_non_null(strstr(x->description, "thread 100 was behind"));
    axp_findings_destroy(f);
}

/* The first does more in every other round, and the second in the others; both do
 * as much of it in the end. */
static void one_does_more_in_turns(void **state)
{
    (void)state;
    struct script *s = script_create();
    uint64_t now[2] = {0, 0};
    for (unsigned i = 1; i <= ROUNDS; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            uint64_t ns = i % 2 == k ? 9 * MS : 1 * MS;
            script_op(s, k, now[k], ns, 0);
            script_op(s, k, now[k] + ns, (k + 1) * MS / 10, 1);
            now[k] += ns + (k + 1) * MS / 10;
        }
        meet(s, now, i);
    }
    axp_view *v = script_view(s);
    axp_findings *f = axp_analyze(v, NULL);
    const axp_finding *x = ts_find(f, AXP_LOAD_IMBALANCE);
    assert_non_null(x);
    assert_string_equal(x->name, "op0");
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

/* Rounds in which both do the same four operations, one of them more slowly where
 * `late` says so: in all of them, or in the last alone. */
static bool is_uneven(int (*late)(unsigned round), bool in_all)
{
    struct script *s = script_create();
    uint64_t now[2] = {0, 0};
    for (unsigned i = 1; i <= 3 * ROUNDS; i++) {
        for (uint32_t k = 0; k < 8; k++) {
            bool is_slow = late(i) == (int)(k % 2) && (in_all || k > 5);
            uint64_t ns = (1 + k / 2) * MS * (is_slow ? 3 : 1);
            script_op(s, k % 2, now[k % 2], ns, k / 2);
            now[k % 2] += ns;
        }
        meet(s, now, i);
    }
    axp_view *v = script_view(s);
    const char *set = "load_imbalance.saving_percent=1";
    axp_findings *f =
        axp_analyze(v, &(axp_thresholds){.set = &set, .n_set = 1});
    bool is = ts_find(f, AXP_LOAD_IMBALANCE);
    axp_findings_destroy(f);
    axp_view_destroy(v);
    return is;
}

static int for_a_while(unsigned round)
{
    return round > 20 && round <= 30 ? 1 : round > 40 && round < 48 ? 0 : -1;
}

static int here_and_there(unsigned round)
{
    return round % 3 ? -1 : (int)(round / 3 % 2);
}

static int mostly(unsigned round)
{
    return round > 20 ? 1 : -1;
}

/* A processor that is slower for a while is no division of work. */
static void a_slower_processor(void **state)
{
    (void)state;
    assert_false(is_uneven(for_a_while, true));
    assert_true(is_uneven(for_a_while, false)); /* one operation: its work */
    assert_true(is_uneven(here_and_there, true));
    assert_true(is_uneven(mostly, true));
}

/* In no scope, where nobody samples: who had a processor for a ms has slept. */
static void sleeping_is_not_dividing(void **state)
{
    (void)state;
    static const uint64_t cpu_ns[] = {0, MS, ROUNDS * 10 * MS};
    for (size_t k = 0; k < 3; k++) {
        struct script *s = script_create();
        uint64_t now[2] = {0, 0};
        script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        script_word(s, 1, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        for (unsigned i = 1; i <= ROUNDS; i++) {
            now[0] += 10 * MS;
            now[1] += 2 * MS;
            meet(s, now, i);
        }
        s->rows[0].cpu_ns = cpu_ns[k];
        axp_view *v = script_view(s);
        axp_findings *f = axp_analyze(v, NULL);
        assert_int_equal(!ts_find(f, AXP_LOAD_IMBALANCE), k == 1);
        axp_findings_destroy(f);
        axp_view_destroy(v);
    }
}

static void balance_at_its_threshold(void **state)
{
    (void)state;
    struct round r = {10 * MS, 6 * MS, 0, 0, 0}; /* a mean of 8 */
    assert_false(is_found(&r, AXP_LOAD_IMBALANCE, NULL));
    r.second = 5900000;
    assert_true(is_found(&r, AXP_LOAD_IMBALANCE, NULL));
    /* Even, beside which the rest does not count: 2.05 of 41 ms is 5 %. */
    r.free = 31 * MS;
    assert_false(is_found(&r, AXP_LOAD_IMBALANCE, NULL));
    r.second = r.first = 10 * MS;
    assert_false(is_found(&r, AXP_LOAD_IMBALANCE, NULL));
}

static void one_works_alone(void **state)
{
    (void)state;
    struct round r = {10 * MS, 100000, 0, 0, 0};
    axp_findings *f = analyze(&r, NULL);
    const axp_finding *x = ts_find(f, AXP_SERIAL_PHASE);
    assert_non_null(x);
    assert_null(ts_find(f, AXP_LOAD_IMBALANCE));
    assert_string_equal(x->name, "op0");
    assert_true(x->saving_is_bound);
    ts_assert_between(ROUNDS * 4950000.0 - NEAR, (double)x->saving_ns,
                      ROUNDS * 4950000.0 + NEAR);
    assert_int_equal(x->severity, AXP_HIGH); /* never above */
    axp_findings_destroy(f);
    r.second = 600000; /* the others do something after all */
    assert_false(is_found(&r, AXP_SERIAL_PHASE, NULL));
    assert_true(is_found(&r, AXP_LOAD_IMBALANCE, NULL));
}

/* Both meet, one works alone, both meet again: who shares the work has no need to
 * meet before it, nor to be woken after it. */
static void what_serial_work_costs_at_most(void **state)
{
    (void)state;
    struct script *s = script_create();
    uint64_t now[2] = {0, 0}, wake = 1 * MS;
    for (unsigned i = 0; i < ROUNDS; i++) {
        script_op(s, 0, now[0], 8 * MS, 1); /* beside others */
        script_op(s, 1, now[1], 10 * MS, 1);
        now[0] += 8 * MS;
        now[1] += 10 * MS;
        meet(s, now, 2 * i + 1);
        now[0] += wake - LAG; /* of which it does nothing */
        script_op(s, 0, now[0], 4 * MS, 0);
        now[0] += 4 * MS;
        meet(s, now, 2 * i + 2);
    }
    axp_view *v = script_view(s);
    axp_findings *f = axp_analyze(v, NULL);
    const axp_finding *x = ts_find(f, AXP_SERIAL_PHASE);
    assert_non_null(x);
    assert_string_equal(x->name, "op0");
    /* A round takes 10 + 1 + 4 ms. Shared, and without meeting in between, the
     * first does 8 + 2.5, the ms being in no scope, and the second 10 + 2.5. */
    ts_assert_between(ROUNDS * 2.5 * MS - NEAR, (double)x->saving_ns,
                      ROUNDS * 2.5 * MS + NEAR);
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

/* What a team's master does before a region is no part of its share: it is alone
 * then, and the team could share that. */
static void before_a_region(void **state)
{
    (void)state;
    struct script *s = script_create();
    uint64_t now[2] = {0, 0};
    for (unsigned i = 1; i <= ROUNDS; i++) {
        uint64_t given = now[0] + 8 * MS;
        script_op(s, 0, now[0], 8 * MS, 1);
        script_gave(s, 0, given, AXP_SYNC_REGION, 7, 0);
        script_waited(s, 1, given + LAG,
                      (struct script_wait){AXP_SYNC_REGION, 7, 0, now[1], given,
                                           0, 0, true});
        script_op(s, 0, given, 10 * MS, 0);
        script_op(s, 1, given + LAG, 10 * MS, 0);
        now[0] = given + 10 * MS;
        now[1] = given + 10 * MS + LAG;
        meet(s, now, i);
    }
    axp_view *v = script_view(s);
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    assert_null(ts_find(f, AXP_LOAD_IMBALANCE));
    const axp_finding *x = ts_find(f, AXP_SERIAL_PHASE);
    assert_non_null(x);
    assert_string_equal(x->name, "op1");
    assert_true(x->saving_is_bound);
    assert_true(fabs((double)x->saving_ns - ROUNDS * 4.0 * MS) < NEAR);
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

/* Both come to a barrier at once, and there the first runs a task of 9 ms and the
 * second, after so long, one of 1 ms: each is there when it is done. */
static axp_findings *run_tasks(uint64_t idle)
{
    struct script *s = script_create();
    uint64_t now[2] = {0, 0};
    for (unsigned i = 1; i <= ROUNDS; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            script_op(s, k, now[k], 2 * MS, 1);
            now[k] += 2 * MS;
            script_gave(s, k, now[k], AXP_SYNC_BARRIER, 1, i);
        }
        if (idle)
            script_waited(s, 1, now[1] + idle,
                          (struct script_wait){AXP_SYNC_CONDITION, 1, 0, now[1],
                                               0, -1, 0, true});
        now[1] += idle;
        script_op(s, 0, now[0], 9 * MS, 0);
        now[0] += 9 * MS;
        script_op(s, 1, now[1], 1 * MS, 0);
        now[1] += 1 * MS;
        meet(s, now, i);
    }
    axp_view *v = script_view(s);
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    axp_view_destroy(v);
    return f;
}

static void tasks_that_are_run_in_a_barrier(void **state)
{
    (void)state;
    for (uint64_t idle = 0; idle <= 2 * MS; idle += MS) {
        axp_findings *f = run_tasks(idle);
        const axp_finding *x = ts_find(f, AXP_LOAD_IMBALANCE);
        assert_non_null(x);
        assert_string_equal(x->name, "op0");
        /* 11 and 3 ms, which are 7 each; who had to wait for his task does so */
        assert_true(fabs(ts_metric(x, "balance") - 7.0 / 11) < 1e-4);
        ts_assert_between(ROUNDS * (4.0 * MS - (double)idle) - NEAR,
                          (double)x->saving_ns,
                          ROUNDS * (4.0 * MS - (double)idle) + NEAR);
        assert_null(ts_find(f, AXP_SERIAL_PHASE));
        axp_findings_destroy(f);
    }
}

/* The first starts a thread eight times, in op0, and waits for it, each living for
 * so long: it begins 30 us after it was asked for, and is missed for 20. Sampling
 * them has taken follow_ns in all. */
static axp_findings *start_threads(uint64_t lives, double follow_ns,
                                   const char *least)
{
    struct script *s = script_create();
    const char *set[] = {least, "slow_operation.percent=101"};
    uint64_t at = 0, us = 1000;
    for (uint32_t i = 1; i <= 8; i++) {
        uint64_t begin = at + 31 * us, end = begin + lives;
        script_word(s, 0, at, AXP__W_BEGIN, SCRIPT_FIRST);
        at += us;
        script_gave(s, 0, at, AXP_SYNC_THREAD_START, i, 0);
        script_word(s, i, begin, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        script_waited(s, i, begin,
                      (struct script_wait){AXP_SYNC_THREAD_START, i, 0, begin,
                                           at, 0, AXP_SYNC_TOOK, false});
        script_op(s, i, begin, lives, 1);
        script_gave(s, i, end, AXP_SYNC_THREAD_END, 50 + i, 0);
        script_waited(s, 0, end + 20 * us,
                      (struct script_wait){AXP_SYNC_THREAD_END, 50 + i, 0,
                                           at + 5 * us, end, (int)i, 0, true});
        at = end + 20 * us;
        script_word(s, 0, at, AXP__W_END, SCRIPT_FIRST);
    }
    if (follow_ns > 0) script_follow(s, follow_ns);
    axp_view *v = script_view(s);
    axp_findings *f = axp_analyze(v, &(axp_thresholds){.set = set, .n_set = 2});
    if (!f) fail_msg("no findings: %s", axp_last_error());
    ts_check_few(v);
    axp_view_destroy(v);
    return f;
}

static void threads_not_worth_starting(void **state)
{
    (void)state;
    axp_findings *f = start_threads(50 * 1000, 0, "call_overhead.threads=8");
    const axp_finding *x = ts_find(f, AXP_CALL_OVERHEAD);
    assert_non_null(x);
    assert_string_equal(x->name, "op0");
    assert_true(x->saving_is_bound);
    assert_int_equal(x->saving_ns, 8 * 50 * 1000);
    assert_int_equal(x->severity, AXP_MEDIUM);
    assert_true(fabs(ts_metric(x, "thread_ns") - 50e3) < 1);
    axp_findings_destroy(f);
    f = start_threads(50 * 1000, 0, "call_overhead.threads=9"); /* too few */
    assert_null(ts_find(f, AXP_CALL_OVERHEAD));
    axp_findings_destroy(f);
    f = start_threads(MS, 0, "call_overhead.threads=8"); /* worth it */
    assert_null(ts_find(f, AXP_CALL_OVERHEAD));
    axp_findings_destroy(f);
}

/* The same, but in op0 it only starts them, which takes 2 us, and waits 29 us after
 * that: 31 us before one begins that was waited for 1, and 20 after its end. */
static axp_findings *start_threads_shortly(void)
{
    struct script *s = script_create();
    const char *set[] = {"call_overhead.threads=8",
                         "slow_operation.percent=101"};
    uint64_t at = 0, us = 1000;
    for (uint32_t i = 1; i <= 8; i++) {
        uint64_t begin = at + 32 * us, end = begin + 50 * us;
        script_word(s, 0, at, AXP__W_BEGIN, SCRIPT_FIRST);
        script_gave(s, 0, at + us, AXP_SYNC_THREAD_START, i, 0);
        script_word(s, 0, at + 2 * us, AXP__W_END, SCRIPT_FIRST);
        script_word(s, i, begin, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        script_waited(s, i, begin,
                      (struct script_wait){AXP_SYNC_THREAD_START, i, 0, begin,
                                           at + us, 0, AXP_SYNC_TOOK, false});
        script_op(s, i, begin, 50 * us, 1);
        script_gave(s, i, end, AXP_SYNC_THREAD_END, 50 + i, 0);
        script_waited(s, 0, end + 20 * us,
                      (struct script_wait){AXP_SYNC_THREAD_END, 50 + i, 0,
                                           at + 31 * us, end, (int)i, 0, true});
        at = end + 20 * us;
    }
    axp_view *v = script_view(s);
    axp_findings *f = axp_analyze(v, &(axp_thresholds){.set = set, .n_set = 2});
    if (!f) fail_msg("no findings: %s", axp_last_error());
    axp_view_destroy(v);
    return f;
}

/* What was neither the operation's own time nor waited for, nobody gains. */
static void no_more_than_somebody_had(void **state)
{
    (void)state;
    axp_findings *f = start_threads_shortly();
    const axp_finding *x = ts_find(f, AXP_CALL_OVERHEAD);
    assert_non_null(x);
    assert_string_equal(x->name, "op0");
    assert_int_equal(x->saving_ns, 8 * (2 + 1 + 20) * 1000);
    assert_true(fabs(ts_metric(x, "blocked_ms") - 8 * 0.021) < 1e-9);
    axp_findings_destroy(f);
}

/* 4 of the 50 us that each takes, and of those of the first, which nobody
 * started. */
static void what_sampling_takes_is_not_theirs(void **state)
{
    (void)state;
    axp_findings *f =
        start_threads(50 * 1000, 9 * 4000, "call_overhead.threads=8");
    const axp_finding *x = ts_find(f, AXP_CALL_OVERHEAD);
    assert_non_null(x);
    assert_int_equal(x->saving_ns, 8 * 46 * 1000);
    axp_findings_destroy(f);
    f = start_threads(50 * 1000, 1e9, "call_overhead.threads=8");
    assert_null(ts_find(f, AXP_CALL_OVERHEAD));
    axp_findings_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_that_is_waited_for),
        cmocka_unit_test(a_lock_of_a_library),
        cmocka_unit_test(a_lock_at_its_threshold),
        cmocka_unit_test(a_lock_that_costs_nothing),
        cmocka_unit_test(one_does_more),
        cmocka_unit_test(one_does_more_in_turns),
        cmocka_unit_test(balance_at_its_threshold),
        cmocka_unit_test(a_slower_processor),
        cmocka_unit_test(sleeping_is_not_dividing),
        cmocka_unit_test(one_works_alone),
        cmocka_unit_test(what_serial_work_costs_at_most),
        cmocka_unit_test(before_a_region),
        cmocka_unit_test(tasks_that_are_run_in_a_barrier),
        cmocka_unit_test(threads_not_worth_starting),
        cmocka_unit_test(no_more_than_somebody_had),
        cmocka_unit_test(what_sampling_takes_is_not_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
