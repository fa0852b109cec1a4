/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What holds for the findings of any run, tried on many made by chance: order,
 * severity and savings never contradict each other. On a clock moved by hand. */
#include "test_support.h"

#include <math.h>

#define MS UINT64_C(1000000)
#define RUNS 300u

static const char *const names[] = {"embed", "attention", "mlp",  "norm",
                                    "load",  "save",      "sync", "all_reduce",
                                    "copy",  "update"};
static const axp_cat categories[] = {
    AXP_CAT_FORWARD, AXP_CAT_FORWARD,  AXP_CAT_BACKWARD, AXP_CAT_NONE,
    AXP_CAT_DATA,    AXP_CAT_IO,       AXP_CAT_SYNC,     AXP_CAT_COMM,
    AXP_CAT_COPY,    AXP_CAT_OPTIMIZER};
#define N_NAMES (sizeof names / sizeof *names)

static uint64_t below(uint64_t *seed, uint64_t n)
{
    return ts_random(seed) % n;
}

/* Steps of a few operations, of which some take longer now and then, or more and
 * more, or the first time; with memory that stays, or work that is slow. */
static axp_view *any_run(uint64_t *seed)
{
    axp_profiler *p = ts_profiler();
    uint64_t each[N_NAMES], n_steps = below(seed, 60), odd, grows, first;
    for (size_t i = 0; i < N_NAMES; i++)
        each[i] = below(seed, 3) ? below(seed, 20 * MS) : 0;
    odd = below(seed, N_NAMES);
    grows = below(seed, N_NAMES);
    first = below(seed, N_NAMES);
    for (uint64_t k = 0; k <= n_steps; k++) {
        for (size_t i = 0; i < N_NAMES; i++) {
            uint64_t ns = each[i];
            if (i == odd && k % 10 == 9) ns += below(seed, 300 * MS);
            if (i == grows) ns += k * ns / 20;
            if (i == first && !k) ns += below(seed, 500 * MS);
            if (!ns) continue;
            uint64_t scope = axp_begin(p, names[i]);
            axp_category(p, categories[i]);
            if (i == 1) axp_add_work(p, (axp_work){.flops = 1e6});
            ts_tick(ns);
            axp_end(scope);
        }
        if (k % 3 == 0) axp_record_alloc(p, names[k % N_NAMES], 1000 * k);
        if (n_steps > 5) axp_step(p);
    }
    axp_view *v = ts_snapshot(p);
    axp_profiler_destroy(p);
    return v;
}

static axp_severity by_share(double share)
{
    return share >= 0.35   ? AXP_CRITICAL
           : share >= 0.15 ? AXP_HIGH
           : share >= 0.05 ? AXP_MEDIUM
                           : AXP_LOW;
}

static void check(const axp_view *v, const axp_findings *f, size_t *seen)
{
    double sum = 0, wall = (double)axp_view_duration(v);
    for (size_t i = 0; i < axp_findings_count(f); i++) {
        const axp_finding *x = axp_findings_at(f, i);
        const axp_finding *next = axp_findings_at(f, i + 1);
        seen[x->type]++;
        sum += (double)x->saving_ns;
        assert_true((double)x->saving_ns <= wall);
        if (wall > 0)
            assert_true(fabs(x->saving_share - (double)x->saving_ns / wall) <
                        1e-9);
        /* What is known decides, and nothing is above it. */
        if (x->saving_ns && !x->saving_is_bound)
            assert_int_equal(x->severity, by_share(x->saving_share));
        if (!next) continue;
        assert_true(x->severity >= next->severity);
        if (x->severity == next->severity)
            assert_true(x->saving_ns >= next->saving_ns);
    }
    if (sum > wall) fail_msg("savings of %.0f of %.0f ns", sum, wall);
}

static void no_contradictions(void **state)
{
    (void)state;
    uint64_t seed = 17;
    size_t seen[64] = {0}, kinds = 0;
    for (unsigned i = 0; i < RUNS; i++) {
        axp_view *v = any_run(&seed);
        axp_findings *f = axp_analyze(v, NULL);
        assert_non_null(f);
        assert_non_null(axp_findings_verdict(f));
        check(v, f, seen);
        axp_findings_destroy(f);
        axp_view_destroy(v);
    }
    for (size_t i = 0; i < 64; i++)
        kinds += seen[i] > 0;
    assert_true(kinds >= 8); /* chance has tried something */
    assert_true(seen[AXP_STEP_OUTLIERS] && seen[AXP_STEP_DRIFT] &&
                seen[AXP_SLOW_START] && seen[AXP_SYNC_WAIT] &&
                seen[AXP_IO_WAIT] && seen[AXP_INPUT_BOUND]);
}

int main(void)
{
    ts_use_fake_clock();
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_contradictions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
