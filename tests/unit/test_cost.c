/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What recording takes is taken off where it was spent, stated, and nobody
 * else's fault: on a clock moved by hand, with a scope that costs 25 ns inside
 * and 30 around. */
#include "test_support.h"

#include "axprof/axprof_adapter.h"

#include "file/file_open.h"
#include "model/model_view.h"
#include "record/record_capture.h"
#include "record/record_process.h"
#include "tally/tally_capture.h"
#include "wire/wire_states.h"

enum { INSIDE = 25, AROUND = 30 };

static void set_cost(uint64_t around, uint64_t inside)
{
    axp__process()->own_cost =
        (uint64_t)1 << 63 |
        axp__own_cost_pack((struct axp__own_cost){around, inside, 0});
}

/* A scope that takes `ns`, and what recording it takes. */
static void call(const char *name, uint64_t ns)
{
    ts_tick(AROUND / 2);
    uint64_t token = axp_begin(axp_global(), name);
    ts_tick(INSIDE + ns);
    axp_end(token);
    ts_tick(AROUND / 2);
}

static void run(unsigned n, uint64_t ns)
{
    axp_reset(axp_global());
    uint64_t outer = axp_begin(axp_global(), "outer");
    ts_tick(INSIDE);
    for (unsigned i = 0; i < n; i++)
        call("inner", ns);
    call("work", 100000);
    axp_end(outer);
}

static bool is_found(axp_view *v, const char *name)
{
    axp_findings *f = axp_analyze(v, NULL);
    bool found = false;
    for (size_t i = 0; i < axp_findings_count(f); i++)
        found |= !strcmp(axp_findings_at(f, i)->name, name);
    axp_findings_destroy(f);
    return found;
}

static const axp_warning *warning(axp_view *v, const char *code)
{
    static axp_warning all[32];
    size_t n = axp_view_warnings(v, all, 32);
    for (size_t i = 0; i < n && i < 32; i++)
        if (!strcmp(all[i].code, code)) return &all[i];
    return NULL;
}

static void own_time_has_nothing_of_ours(void **state)
{
    (void)state;
    run(20000, 0);
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(ts_view_op(v, "outer").self_ns, 0);
    assert_int_equal(ts_view_op(v, "inner").self_ns, 0);
    assert_int_equal(ts_view_op(v, "work").self_ns, 100000);
    assert_int_equal(ts_node(v, "outer").self_ns, 0);
    assert_int_equal(ts_node(v, "outer/inner").self_ns, 0);
    axp_view_destroy(v);
}

static void it_is_stated(void **state)
{
    (void)state;
    run(20000, 0); /* 1.1 ms of 1.2 */
    axp_view *v = ts_snapshot(axp_global());
    const axp_warning *w = warning(v, "own_overhead");
    assert_non_null(w);
    assert_non_null(strstr(w->text, "91.7 %"));
    w = warning(v, "doubtful_times");
    assert_non_null(w);
    assert_int_equal(w->count, 2);
    axp_view_destroy(v);
    run(100, 0); /* 5 µs of 105 */
    v = ts_snapshot(axp_global());
    assert_non_null(warning(v, "own_overhead"));
    assert_null(warning(v, "doubtful_times"));
    axp_view_destroy(v);
}

/* So is what it took to have threads sampled, where that is most of it. */
static void following_is_stated(void **state)
{
    (void)state;
    run(100, 0); /* 5 µs of 105 */
    axp_outside_took(axp_global(), "axprof.follow_ns", 16000);
    axp_view *v = ts_snapshot(axp_global());
    const axp_warning *w = warning(v, "own_overhead");
    assert_non_null(w);
    assert_non_null(strstr(w->text, "most of it to start them"));
    assert_non_null(strstr(w->text, "about 20.5 %"));
    assert_int_equal(w->count, 1);
    axp_view_destroy(v);
    run(100, 0);
    axp_outside_took(axp_global(), "axprof.follow_ns", 4000);
    v = ts_snapshot(axp_global());
    assert_non_null(strstr(warning(v, "own_overhead")->text, "scopes: "));
    axp_view_destroy(v);
}

/* And what it took to load us into programs, though no sample shows it. */
static void loading_is_stated(void **state)
{
    (void)state;
    run(100, 0); /* 5 µs of 105 */
    axp_outside_took(axp_global(), "axprof.start_ns", 16000);
    axp_view *v = ts_snapshot(axp_global());
    const axp_warning *w = warning(v, "own_overhead");
    assert_non_null(w);
    assert_non_null(strstr(w->text, "most of it to load axprof into each"));
    assert_non_null(strstr(w->text, "about 20.5 %"));
    axp_view_destroy(v);
}

