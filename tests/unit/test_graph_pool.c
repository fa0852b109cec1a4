/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that wait on conditions for what another one gives them, on timelines
 * written by hand: which of them are a pool, and what its master does alone. */
#include "graph_script.h"
#include "finding_support.h"

#define ROUNDS 20u
#define MS 1000000u
#define LAG 10u /* until who was waited for is awake */
#define NEAR (ROUNDS * 10 * LAG)
#define MOST_ROWS 4u

/* Where each row is. */
static uint64_t now[MOST_ROWS];

static void work(struct script *s, uint32_t row, uint64_t ns, uint32_t op)
{
    if (ns) script_op(s, row, now[row], ns, op);
    now[row] += ns;
}

/* A row waits on a condition until another gives, who is there later. */
static void wait_for(struct script *s, uint32_t row, uint32_t by)
{
    if (now[row] >= now[by]) return; /* it has given before */
    script_gave(s, by, now[by], AXP_SYNC_CONDITION, 50 + by, 0);
    script_waited(s, row, now[by] + LAG,
                  (struct script_wait){AXP_SYNC_CONDITION, 50 + by, 0, now[row],
                                       now[by], (int)by, 0, true});
    now[row] = now[by] + LAG;
}

/* Row 0 does op0 alone, gives the others work, does its share of op1 and waits for
 * who is done last; the first of them has so much more. */
struct pool {
    uint32_t n; /* with row 0 */
    uint64_t alone, own, each, more;
    uint64_t n_cpus; /* 0: not known */
};

static axp_findings *run_pool(const struct pool *p)
{
    struct script *s = script_create();
    memset(now, 0, sizeof now);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint32_t last = 1;
        work(s, 0, p->alone, 0);
        for (uint32_t k = 1; k < p->n; k++) {
            wait_for(s, k, 0);
            work(s, k, p->each + (k == 1 ? p->more : 0), 1);
            if (now[k] > now[last]) last = k;
        }
        work(s, 0, p->own, 1);
        wait_for(s, 0, last);
    }
    s->c.about.n_cpus = p->n_cpus;
    axp_view *v = script_view(s);
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    axp_view_destroy(v);
    return f;
}

static void costs(struct pool p, uint64_t saving)
{
    axp_findings *f = run_pool(&p);
    const axp_finding *x = ts_find(f, AXP_SERIAL_PHASE);
    if (!saving) {
        assert_null(x);
    } else {
        assert_non_null(x);
        assert_string_equal(x->name, "op0");
        assert_true(x->saving_is_bound);
        /* all but the first round, which nobody waited for before */
        ts_assert_between((double)saving * (ROUNDS - 1) / ROUNDS - NEAR,
                          (double)x->saving_ns, (double)saving + NEAR);
    }
    axp_findings_destroy(f);
}

static void what_a_pool_waits_for(void **state)
{
    (void)state;
    /* 4 ms by one, which two could do in 2 */
    costs((struct pool){2, 4 * MS, 10 * MS, 10 * MS + LAG, 0, 0},
          ROUNDS * 2ull * MS);
    /* … three in 4/3, the master only waiting meanwhile; one of them is last
     * each time, and the master never waits for the other */
    costs((struct pool){3, 4 * MS, 0, 10 * MS, 1 * MS, 0},
          ROUNDS * 4ull * MS * 2 / 3);
    costs((struct pool){4, 6 * MS, 9 * MS, 10 * MS, 0, 0},
          ROUNDS * 6ull * MS * 3 / 4);
    /* … of whom no more than two run at once */
    costs((struct pool){4, 6 * MS, 9 * MS, 10 * MS, 0, 2},
          ROUNDS * 6ull * MS / 2);
    /* less than a tenth of the run */
    costs((struct pool){2, 1 * MS, 10 * MS, 10 * MS + LAG, 0, 0}, 0);
}

/* It does what it is asked for while who asks waits, and the contrary: nobody
 * works beside anybody. */
static void who_answers_requests_is_no_pool(void **state)
{
    (void)state;
    costs((struct pool){2, 4 * MS, 0, 10 * MS, 0, 0}, 0);
    costs((struct pool){2, 10 * MS, 0, 2 * MS, 0, 0}, 0);
}

/* The first gives the second something to do very often, of which it does little,
 * and waits for it once in so many times. */
static axp_findings *run_log(unsigned every)
{
    struct script *s = script_create();
    memset(now, 0, sizeof now);
    for (unsigned i = 1; i <= 10 * ROUNDS; i++) {
        work(s, 0, 5 * MS, 0);
        wait_for(s, 1, 0);
        work(s, 0, 1 * MS, 0);
        work(s, 1, 2 * MS, 1);
        if (i % every == 0) wait_for(s, 0, 1);
    }
    axp_view *v = script_view(s);
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    axp_view_destroy(v);
    return f;
}

static void who_writes_a_log_is_no_pool(void **state)
{
    (void)state;
    axp_findings *f = run_log(50);
    assert_null(ts_find(f, AXP_SERIAL_PHASE));
    axp_findings_destroy(f);
    f = run_log(10 * ROUNDS); /* at the end */
    assert_null(ts_find(f, AXP_SERIAL_PHASE));
    axp_findings_destroy(f);
    f = run_log(1); /* each time: two that share their work */
    assert_non_null(ts_find(f, AXP_SERIAL_PHASE));
    axp_findings_destroy(f);
}

/* Who loads is slower than who computes, and never waits for him. */
static void who_is_loaded_for_is_no_pool(void **state)
{
    (void)state;
    struct script *s = script_create();
    memset(now, 0, sizeof now);
    for (unsigned i = 0; i < ROUNDS; i++) {
        work(s, 1, 10 * MS, 1);
        wait_for(s, 0, 1);
        work(s, 0, 6 * MS, 0);
    }
    axp_view *v = script_view(s);
    axp_findings *f = axp_analyze(v, NULL);
    assert_null(ts_find(f, AXP_SERIAL_PHASE));
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_pool_waits_for),
        cmocka_unit_test(who_answers_requests_is_no_pool),
        cmocka_unit_test(who_writes_a_log_is_no_pool),
        cmocka_unit_test(who_is_loaded_for_is_no_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
