/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The rules about memory that ends a program or is given back at once: what is
 * said at and around their thresholds. On a clock moved by hand; blocks are
 * numbers, and what a process had is told as axprof run tells it. */
#include "test_support.h"

#include <math.h>

#include "axprof/axprof_adapter.h"
#include "finding_support.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define MB 1048576.0
#define KB ((size_t)1024)

/* ---- what ends it -------------------------------------------------------------- */

/* A process that had so much at most, in a group that allows 1000 MB. */
static axp_findings *press(double peak_mb, double cached_mb)
{
    axp_profiler *p = ts_profiler();
    axp_outside_counter(p, "cgroup.limit_bytes", 1000 * MB);
    axp_record_alloc(p, "activations", (uint64_t)(0.6 * peak_mb * MB));
    axp_record_alloc(p, "weights", (uint64_t)(0.3 * peak_mb * MB));
    axp_outside_counter(p, "cgroup.memory_bytes", (peak_mb + cached_mb) * MB);
    axp_outside_counter(p, "process.rss_bytes", 2 * peak_mb * MB); /* shared */
    axp_outside_counter(p, "process.pss_bytes", peak_mb * MB);
    ts_tick(MS);
    axp_outside_counter(p, "process.pss_bytes", MB);
    axp_findings *f = ts_analyze_now(p);
    axp_profiler_destroy(p);
    return f;
}

static int pressure(double peak_mb)
{
    axp_findings *f = press(peak_mb, 0);
    const axp_finding *x = ts_find(f, AXP_PEAK_PRESSURE);
    int severity = x ? (int)x->severity : -1;
    axp_findings_destroy(f);
    return severity;
}

static void near_the_limit(void **state)
{
    (void)state;
    axp_findings *f = press(950, 0);
    const axp_finding *x = ts_find(f, AXP_PEAK_PRESSURE);
    assert_non_null(x);
    assert_string_equal(x->name, "activations");
    assert_true(fabs(ts_metric(x, "memory_percentage") - 95) < 1e-6);
    assert_true(fabs(ts_metric(x, "limit_bytes") - 1000 * MB) < 1);
    ts_says(x->description, "95.0 % of the 1000.00 MB");
    ts_says(x->description, "its control group allows");
    ts_says(x->description, "holds 570.00 MB");
    ts_says(x->suggestion, "100.00 MB less at once");
    axp_findings_destroy(f);
}

static void pressure_at_its_threshold(void **state)
{
    (void)state;
    assert_int_equal(pressure(899), -1);
    assert_int_equal(pressure(900), AXP_MEDIUM);
    assert_int_equal(pressure(939), AXP_MEDIUM);
    assert_int_equal(pressure(940), AXP_HIGH);
    assert_int_equal(pressure(969), AXP_HIGH);
    assert_int_equal(pressure(970), AXP_CRITICAL);
}

/* What the kernel keeps of files goes when memory is wanted. */
static void pages_of_files_press_nobody(void **state)
{
    (void)state;
    axp_findings *f = press(500, 499);
    assert_null(ts_find(f, AXP_PEAK_PRESSURE));
    axp_findings_destroy(f);
}

static void killed_for_memory(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_outside_counter(p, "process.pss_bytes", 700 * MB); /* seen too late */
    axp_outside_counter(p, "cgroup.limit_bytes", 1000 * MB);
    axp_outside_counter(p, "cgroup.oom_kills", 1);
    axp_findings *f = ts_analyze_now(p);
    const axp_finding *x = ts_find(f, AXP_PEAK_PRESSURE);
    assert_non_null(x);
    assert_string_equal(x->name, "memory"); /* nobody is known to hold it */
    assert_int_equal(x->severity, AXP_CRITICAL);
    ts_says(x->description, "ran out at 1000.00 MB");
    axp_findings_destroy(f);
    axp_profiler_destroy(p);
}