static bool says_less(const axp_view *v, axp_format format)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    assert_int_equal(axp_report_write(v, format, f), AXP_OK);
    fclose(f);
    bool is_said = strstr(text, "share: less what recording took") != NULL;
    free(text);
    return is_said;
}

/* A share of the run and one of what is left of it are two figures. */
static void shares_say_what_they_are_of(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        run(i ? 20000 : 100, 0);
        axp_view *v = ts_snapshot(axp_global());
        assert_int_equal(says_less(v, AXP_FORMAT_TEXT), i);
        assert_int_equal(says_less(v, AXP_FORMAT_MARKDOWN), i);
        axp_view_destroy(v);
    }
}

/* Allocations that the program tells, each with its free; each call takes so
 * long. */
static void run_tracked(unsigned n, uint64_t each_ns)
{
    static const char block[64];
    axp_reset(axp_global());
    for (unsigned i = 0; i < n; i++) {
        axp_track_alloc(axp_global(), "block", block, 64);
        ts_tick(each_ns);
        axp_track_free(axp_global(), block);
        ts_tick(each_ns);
    }
    axp_instant(axp_global(), "the end");
}

/* Two thirds of a scope each, where nobody measured. */
static void tracked_blocks_are_stated(void **state)
{
    (void)state;
    run_tracked(1000, 2 * (INSIDE + AROUND) * 2 / 3);
    axp_view *v = ts_snapshot(axp_global());
    const axp_warning *w = warning(v, "own_overhead");
    assert_non_null(w);
    assert_non_null(strstr(w->text, "axp_track_alloc"));
    ts_assert_between(49, strtod(strstr(w->text, "about ") + 6, NULL), 51);
    assert_int_equal(w->count, 2000);
    axp_view_destroy(v);
}

/* Half a scope each, where nobody measured. */
static void counters_are_stated(void **state)
{
    (void)state;
    axp_reset(axp_global());
    uint64_t outer = axp_begin(axp_global(), "outer");
    for (int i = 0; i < 3000; i++) {
        axp_counter(axp_global(), i % 3 ? "often" : "seldom", i);
        ts_tick(INSIDE + AROUND);
    }
    axp_end(outer);
    axp_view *v = ts_snapshot(axp_global());
    const axp_warning *w = warning(v, "own_overhead");
    assert_non_null(w);
    assert_non_null(strstr(w->text, "values of counters: "));
    ts_assert_between(49, strtod(strstr(w->text, "about ") + 6, NULL), 51);
    assert_int_equal(w->count, 3000);
    assert_string_equal(w->name, "often");
    axp_view_destroy(v);
}

/* What is left is compared with what is left. */
static void shares_are_of_what_is_not_ours(void **state)
{
    (void)state;
    run(3000, 0); /* 165 µs beside 100 */
    axp_view *v = ts_snapshot(axp_global());
    ts_assert_between(0.99, ts_view_op(v, "work").time_share, 1);
    axp_view_destroy(v);
}

/* What muted calls took is in the time of those that called them, and so in
 * what their time is a share of: together they are no more than all of it. */
static void shares_with_muted_calls_are_of_all(void **state)
{
    (void)state;
    axp_reset(axp_global());
    call("left", 3000000);
    call("right", 1000000);
    axp_muted("short", 1, 1000, 2000000);
    axp_view *v = ts_snapshot(axp_global());
    ts_assert_between(0.74, ts_view_op(v, "left").time_share, 0.76);
    ts_assert_between(0.24, ts_view_op(v, "right").time_share, 0.26);
    axp_view_destroy(v);
}

static void our_time_is_no_finding(void **state)
{
    (void)state;
    run(20000, 1);
    axp_view *v = ts_snapshot(axp_global());
    assert_false(is_found(v, "inner"));
    axp_view_destroy(v);
    run(20000, 200);
    v = ts_snapshot(axp_global());
    assert_true(is_found(v, "inner"));
    axp_view_destroy(v);
}

