/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What one thread does while others wait for it, on timelines written by hand: each
 * moment counts once, however many kinds of waiting tell of it, and no more is
 * promised than dividing it can bring. */
#include "graph_script.h"
#include "finding_support.h"

#define ROUNDS 20u
#define MS 1000000u
#define LAG 10u /* until who was waited for is awake */

/* All wait at a barrier for the last of them, row 0. */
static void meet(struct script *s, uint32_t n, uint64_t *now, uint64_t round)
{
    for (uint32_t k = n; k--;)
        script_gave(s, k, now[k], AXP_SYNC_BARRIER, 1, round);
    for (uint32_t k = 1; k < n; k++) {
        script_waited(s, k, now[0] + LAG,
                      (struct script_wait){AXP_SYNC_BARRIER, 1, round, now[k],
                                           now[0], 0, 0, true});
        now[k] = now[0] + LAG;
    }
}

/* Between two meetings row 0 works while the others wait for what it posts then. */
static axp_findings *posts(uint32_t n, uint64_t n_cpus)
{
    struct script *s = script_create();
    uint64_t now[SCRIPT_ROWS] = {0};
    meet(s, n, now, 0);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        now[0] += LAG;
        script_op(s, 0, now[0], 10 * MS, 0);
        now[0] += 10 * MS;
        for (uint32_t k = 1; k < n; k++) {
            script_waited(s, k, now[0] + LAG,
                          (struct script_wait){AXP_SYNC_SEMAPHORE, 2, 0, now[k],
                                               now[0], 0, 0, true});
            now[k] = now[0] + LAG;
        }
        now[0] += 3 * (uint64_t)LAG;
        meet(s, n, now, i);
    }
    s->c.about.n_cpus = n_cpus;
    axp_view *v = script_view(s);
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    axp_view_destroy(v);
    return f;
}

static void seen_twice_is_counted_once(void **state)
{
    (void)state;
    axp_findings *f = posts(3, 0);
    const axp_finding *x = ts_find(f, AXP_SERIAL_PHASE);
    assert_non_null(x);
    assert_string_equal(x->name, "op0");
    assert_non_null(strstr(x->description, "works alone 20 times, 200."));
    ts_assert_between(99, ts_metric(x, "serial_percentage"), 100);
    assert_true((double)x->saving_ns <= ROUNDS * 10.0 * MS * 2 / 3 + 1000);
    axp_findings_destroy(f);
}

static void no_more_than_there_are_processors(void **state)
{
    (void)state;
    for (uint64_t n_cpus = 0; n_cpus <= 16; n_cpus += 2) {
        uint64_t by = n_cpus && n_cpus < SCRIPT_ROWS ? n_cpus : SCRIPT_ROWS;
        double most = ROUNDS * 10.0 * MS * (1 - 1 / (double)by);
        axp_findings *f = posts(SCRIPT_ROWS, n_cpus);
        const axp_finding *x = ts_find(f, AXP_SERIAL_PHASE);
        assert_non_null(x);
        ts_assert_between(0.9 * most, (double)x->saving_ns, most + 1000);
        axp_findings_destroy(f);
    }
}

/* Two pairs, each with one who works while the other waits, at the same time. */
static axp_view *pairs(uint64_t n_cpus)
{
    struct script *s = script_create();
    uint64_t now = 0;
    for (unsigned i = 1; i <= ROUNDS; i++, now += 10 * MS + LAG)
        for (uint32_t pair = 0; pair < 2; pair++) {
            uint32_t one = 2 * pair;
            uint64_t end = now + 10 * MS;
            script_op(s, one, now, 10 * MS, pair);
            script_gave(s, one + 1, now, AXP_SYNC_BARRIER, 1 + pair, i);
            script_gave(s, one, end, AXP_SYNC_BARRIER, 1 + pair, i);
            script_waited(s, one + 1, end + LAG,
                          (struct script_wait){AXP_SYNC_BARRIER, 1 + pair, i,
                                               now, end, (int)one, 0, true});
        }
    s->c.about.n_cpus = n_cpus;
    return script_view(s);
}

static void two_at_once_are_not_twice_the_run(void **state)
{
    (void)state;
    axp_view *v = pairs(4);
    axp_findings *f = axp_analyze(v, NULL);
    assert_non_null(f);
    const axp_finding *x = ts_find(f, AXP_SERIAL_PHASE);
    assert_non_null(x);
    ts_assert_between(90, ts_metric(x, "serial_percentage"), 100);
    assert_true(2 * x->saving_ns <= v->duration_ns);
    assert_non_null(strstr(x->description, "and others work alone"));
    axp_findings_destroy(f);
    axp_view_destroy(v);
    v = pairs(2); /* both processors are busy: nothing is left to share */
    f = axp_analyze(v, NULL);
    assert_non_null(f);
    assert_null(ts_find(f, AXP_SERIAL_PHASE));
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seen_twice_is_counted_once),
        cmocka_unit_test(no_more_than_there_are_processors),
        cmocka_unit_test(two_at_once_are_not_twice_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