/* ---- what is given back at once -------------------------------------------------- */

struct habit {
    unsigned n, n_kept; /* blocks that go at once, and that stay */
    size_t bytes;
    uint64_t alive_ns, pause_ns; /* of each */
    unsigned steps;
};

static axp_findings *live(struct habit h)
{
    axp_reset(axp_global());
    ts_tick(1);
    for (unsigned i = 0; i < h.n_kept; i++)
        ts_allocate("kept", 100 + i, 64);
    for (unsigned i = 0; i < h.n; i++) {
        ts_allocate("kept", 2, 64);
        ts_allocate("scratch", 1, h.bytes);
        ts_tick(h.alive_ns);
        axp_heap_free(ts_block(1));
        axp_heap_free(ts_block(2));
        ts_tick(h.pause_ns);
        if (h.steps && i % (h.n / h.steps) == 0) axp_step(axp_global());
    }
    axp_findings *f = ts_analyze_now(axp_global());
    for (unsigned i = 0; i < h.n_kept; i++)
        axp_heap_free(ts_block(100 + i));
    return f;
}

static const char *name_of(struct habit h)
{
    axp_findings *f = live(h);
    const axp_finding *x = ts_find(f, AXP_TEMPORARY_ALLOCATIONS);
    static char name[64];
    snprintf(name, sizeof name, "%s", x ? x->name : "");
    axp_findings_destroy(f);
    return name;
}

static void blocks_that_go_at_once(void **state)
{
    (void)state;
    /* 200,000 of them a second, half of all */
    axp_findings *f = live((struct habit){
        .n = 20000, .bytes = 4096, .alive_ns = 4 * US, .pause_ns = US});
    const axp_finding *x = ts_find(f, AXP_TEMPORARY_ALLOCATIONS);
    assert_non_null(x);
    assert_int_equal(x->severity, AXP_LOW);
    assert_string_equal(x->name, "scratch");
    ts_assert_between(45, ts_metric(x, "temporary_percentage"), 55);
    ts_assert_between(180e3, ts_metric(x, "allocs_per_second"), 220e3);
    ts_says(x->suggestion, "from the stack");
    axp_findings_destroy(f);
}

static void large_blocks_that_go_at_once(void **state)
{
    (void)state;
    struct habit h = {.n = 1000,
                      .bytes = 1024 * KB,
                      .alive_ns = 500 * US,
                      .pause_ns = 400 * US};
    axp_findings *f = live(h); /* 1.16 GB/s */
    const axp_finding *x = ts_find(f, AXP_TEMPORARY_ALLOCATIONS);
    assert_non_null(x);
    assert_string_equal(x->name, "scratch");
    ts_says(x->suggestion, "keep one block of 1.00 MB for scratch");
    axp_findings_destroy(f);
    h.pause_ns = 600 * US; /* 0.95 GB/s */
    assert_string_equal(name_of(h), "");
    h.pause_ns = 0;
    h.alive_ns = 990 * US;
    assert_string_equal(name_of(h), "scratch");
    h.bytes = 4096 * KB;
    h.alive_ns = 1100 * US; /* not at once: they live for more than 1 ms */
    assert_string_equal(name_of(h), "");
}

static void few_or_steady_ones_are_no_finding(void **state)
{
    (void)state;
    struct habit h = {
        .n = 20000, .bytes = 4096, .alive_ns = 4 * US, .pause_ns = 8 * US};
    assert_string_equal(name_of(h), ""); /* 83,000 a second */
    h.pause_ns = US;
    h.n_kept = 140000; /* 11 % of all, then 8 % */
    assert_string_equal(name_of(h), "scratch");
    h.n_kept = 210000;
    assert_string_equal(name_of(h), "");
    h.n_kept = 0;
    h.steps = 20; /* 1000 in each step: that is churn */
    axp_findings *f = live(h);
    assert_null(ts_find(f, AXP_TEMPORARY_ALLOCATIONS));
    assert_non_null(ts_find(f, AXP_ALLOCATION_CHURN));
    axp_findings_destroy(f);
}