/* How far it may be off, by hand: as much as was taken off. */
static void times_know_their_doubt(void **state)
{
    (void)state;
    run(20000, 0);
    axp_view *v = ts_snapshot(axp_global());
    uint64_t around = 20001 * AROUND + INSIDE;
    assert_int_equal(ts_view_op(v, "outer").doubt_ns, around);
    assert_int_equal(ts_view_op(v, "inner").doubt_ns, 20000 * INSIDE);
    assert_int_equal(ts_view_op(v, "work").doubt_ns, INSIDE);
    assert_int_equal(ts_node(v, "outer").doubt_ns, around);
    assert_int_equal(ts_node(v, "outer/inner").doubt_ns, 20000 * INSIDE);
    assert_true(ts_view_op(v, "outer").is_doubtful);
    assert_true(ts_view_op(v, "inner").is_doubtful);
    assert_false(ts_view_op(v, "work").is_doubtful);
    axp_view_destroy(v);
}

static void assert_report(axp_view *v, axp_format format, const char *has,
                          const char *has_not)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(axp_report_write(v, format, out), 0);
    fclose(out);
    if (!strstr(text, has)) fail_msg("no \"%s\" in %s", has, text);
    if (strstr(text, has_not)) fail_msg("\"%s\" in %s", has_not, text);
    free(text);
}

/* Which are not to be believed stands beside them, and what that means below. */
static void reports_mark_what_is_in_doubt(void **state)
{
    (void)state;
    run(20000, 6);
    axp_view *v = ts_snapshot(axp_global());
    assert_report(v, AXP_FORMAT_TEXT, " ?120 us", "?100 us");
    assert_report(v, AXP_FORMAT_TEXT, "\n? not to be believed", "?100 us");
    assert_report(v, AXP_FORMAT_MARKDOWN, "| ?120 us |", "?100 us");
    assert_report(v, AXP_FORMAT_MARKDOWN, "\n? not to be believed", "?100 us");
    axp_view_destroy(v);
    run(10, 6);
    v = ts_snapshot(axp_global());
    assert_report(v, AXP_FORMAT_TEXT, "100 us", "not to be believed");
    assert_report(v, AXP_FORMAT_MARKDOWN, "100 us", "not to be believed");
    axp_view_destroy(v);
}

/* Scopes with nothing in them, which cost up to twice what is known. */
static void run_empty(unsigned n, uint64_t inside, uint64_t around)
{
    axp_reset(axp_global());
    uint64_t outer = axp_begin(axp_global(), "outer");
    ts_tick(INSIDE);
    for (unsigned i = 0; i < n; i++) {
        call("inner", inside);
        ts_tick(around);
    }
    axp_end(outer);
}

static void empty_scopes_are_no_finding(void **state)
{
    (void)state;
    for (uint64_t inside = 0; inside <= INSIDE; inside += 12)
        for (uint64_t around = 0; around <= AROUND; around += 15)
            for (unsigned n = 1000; n <= 300000; n *= 17) {
                run_empty(n, inside, around);
                axp_view *v = ts_snapshot(axp_global());
                axp_findings *f = axp_analyze(v, NULL);
                for (size_t i = 0; i < axp_findings_count(f); i++)
                    assert_true(axp_findings_at(f, i)->severity < AXP_MEDIUM);
                axp_findings_destroy(f);
                axp_view_destroy(v);
            }
}

/* As if the thread had run for so long, and the scheduler had told that. */
static axp_view *view_with(struct axp__thread_states *told, uint64_t cpu_ns)
{
    struct axp__capture *c = axp__capture_take(axp_global());
    assert_non_null(c);
    if (c->trace) assert_int_equal(axp__trace_attach(c), 0);
    assert_true(c->n_rows > 0);
    struct axp__cap_row *row = &c->rows[0];
    row->cpu_ns = cpu_ns;
    if (told) {
        told->process = axp__cap_whose(c, axp__cap_process_of(c, row->id));
        told->tid = row->tid;
        told->begin_ticks = row->first;
        told->end_ticks = row->first + 2 * cpu_ns;
        c->states = told;
        c->n_states = 1;
    }
    axp_view *v = axp__view_make(c);
    assert_non_null(v);
    return v;
}

/* Without what the scheduler saw, nobody knows what a thread did while it had
 * no processor: it may have been in the midst of recording. */
static void without_states_all_of_it_is_in_doubt(void **state)
{
    (void)state;
    run_empty(200000, 60, 0);
    axp_view *v = view_with(NULL, 200000 * (INSIDE + AROUND + 5));
    assert_true(ts_view_op(v, "inner").doubt_ns > 200000 * 2 * INSIDE);
    assert_false(is_found(v, "inner"));
    axp_view_destroy(v);
}

/* Nor where it had one for a tenth of its life, but did little but record in that:
 * the rest may have been its waiting for the next. */
static void little_but_recording_is_in_doubt(void **state)
{
    (void)state;
    run_empty(200000, 10 * INSIDE, 10 * AROUND);
    axp_view *v = view_with(NULL, 200000 * (INSIDE + AROUND + 5));
    assert_true(ts_view_op(v, "inner").doubt_ns > 200000 * 10 * INSIDE);
    assert_false(is_found(v, "inner"));
    assert_false(is_found(v, "outer"));
    axp_view_destroy(v);
}

/* One that slept knows its scopes all the same. */
static void sleeping_puts_nothing_in_doubt(void **state)
{
    (void)state;
    run(100, 6);
    ts_tick(1000000000);
    call("work", 100000);
    axp_view *v = view_with(NULL, 210000);
    assert_false(ts_view_op(v, "inner").is_doubtful);
    assert_null(warning(v, "doubtful_times"));
    axp_view_destroy(v);
}

/* A thread that had no processor for as long as it ran had none while it
 * recorded, too. */
static void drop(axp_view *v)
{
    struct axp__capture *c = (struct axp__capture *)v->capture;
    c->states = NULL;
    c->n_states = 0;
    axp_view_destroy(v);
}

static void assert_doubt(struct axp__thread_states told, double times)
{
    run_empty(20000, 0, 0);
    axp_view *v = view_with(&told, 20000 * (INSIDE + AROUND) / 2);
    double known = 20000 * INSIDE, is = (double)ts_view_op(v, "inner").doubt_ns;
    ts_assert_between(0.97 * times * known, is, 1.03 * times * known);
    assert_int_equal(is, ts_node(v, "outer/inner").doubt_ns);
    drop(v);
}

/* Recording took half of what the thread took. */
static void assert_stated(struct axp__thread_states told, double percent)
{
    run_empty(20000, INSIDE, AROUND);
    axp_view *v = view_with(&told, 20000 * (INSIDE + AROUND));
    const axp_warning *w = warning(v, "own_overhead");
    assert_non_null(w);
    double stated = strtod(strstr(w->text, "about ") + 6, NULL);
    ts_assert_between(percent - 2, stated, percent + 2);
    drop(v);
}

static void waiting_for_a_processor_is_stated(void **state)
{
    uint64_t ran = 20000 * (INSIDE + AROUND);
    (void)state;
    assert_stated((struct axp__thread_states){.ran_ns = ran, .ready_ns = ran},
                  100);
    assert_stated((struct axp__thread_states){.ran_ns = ran, .waited_ns = ran},
                  100); /* waiting is no work */
}

/* Having threads sampled took twice what scopes took, on a machine that is too busy,
 * which makes all of it longer. */
static void what_took_most_is_said(void **state)
{
    uint64_t ran = 20000 * (INSIDE + AROUND);
    struct axp__thread_states told = {.ran_ns = 3 * ran, .ready_ns = 12 * ran};
    (void)state;
    run_empty(20000, INSIDE, AROUND);
    axp_outside_took(axp_global(), "axprof.follow_ns", (double)(2 * ran));
    axp_view *v = view_with(&told, 3 * ran);
    const axp_warning *w = warning(v, "own_overhead");
    assert_non_null(w);
    assert_non_null(strstr(w->text, "most of it to start them"));
    drop(v);
}

static double stated_percent(axp_view *v)
{
    const axp_warning *w = warning(v, "own_overhead");
    assert_non_null(w);
    return strtod(strstr(w->text, "about ") + 6, NULL);
}

/* As if 1000 samples had met so much of code of ours. */
static void meet(axp_view *v, axp_ns ours, axp_ns all)
{
    v->functions = calloc(1, sizeof *v->functions);
    assert_non_null(v->functions);
    v->functions[0] = (axp_op){.name = "", .is_own = true, .self_ns = ours};
    v->n_functions = 1;
    v->n_sampled = 1000;
    v->sampled_ns = all;
    assert_true(axp__view_warn_of_samples(v));
}

/* Following blocks is said to have taken an eighth of the run, as scopes did, and
 * starting threads a quarter; samples met half of the first. */
static void no_more_is_stated_than_was_met(void **state)
{
    uint64_t ran = 20000 * (INSIDE + AROUND);
    struct axp__thread_states told = {.ran_ns = 8 * ran};
    (void)state;
    run_empty(20000, INSIDE, AROUND);
    ts_tick(7 * ran);
    axp_instant(axp_global(), "the end");
    axp_outside_took(axp_global(), "axprof.memory_ns", (double)ran);
    axp_outside_took(axp_global(), "axprof.follow_ns", (double)(2 * ran));
    axp_view *v = view_with(&told, 8 * ran);
    assert_non_null(warning(v, "own_overhead"));
    meet(v, ran / 2, 8 * ran);
    ts_assert_between(31.2, stated_percent(v), 33); /* 25 + 6.25 ± 1.5 */
    drop(v);
}