/* ---- what the allocator keeps ------------------------------------------------------ */

/* What is resident, beside 20 MB of something else: read every half a second, and at
 * the end. */
static void reads(double resident_mb, uint64_t long_ms)
{
    for (uint64_t ms = 0; ms < long_ms; ms += 500) {
        axp_outside_counter(axp_global(), "process.anon_bytes",
                            (resident_mb + 20) * MB);
        ts_tick((long_ms - ms < 500 ? long_ms - ms : 500) * MS);
    }
    axp_outside_counter(axp_global(), "process.anon_bytes",
                        (resident_mb + 20) * MB);
}

/* 200 MB in blocks of 1, of which so many stay. */
static void free_batches(unsigned n_stay)
{
    axp_reset(axp_global());
    ts_tick(MS);
    reads(0, 0);
    for (unsigned i = 0; i < 200; i++) {
        ts_allocate("batch", i, 1024 * KB);
        ts_tick(MS);
    }
    reads(200, 0);
    ts_tick(30 * MS);
    for (unsigned i = n_stay; i < 200; i++)
        axp_heap_free(ts_block(i));
    ts_tick(30 * MS);
}

static bool is_found(unsigned n_stay)
{
    axp_instant(axp_global(), "end");
    axp_findings *f = ts_analyze_now(axp_global());
    const axp_finding *x = ts_find(f, AXP_FRAGMENTATION);
    bool is = x;
    if (x) assert_string_equal(x->name, "batch");
    if (x) ts_assert_between(30 * MB, ts_metric(x, "kept_bytes"), 200 * MB);
    axp_findings_destroy(f);
    for (unsigned i = 0; i < n_stay; i++)
        axp_heap_free(ts_block(i));
    return is;
}

/* What is resident for the last so many ms of 10 s. */
static bool is_kept(unsigned n_stay, double resident_mb, uint64_t long_ms)
{
    free_batches(n_stay);
    reads(n_stay, 10000 - long_ms);
    reads(resident_mb, long_ms);
    return is_found(n_stay);
}

static void freed_memory_that_stays(void **state)
{
    (void)state;
    assert_true(is_kept(100, 150, 5000));
    assert_false(is_kept(100, 100, 5000)); /* all of it is in use */
    assert_true(is_kept(120, 160, 5000));  /* 1.33 times */
    assert_false(is_kept(130, 165, 5000)); /* 1.27 */
    assert_false(is_kept(30, 60, 5000));   /* twice, but 30 MB */
    assert_true(is_kept(30, 64, 5000));
    assert_true(is_kept(100, 150, 2300));
    assert_false(is_kept(100, 150, 1800)); /* of 10.2 s */
    assert_false(is_kept(200, 400, 5000)); /* it was never in use */
}

/* What was resident before it was freed says nothing of later, however long nobody
 * reads it; nor does one reading say how long. */
static void nobody_reads(void **state)
{
    (void)state;
    free_batches(100);
    ts_tick(10000 * MS);
    assert_false(is_found(100));
    free_batches(100);
    ts_tick(2000 * MS);
    reads(150, 0);
    ts_tick(8000 * MS);
    assert_false(is_found(100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_the_limit),
        cmocka_unit_test(pressure_at_its_threshold),
        cmocka_unit_test(pages_of_files_press_nobody),
        cmocka_unit_test(killed_for_memory),
        cmocka_unit_test(blocks_that_go_at_once),
        cmocka_unit_test(large_blocks_that_go_at_once),
        cmocka_unit_test(few_or_steady_ones_are_no_finding),
        cmocka_unit_test(freed_memory_that_stays),
        cmocka_unit_test(nobody_reads),
    };
    ts_use_fake_clock();
    return TS_RUN(tests);
}