/* 10000 allocations and frees, each of which takes four times what is counted for
 * it. */
static void what_was_met_is_stated(void **state)
{
    uint64_t took = 20000 * 4 * (INSIDE + AROUND) * 2 / 3;
    struct axp__thread_states told = {.ran_ns = took};
    (void)state;
    run_tracked(10000, took / 20000);
    axp_view *v = view_with(&told, took);
    ts_assert_between(24, stated_percent(v), 26);
    meet(v, took, took);
    ts_assert_between(99, stated_percent(v), 100);
    drop(v);
}

/* A hundredth is counted, which is not said; samples met a fifth. */
static void what_was_met_alone_is_stated(void **state)
{
    uint64_t took = 20000 * (INSIDE + AROUND);
    struct axp__thread_states told = {.ran_ns = 100 * took};
    (void)state;
    run_empty(20000, INSIDE, AROUND);
    ts_tick(99 * took);
    axp_instant(axp_global(), "the end");
    axp_view *v = view_with(&told, 100 * took);
    assert_null(warning(v, "own_overhead"));
    meet(v, 20 * took, 100 * took);
    ts_assert_between(17, stated_percent(v), 20);
    drop(v);
}

/* As much as is stated, give or take what 1000 samples may be off by. */
static void what_samples_allow_stays(void **state)
{
    uint64_t took = 20000 * 4 * (INSIDE + AROUND) * 2 / 3;
    struct axp__thread_states told = {.ran_ns = took};
    (void)state;
    run_tracked(10000, took / 20000);
    axp_view *v = view_with(&told, took);
    double before = stated_percent(v);
    meet(v, took * 23 / 100, took);
    assert_true(stated_percent(v) == before);
    drop(v);
}

/* Hooks are called where nothing is recorded, too: of them samples have more than
 * recording took, and the text says so. */
static void hooks_are_not_recording(void **state)
{
    static const char text[] = "short_one\0short.c\0001";
    struct axp__thread_states told = {.ran_ns = 4000 * (INSIDE + AROUND)};
    uint32_t site = 0;
    (void)state;
    axp_reset(axp_global());
    for (int i = 0; i < 1000; i++) {
        axp_end(axp_function_begin(&site, text));
        ts_tick(4 * (INSIDE + AROUND));
    }
    axp_instant(axp_global(), "the end");
    axp_view *v = view_with(&told, told.ran_ns);
    meet(v, told.ran_ns * 3 / 5, told.ran_ns);
    ts_assert_between(24, stated_percent(v), 26);
    const axp_warning *w = warning(v, "own_overhead");
    assert_string_equal(w->name, "short_one");
    assert_non_null(strstr(w->text, "calls of functions: "));
    assert_non_null(strstr(w->text, "has 60 % of the processor time"));
    assert_null(strstr(w->text, "widen"));
    drop(v);
}

/* Nor are they where a scope is called more often than any function. */
static void hooks_beside_scopes_are_not_recording(void **state)
{
    static const char text[] = "short_one\0short.c\0001";
    struct axp__thread_states told = {.ran_ns = 2 * 4000 * (INSIDE + AROUND)};
    uint32_t site = 0;
    (void)state;
    run_empty(1000, 4 * INSIDE, 4 * AROUND);
    for (int i = 0; i < 1000; i++) {
        axp_end(axp_function_begin(&site, text));
        ts_tick(4 * (INSIDE + AROUND));
    }
    axp_instant(axp_global(), "the end");
    axp_view *v = view_with(&told, told.ran_ns);
    double before = stated_percent(v);
    meet(v, told.ran_ns * 3 / 5, told.ran_ns);
    assert_true(stated_percent(v) == before);
    drop(v);
}

static void waiting_for_a_processor_is_in_doubt(void **state)
{
    uint64_t half = 20000 * (INSIDE + AROUND) / 2;
    (void)state;
    assert_doubt((struct axp__thread_states){.ran_ns = half}, 1);
    assert_doubt((struct axp__thread_states){.ran_ns = half, .waited_ns = half},
                 1);
    assert_doubt((struct axp__thread_states){.ran_ns = half,
                                             .ready_ns = half / 2,
                                             .waited_ns = half / 2},
                 2);
    assert_doubt((struct axp__thread_states){.ran_ns = half, .ready_ns = half},
                 3);
    /* More than there is. */
    assert_doubt(
        (struct axp__thread_states){.ran_ns = 4 * half, .ready_ns = half / 9},
        3);
}

/* Beside them, what is slow is found, and saves what it took. */
static void a_slow_one_beside_empty_ones_is(void **state)
{
    (void)state;
    run_empty(200000, 20, 20);
    call("slow", 6000000);
    axp_view *v = ts_snapshot(axp_global());
    axp_findings *f = axp_analyze(v, NULL);
    assert_int_equal(axp_findings_count(f), 1);
    assert_string_equal(axp_findings_at(f, 0)->name, "slow");
    ts_assert_between(5.9e6, (double)axp_findings_at(f, 0)->saving_ns, 6e6);
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

/* More than doubt is a finding, of what is more. */
static void what_is_certain_is_saved(void **state)
{
    (void)state;
    run_empty(200000, 60, 0);
    axp_view *v = ts_snapshot(axp_global());
    axp_findings *f = axp_analyze(v, NULL);
    assert_int_equal(axp_findings_count(f), 1);
    assert_string_equal(axp_findings_at(f, 0)->name, "inner");
    ts_assert_between(200000 * 34, (double)axp_findings_at(f, 0)->saving_ns,
                      200000 * 35);
    axp_findings_destroy(f);
    axp_view_destroy(v);
}

/* A queue of as many kinds as it has spans: which of all names threads called most
 * is found without looking at each for each. */
static void spans_have_many_names(void **state)
{
    (void)state;
    enum { N = 200000 };
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.memory_limit = (uint64_t)1 << 30});
    assert_non_null(p);
    axp_track *t = axp_track_create(p, "queue");
    char name[32];
    for (int i = 0; i < 10000; i++) {
        axp_start(p, "called");
        ts_tick(INSIDE + AROUND);
        axp_stop(p, "called");
    }
    for (uint64_t i = 0; i < N; i++) {
        snprintf(name, sizeof name, "span %u", (unsigned)i);
        for (uint64_t k = 0; k < 1 + i % 3; k++)
            axp_track_span(t, name, i * 100 + k * 10, i * 100 + k * 10 + 5,
                           NULL);
    }
    axp_view *v = ts_snapshot(p);
    assert_true(axp_view_ops(v, AXP_BY_TIME, NULL, 0) > N);
    const axp_warning *w = warning(v, "own_overhead");
    assert_non_null(w);
    assert_string_equal(w->name, "called");
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_time_has_nothing_of_ours),
        cmocka_unit_test(it_is_stated),
        cmocka_unit_test(following_is_stated),
        cmocka_unit_test(loading_is_stated),
        cmocka_unit_test(tracked_blocks_are_stated),
        cmocka_unit_test(counters_are_stated),
        cmocka_unit_test(what_was_met_is_stated),
        cmocka_unit_test(what_was_met_alone_is_stated),
        cmocka_unit_test(what_samples_allow_stays),
        cmocka_unit_test(hooks_are_not_recording),
        cmocka_unit_test(hooks_beside_scopes_are_not_recording),
        cmocka_unit_test(shares_are_of_what_is_not_ours),
        cmocka_unit_test(shares_say_what_they_are_of),
        cmocka_unit_test(shares_with_muted_calls_are_of_all),
        cmocka_unit_test(our_time_is_no_finding),
        cmocka_unit_test(times_know_their_doubt),
        cmocka_unit_test(reports_mark_what_is_in_doubt),
        cmocka_unit_test(empty_scopes_are_no_finding),
        cmocka_unit_test(without_states_all_of_it_is_in_doubt),
        cmocka_unit_test(little_but_recording_is_in_doubt),
        cmocka_unit_test(sleeping_puts_nothing_in_doubt),
        cmocka_unit_test(what_took_most_is_said),
        cmocka_unit_test(no_more_is_stated_than_was_met),
        cmocka_unit_test(waiting_for_a_processor_is_in_doubt),
        cmocka_unit_test(waiting_for_a_processor_is_stated),
        cmocka_unit_test(a_slow_one_beside_empty_ones_is),
        cmocka_unit_test(what_is_certain_is_saved),
        cmocka_unit_test(spans_have_many_names),
    };
    ts_use_fake_clock();
    set_cost(AROUND, INSIDE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
