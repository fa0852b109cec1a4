/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The graph of a run by small timelines whose paths can be counted by hand. */
#include "graph/graph.h"
#include "graph/graph_serial.h"
#include "graph_script.h"
#include "wire/wire_states.h"

#define MS UINT64_C(1000000)

static const uint64_t lock = 0x1000, barrier = 0x2000, semaphore = 0x3000;

static axp_graph *graph_of(const axp_view *v)
{
    axp_graph *g = axp_graph_create(v);
    if (!g) fail_msg("no graph: %s", axp_last_error());
    axp_replay *r = NULL;
    assert_int_equal(axp_whatif(g, NULL, &r), AXP_OK);
    axp_replay_info t = axp_replay_total(r);
    assert_int_equal(t.wall_ns, axp_view_duration(v));
    assert_int_equal(t.recorded_ns, axp_view_duration(v));
    script_check(g, r);
    axp_replay_destroy(r);
    return g;
}

static void done(axp_view *v, axp_graph *g)
{
    axp_graph_destroy(g);
    axp_view_destroy(v);
}

/* ---- barriers --------------------------------------------------------------- */

/* Rows 0, 1, 2 come at 10, 20 and 30 ms; row 0 then does 5 ms of op3. */
static axp_view *met(void)
{
    struct script *s = script_create();
    for (uint32_t row = 0; row < 3; row++) {
        uint64_t came = (row + 1) * 10 * MS;
        script_op(s, row, 0, came, row);
        script_gave(s, row, came, AXP_SYNC_BARRIER, barrier, 1);
        if (row == 2) continue;
        script_waited(s, row, 30 * MS + 1,
                      (struct script_wait){AXP_SYNC_BARRIER, barrier, 1, came,
                                           30 * MS, 2, 0, true});
    }
    script_op(s, 0, 30 * MS + 1, 5 * MS - 1, 3);
    return script_view(s);
}

static void waits_end_with_the_last_to_come(void **state)
{
    (void)state;
    axp_view *v = met();
    axp_graph *g = graph_of(v);
    assert_int_equal(script_path(g, "op2"), 30 * MS);
    assert_int_equal(script_path(g, "op3"), 5 * MS - 1);
    assert_int_equal(script_path(g, "op0"), 0);
    assert_int_equal(script_path(g, "wait"), 0);
    /* Without it the next to come is the last; that one came at 20. */
    assert_int_equal(script_wall(g, "op2=0"), 25 * MS);
    assert_int_equal(script_wall(g, "op2=0.5"), 25 * MS);
    assert_int_equal(script_wall(g, "op2=0.9"), 32 * MS);
    assert_int_equal(script_wall(g, "op2=2"), 65 * MS);
    assert_int_equal(script_wall(g, "op0=0"), 35 * MS);
    assert_int_equal(script_wall(g, "op0=4"), 45 * MS);
    assert_int_equal(script_wall(g, "op3=0"), 30 * MS + 1);
    assert_in_range(script_wall(g, "even"), 25 * MS - 2, 25 * MS + 2);
    done(v, g);
}

/* A barrier that nobody counted the rounds of: shared among what ran. */
static void unknown_ends_are_guessed(void **state)
{
    (void)state;
    struct script *s = script_create();
    script_op(s, 0, 0, 10 * MS, 0);
    script_waited(s, 0, 30 * MS,
                  (struct script_wait){AXP_SYNC_BARRIER, barrier, 0, 10 * MS, 0,
                                       -1, 0, true});
    script_op(s, 0, 30 * MS, 10 * MS, 1);
    script_op(s, 1, 0, 30 * MS, 2);
    axp_view *v = script_view(s);
    axp_graph *g = graph_of(v);
    axp_replay *r = NULL;
    assert_int_equal(axp_whatif(g, NULL, &r), AXP_OK);
    axp_replay_info t = axp_replay_total(r);
    assert_int_equal(t.n_waits, 1);
    assert_int_equal(t.n_unknown_waits, 1);
    assert_int_equal(t.unknown_ns, 20 * MS);
    assert_true(t.is_estimate);
    axp_replay_destroy(r);
    assert_int_equal(script_path(g, "op2"), 20 * MS);
    assert_int_equal(script_wall(g, "op2=0.5"), 30 * MS);
    done(v, g);
}

/* ---- locks -------------------------------------------------------------------- */

/* Row 1 has the lock from 0 to 20 ms, row 0 wants it at 5 and has it at 21. */
static void a_lock_is_its_owners_time(void **state)
{
    (void)state;
    struct script *s = script_create();
    script_op(s, 0, 0, 5 * MS, 0);
    script_waited(s, 0, 21 * MS,
                  (struct script_wait){AXP_SYNC_LOCK, lock, 0, 5 * MS, 20 * MS,
                                       1, 0, true});
    script_op(s, 0, 21 * MS, 9 * MS, 1);
    script_op(s, 1, 0, 20 * MS, 2);
    script_gave(s, 1, 20 * MS, AXP_SYNC_LOCK, lock, 0);
    script_op(s, 1, 20 * MS, 2 * MS, 3);
    axp_view *v = script_view(s);
    axp_graph *g = graph_of(v);
    assert_int_equal(script_path(g, "op2"), 20 * MS);
    assert_int_equal(script_path(g, "waiting for a CPU"), 1 * MS);
    assert_int_equal(script_path(g, "op1"), 9 * MS);
    assert_int_equal(script_wall(g, "op2=0.5"), 20 * MS);
    assert_int_equal(script_wall(g, "op2=0"), 14 * MS); /* not waited for */
    assert_int_equal(script_wall(g, "op0=0"), 30 * MS);
    assert_int_equal(script_wall(g, "op3=0"), 30 * MS);
    done(v, g);
}

/* A short wait is no scope, and no part of what its row did. */
static void short_waits_are_cut_out(void **state)
{
    (void)state;
    struct script *s = script_create();
    script_word(s, 0, 0, AXP__W_BEGIN, SCRIPT_FIRST);
    script_waited(
        s, 0, 8000,
        (struct script_wait){AXP_SYNC_LOCK, lock, 0, 5000, 8000, 1, 0, false});
    script_word(s, 0, 10000, AXP__W_END, SCRIPT_FIRST);
    script_op(s, 1, 0, 8000, 1);
    script_gave(s, 1, 8000, AXP_SYNC_LOCK, lock, 0);
    axp_view *v = script_view(s);
    axp_graph *g = graph_of(v);
    assert_int_equal(script_path(g, "op0"), 2000);
    assert_int_equal(script_path(g, "op1"), 8000);
    assert_int_equal(script_wall(g, "op1=0"), 7000);
    assert_int_equal(script_wall(g, "op0=0"), 8000);
    done(v, g);
}

/* ---- semaphores, threads ------------------------------------------------------- */

/* Row 0 posts every 10 ms from 10 on; row 1 waits for the first, and finds the
 * second and third when it comes, 15 ms later each. */
static void posts_are_taken_in_their_order(void **state)
{
    (void)state;
    struct script *s = script_create();
    for (uint64_t i = 1; i <= 3; i++) {
        script_op(s, 0, (i - 1) * 10 * MS, 10 * MS, 1);
        script_gave(s, 0, i * 10 * MS, AXP_SYNC_SEMAPHORE, semaphore, 0);
    }
    script_waited(s, 1, 10 * MS,
                  (struct script_wait){AXP_SYNC_SEMAPHORE, semaphore, 0, 0,
                                       10 * MS, 0, 0, true});
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t at = (10 + 15 * i) * MS;
        if (i)
            script_waited(s, 1, at,
                          (struct script_wait){AXP_SYNC_SEMAPHORE, semaphore, 0,
                                               at, 0, -1, AXP_SYNC_TOOK,
                                               false});
        script_op(s, 1, at, 15 * MS, 0);
    }
    axp_view *v = script_view(s);
    axp_graph *g = graph_of(v);
    assert_int_equal(script_path(g, "op1"), 10 * MS);
    assert_int_equal(script_path(g, "op0"), 45 * MS);
    assert_int_equal(script_wall(g, "op1=0"), 45 * MS);
    /* Faster than its posts come, it waits for them: 30 + 3. */
    assert_int_equal(script_wall(g, "op0=0.2"), 33 * MS);
    assert_int_equal(script_wall(g, "op0=0"), 30 * MS);
    done(v, g);
}

/* A library's thread records first, and waits for work: the first thread was
 * there before it, whatever it did. */
static void the_first_thread_is_there_from_the_beginning(void **state)
{
    (void)state;
    struct script *s = script_create();
    script_op(s, 0, 50 * MS, 30 * MS, 0);
    script_gave(s, 0, 80 * MS, AXP_SYNC_SEMAPHORE, semaphore, 1);
    script_op(s, 0, 80 * MS, 20 * MS, 2);
    script_op(s, 1, 1 * MS, 1 * MS, 1);
    script_waited(s, 1, 80 * MS,
                  (struct script_wait){AXP_SYNC_SEMAPHORE, semaphore, 1, 2 * MS,
                                       80 * MS, 0, 0, true});
    axp_view *v = script_view(s);
    axp_graph *g = graph_of(v);
    /* the run begins with the first event, at 1 ms */
    assert_int_equal(script_path(g, "outside scopes"), 49 * MS);
    assert_int_equal(script_path(g, "op0"), 30 * MS);
    assert_int_equal(script_path(g, "op1"), 0);
    assert_int_equal(script_path(g, "wait"), 0);
    assert_int_equal(script_path(g, "idle"), 0);
    done(v, g);
}

/* Row 0 starts row 1 at 10 ms, which begins so much later and works for 30 ms;
 * row 0 works for 10 and joins it, and goes on so much later. */
static axp_view *start_and_join(axp_ns late)
{
    axp_ns begun = 10 * MS + late, ended = begun + 30 * MS;
    struct script *s = script_create();
    script_op(s, 0, 0, 10 * MS, 0);
    script_gave(s, 0, 10 * MS, AXP_SYNC_THREAD_START, 1, 0);
    script_op(s, 0, 10 * MS, 10 * MS, 1);
    script_waited(s, 0, ended + late,
                  (struct script_wait){AXP_SYNC_THREAD_END, 7, 0, 20 * MS,
                                       ended, 1, 0, true});
    script_op(s, 0, ended + late, 8 * MS, 2);
    script_word(s, 1, begun, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_waited(s, 1, begun,
                  (struct script_wait){AXP_SYNC_THREAD_START, 1, 0, begun,
                                       10 * MS, 0, AXP_SYNC_TOOK, false});
    script_op(s, 1, begun, 30 * MS, 3);
    script_gave(s, 1, ended, AXP_SYNC_THREAD_END, 7, 0);
    return script_view(s);
}

static void threads_are_started_and_joined(void **state)
{
    (void)state;
    axp_view *v = start_and_join(1 * MS);
    axp_graph *g = graph_of(v);
    assert_int_equal(script_path(g, "op0"), 10 * MS);
    assert_int_equal(script_path(g, "op3"), 30 * MS);
    assert_int_equal(script_path(g, "op2"), 8 * MS);
    assert_int_equal(script_path(g, "waiting for a CPU"), 2 * MS);
    assert_int_equal(script_wall(g, "op3=0.5"), 35 * MS);
    assert_int_equal(script_wall(g, "op3=0"), 28 * MS);
    assert_int_equal(script_wall(g, "op0=0"), 40 * MS);
    assert_int_equal(script_wall(g, "op1=3"), 50 * MS);
    done(v, g);
    /* That is no lack of processors. */
    v = start_and_join(MS / 20);
    g = graph_of(v);
    assert_int_equal(script_path(g, "waiting for a CPU"), 0);
    assert_int_equal(script_path(g, "waking threads up"), MS / 10);
    done(v, g);
}

/* ---- what is no synchronisation -------------------------------------------------- */

/* Own time is what is left of a scope without those in it. */
static void own_times_make_a_single_threads_path(void **state)
{
    (void)state;
    struct script *s = script_create();
    script_word(s, 0, 0, AXP__W_BEGIN, SCRIPT_FIRST);
    script_op(s, 0, 2 * MS, 5 * MS, 1);
    script_op(s, 0, 8 * MS, 1 * MS, 1);
    script_word(s, 0, 10 * MS, AXP__W_END, SCRIPT_FIRST);
    script_op(s, 0, 12 * MS, 3 * MS, 2);
    axp_view *v = script_view(s);
    axp_graph *g = graph_of(v);
    assert_int_equal(script_path(g, "op0"), 4 * MS);
    assert_int_equal(script_path(g, "op1"), 6 * MS);
    assert_int_equal(script_path(g, "op2"), 3 * MS);
    assert_int_equal(script_path(g, "outside scopes"), 2 * MS);
    assert_int_equal(script_wall(g, "op1=0"), 9 * MS);
    done(v, g);
}

static void flows_and_steps(void **state)
{
    (void)state;
    struct script *s = script_create();
    for (uint64_t i = 0; i < 4; i++) {
        script_op(s, 0, i * 10 * MS, 10 * MS, 0);
        script_put(s, 0,
                   (uint64_t[]){axp__word(AXP__W_STEP, 0, (i + 1) * 10 * MS), i,
                                0, i * 10 * MS},
                   4);
    }
    script_ext(s, 0, 40 * MS,
               (uint64_t[]){axp__ext_word(AXP__X_FLOW_OUT, 2, 0), 5}, 2);
    script_op(s, 1, 0, 40 * MS, 1);
    script_ext(s, 1, 45 * MS,
               (uint64_t[]){axp__ext_word(AXP__X_FLOW_IN, 2, 0), 5}, 2);
    script_op(s, 1, 45 * MS, 5 * MS, 2);
    axp_view *v = script_view(s);
    axp_graph *g = graph_of(v);
    axp_replay *r = NULL;
    const char *half = "op0=0.5";
    assert_int_equal(
        axp_whatif(g, &(axp_whatif_options){.scale = &half, .n_scale = 1}, &r),
        AXP_OK);
    axp_replay_info t = axp_replay_total(r);
    assert_int_equal(t.n_steps, 4);
    assert_int_equal(t.recorded_step_ns, 10 * MS);
    assert_int_equal(t.step_ns, 5 * MS);
    axp_replay_destroy(r);
    assert_int_equal(script_wall(g, "op1=0"), 45 * MS); /* behind the flow */
    assert_int_equal(script_wall(g, "op0=2"), 85 * MS);
    done(v, g);
}

/* A queue: three spans that the host asks for at 1, 2 and 40 ms. */
static void spans_of_a_device_wait_for_their_launch(void **state)
{
    (void)state;
    struct script *s = script_create();
    static const uint64_t asked[] = {1, 2, 40}, begins[] = {2, 12, 41};
    script_op(s, 0, 0, 39 * MS, 0);
    script_word(s, 1, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    for (uint64_t i = 0; i < 3; i++)
        script_ext(s, i < 2 ? 1 : 0, asked[i] * MS,
                   (uint64_t[]){axp__ext_word(AXP__X_FLOW_OUT, 2, 0), i + 1},
                   2);
    for (uint64_t i = 0; i < 3; i++)
        script_put(s, 2,
                   (uint64_t[]){axp__word(AXP__W_EXT, SCRIPT_FIRST + 1, 0),
                                axp__ext_word(AXP__X_SPAN_EX, 7, 0),
                                begins[i] * MS, (begins[i] + 10) * MS, 0, 0, 0,
                                i + 1},
                   8);
    s->rows[2].track = 1;
    s->rows[2].first = 2 * MS;
    s->rows[2].last = 51 * MS;
    axp_view *v = script_view(s);
    axp_graph *g = graph_of(v);
    assert_int_equal(axp_view_duration(v), 51 * MS);
    assert_int_equal(script_path(g, "op1"), 10 * MS);
    assert_int_equal(script_path(g, "op0"), 39 * MS);
    assert_int_equal(script_wall(g, "op1=0.5"), 46 * MS);
    assert_int_equal(script_wall(g, "op0=0"), 33 * MS); /* behind others */
    done(v, g);
}

/* ---- what was seen from outside --------------------------------------------------- */

static const struct axp__cap_sample *seen;

static bool load_seen(const struct axp__cap_samples *from,
                      struct axp__cap_sample *out)
{
    memcpy(out, seen, from->n * sizeof *out);
    return true;
}

static axp_view *view_seen(struct script *s, const struct axp__cap_sample *at,
                           uint32_t n)
{
    static struct axp__cap_samples block = {.load = load_seen};
    seen = at;
    block.n = n;
    s->c.samples = &block;
    s->c.n_samples = 1;
    return script_view(s);
}

/* 20 ms of op0 less 5 without a processor, then 10 in no scope, 4 of them off
 * it; another thread, that recorded nothing, was off it for 6 ms. */
static void time_off_the_processor_is_told_apart(void **state)
{
    (void)state;
    struct axp__cap_sample at[] = {
        {8 * MS, 100, 5 * MS, 0, AXP_SAMPLE_READY, 100, false},
        {26 * MS, 100, 4 * MS, 0, AXP_SAMPLE_WAITED, 100, false},
        {10 * MS, 777, 6 * MS, 0, AXP_SAMPLE_READY, 100, false},
        {15 * MS, 777, 1 * MS, 0, AXP_SAMPLE_CPU, 100, false}};
    struct script *s = script_create();
    script_op(s, 0, 0, 20 * MS, 0);
    script_word(s, 0, 30 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s, at, 4);
    axp_graph *g = graph_of(v);
    assert_int_equal(script_path(g, "op0"), 15 * MS);
    assert_int_equal(script_path(g, "waiting for a CPU"), 5 * MS);
    assert_int_equal(script_path(g, "blocked: I/O, sleep, other processes"),
                     4 * MS);
    assert_int_equal(script_path(g, "outside scopes"), 6 * MS);
    assert_int_equal(script_wall(g, NULL), 30 * MS);
    done(v, g);
}

/* Who left a processor does nothing there, wherever it was: 4 of 26 ms are neither
 * its work nor that of what it waits in. */
static void a_wait_with_a_stack_is_no_work(void **state)
{
    (void)state;
    struct script *s = script_create();
    uint32_t works = script_function(s, 0), waits = script_function(s, 1);
    struct axp__cap_sample at[] = {
        {10 * MS, 100, 10 * MS, works, AXP_SAMPLE_CPU, 100, false},
        {16 * MS, 100, 4 * MS, waits, AXP_SAMPLE_WAITED, 100, false},
        {26 * MS, 100, 10 * MS, works, AXP_SAMPLE_CPU, 100, false}};
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_word(s, 0, 26 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s, at, 3);
    axp_graph *g = graph_of(v);
    assert_int_equal(script_path(g, "0x1000"), 22 * MS);
    assert_int_equal(script_path(g, "0x2000"), 0);
    assert_int_equal(script_path(g, "blocked: I/O, sleep, other processes"),
                     4 * MS);
    done(v, g);
}

/* Between two samples half of the time is each one's: 10 ms of either, though the
 * first was seen at 5 ms and the other at 15. */
static void samples_share_the_time_between_them(void **state)
{
    (void)state;
    struct script *s = script_create();
    uint32_t first = script_function(s, 0), second = script_function(s, 1);
    struct axp__cap_sample at[] = {
        {5 * MS, 100, 5 * MS, first, AXP_SAMPLE_CPU, 100, false},
        {15 * MS, 100, 10 * MS, second, AXP_SAMPLE_CPU, 100, false}};
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_word(s, 0, 20 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    axp_view *v = view_seen(s, at, 2);
    axp_graph *g = graph_of(v);
    assert_int_equal(script_path(g, "0x1000"), 10 * MS);
    assert_int_equal(script_path(g, "0x2000"), 10 * MS);
    done(v, g);
}

/* A region that begins at 10 ms: its other thread has no processor from 12 to 24,
 * and who met it none from 24 to 29. Nobody's work is in these 20 ms, and the rest
 * goes to waking them. */
static void a_team_is_waited_for_without_a_processor(void **state)
{
    (void)state;
    struct axp__cap_sample at[] = {
        {24 * MS, 101, 12 * MS, 0, AXP_SAMPLE_READY, 100, false},
        {29 * MS, 100, 5 * MS, 0, AXP_SAMPLE_READY, 100, false}};
    struct script *s = script_create();
    for (uint32_t row = 0; row < 2; row++)
        script_op(s, row, 0, 10 * MS, 0);
    script_gave(s, 0, 10 * MS, AXP_SYNC_REGION, 7, 1);
    script_waited(
        s, 0, 30 * MS,
        (struct script_wait){AXP_SYNC_REGION, 7, 1, 10 * MS, 0, -1, 0, true});
    script_waited(s, 1, 30 * MS,
                  (struct script_wait){AXP_SYNC_REGION, 7, 1, 10 * MS, 10 * MS,
                                       0, 0, true});
    script_op(s, 0, 30 * MS, 10 * MS, 1);
    script_op(s, 1, 30 * MS, 5 * MS, 1);
    axp_view *v = view_seen(s, at, 2);
    axp_graph *g = graph_of(v);
    axp_replay *r = NULL;
    struct axp__serial alone = {.g = g};
    assert_true(axp__serial_add(
        &alone, (struct axp__serial_part){5 * MS, 35 * MS, 0, 2, AXP__NONE}));
    assert_true(axp__serial_sum(&alone, NULL));
    ts_assert_between(9.9e6, alone.ns, 10.1e6); /* before, and after */
    axp__serial_fini(&alone);
    assert_int_equal(script_path(g, "waiting for a CPU"), 17 * MS);
    assert_int_equal(script_path(g, "waking threads up"), 3 * MS);
    assert_int_equal(script_path(g, "op0"), 10 * MS);
    assert_int_equal(axp_whatif(g, NULL, &r), AXP_OK);
    assert_false(axp_replay_total(r).is_estimate);
    assert_int_equal(axp_replay_total(r).wall_ns, 40 * MS);
    axp_replay_destroy(r);
    done(v, g);
}

/* One that was ready for the last 3 of 20 ms has waited for the 17 before. */
static void a_wait_has_its_two_parts(void **state)
{
    (void)state;
    struct axp__cap_sample at[] = {
        {29 * MS, 100, 3 * MS, 0, AXP_SAMPLE_READY, 100, false}};
    struct script *s = script_create();
    for (uint32_t row = 0; row < 2; row++)
        script_op(s, row, 0, 10 * MS, 0);
    script_gave(s, 0, 10 * MS, AXP_SYNC_REGION, 7, 1);
    for (uint32_t row = 0; row < 2; row++) {
        script_waited(s, row, 30 * MS,
                      (struct script_wait){AXP_SYNC_REGION, 7, 1, 10 * MS,
                                           row ? 10 * MS : 0, row ? 0 : -1, 0,
                                           true});
        script_op(s, row, 30 * MS, (10 - 5 * row) * MS, 1);
    }
    axp_view *v = view_seen(s, at, 1);
    axp_graph *g = graph_of(v);
    axp_replay *r = NULL;
    axp_path_segment segments[8];
    assert_int_equal(script_path(g, "waiting for a CPU"), 3 * MS);
    assert_int_equal(script_path(g, "waking threads up"), 17 * MS);
    assert_int_equal(axp_whatif(g, NULL, &r), AXP_OK);
    assert_int_equal(axp_replay_segments(r, segments, 8), 4);
    assert_string_equal(segments[1].name, "waking threads up");
    assert_int_equal(segments[1].end - segments[1].begin, 17 * MS);
    assert_string_equal(segments[2].name, "waiting for a CPU");
    script_check(g, r);
    axp_replay_destroy(r);
    done(v, g);
}

static int count_scopes(const axp_sample *s, void *ctx)
{
    size_t *n = ctx;
    *n += s->n_scopes;
    return 0;
}

static bool has_states(const axp_view *v)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    assert_int_equal(axp_export_write(v, AXP_EXPORT_PERFETTO, f), AXP_OK);
    fclose(f);
    bool has = memmem(text, len, "wants a processor", 17);
    free(text);
    return has;
}

/* Rows and samples of nobody knows whom have nothing to do with each other. */
static void an_unknown_thread_is_nobody(void **state)
{
    (void)state;
    for (uint64_t tid = 0; tid < 2; tid++) {
        struct axp__cap_sample at[] = {
            {5 * MS, tid, 1 * MS, 0, AXP_SAMPLE_CPU, 100, false},
            {15 * MS, tid, 1 * MS, 0, AXP_SAMPLE_CPU, 100, false},
            {25 * MS, tid, 1 * MS, 0, AXP_SAMPLE_READY, 100, false}};
        struct script *s = script_create();
        size_t n = 0;
        script_op(s, 0, 0, 40 * MS, 0);
        script_op(s, 1, 10 * MS, 10 * MS, 1);
        s->rows[0].tid = s->rows[1].tid = tid;
        axp_view *v = view_seen(s, at, 3);
        assert_int_equal(axp_view_samples(v, count_scopes, &n), AXP_OK);
        assert_int_equal(n, tid ? 2 : 0);
        assert_int_equal(axp_view_sample_count(v), 3);
        assert_int_equal(has_states(v), tid > 0);
        axp_view_destroy(v);
    }
}

/* A wait that nobody is known to have ended: the other worked for 6 of its 20 ms,
 * and stood ready for 6; and who waits, for the last 8. */
static void who_is_ready_has_been_waited_for(void **state)
{
    (void)state;
    struct axp__cap_sample at[] = {
        {21 * MS, 101, 6 * MS, 0, AXP_SAMPLE_READY, 100, false},
        {29 * MS, 100, 8 * MS, 0, AXP_SAMPLE_READY, 100, false}};
    struct script *s = script_create();
    script_op(s, 0, 0, 10 * MS, 0);
    script_waited(s, 0, 30 * MS,
                  (struct script_wait){AXP_SYNC_CONDITION, 7, 0, 10 * MS, 0, -1,
                                       0, true});
    script_op(s, 0, 30 * MS, 10 * MS, 1);
    script_op(s, 1, 10 * MS, 12 * MS, 2);
    axp_view *v = view_seen(s, at, 2);
    axp_graph *g = graph_of(v);
    assert_in_range(script_path(g, "waiting for a CPU"), 14 * MS - 2, 14 * MS);
    assert_in_range(script_path(g, "op2"), 6 * MS, 6 * MS + 2);
    done(v, g);
}

/* A program without a row: its samples are all that is known. */
static void a_thread_that_recorded_nothing_is_a_row(void **state)
{
    (void)state;
    struct axp__cap_sample at[] = {
        {10 * MS, 300, 10 * MS, 0, AXP_SAMPLE_CPU, 300, false},
        {30 * MS, 300, 15 * MS, 0, AXP_SAMPLE_READY, 300, false}};
    struct script *s = script_create();
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_word(s, 0, 40 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    s->c.n_rows = 1;
    axp_view *v = view_seen(s, at, 2);
    s->c.n_chunks = 0; /* the row's words are not there */
    axp_graph *g = graph_of(v);
    assert_int_equal(script_path(g, "waiting for a CPU"), 15 * MS);
    assert_int_equal(script_path(g, "outside scopes"), 25 * MS);
    done(v, g);
}

/* The first thread returns from main, and who sleeps in a scope, as far as anybody
 * knows, is seen to end a little later: the run is what the first did. Where that
 * was off its processor then it may have waited for the other. */
static void who_works_to_the_end_ends_the_run(void **state)
{
    (void)state;
    for (unsigned is_off = 0; is_off < 2; is_off++) {
        struct axp__cap_sample at[] = {
            {60 * MS, 100, 60 * MS, 0, AXP_SAMPLE_CPU, 100, false},
            {99 * MS, 100, 39 * MS, 0,
             is_off ? AXP_SAMPLE_WAITED : AXP_SAMPLE_CPU, 100, false}};
        struct script *s = script_create();
        script_op(s, 0, 0, 100 * MS, 0);
        script_op(s, 1, 1 * MS, 99 * MS + MS / 2, 1);
        axp_view *v = view_seen(s, at, 2);
        axp_graph *g = graph_of(v);
        assert_true(script_path(g, is_off ? "op1" : "op0") >= 99 * MS);
        if (!is_off) assert_true(script_wall(g, "op0=0") <= 2 * MS);
        done(v, g);
    }
}

/* A process began while another worked, and one when that had ended: had that been
 * quicker, both had begun earlier. */
static void processes_follow_what_was_there(void **state)
{
    (void)state;
    struct script *s = script_create();
    uint32_t works = script_function(s, 0), other = script_function(s, 1);
    struct axp__cap_sample at[] = {
        {50 * MS, 300, 50 * MS, works, AXP_SAMPLE_CPU, 300, false},
        {52 * MS, 301, 12 * MS, other, AXP_SAMPLE_CPU, 301, false},
        {70 * MS, 302, 20 * MS - MS / 10, other, AXP_SAMPLE_CPU, 302, false}};
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_word(s, 0, 70 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    s->c.n_rows = 1;
    axp_view *v = view_seen(s, at, 3);
    s->c.n_chunks = 0; /* the row's words are not there */
    axp_graph *g = graph_of(v);
    assert_int_equal(script_wall(g, NULL), 70 * MS);
    ts_assert_between(19e6, (double)script_wall(g, "0x1000=0"), 21e6);
    ts_assert_between(44e6, (double)script_wall(g, "0x1000=0.5"), 46e6);
    done(v, g);
}

/* A shell starts two programs one after another, and numbers of processes begin anew
 * between them: what it waited for is what they did, and their want of a processor;
 * its own is no reason to believe that it did anything else. */
static void who_waits_for_programs_is_what_they_do(void **state)
{
    (void)state;
    for (uint64_t second = 300; second <= 700; second += 400) {
        struct script *s = script_create();
        uint32_t works = script_function(s, 0), other = script_function(s, 1);
        struct axp__cap_sample at[] = {
            {10 * MS, 500, 10 * MS, 0, AXP_SAMPLE_CPU, 500, false},
            {30 * MS, 500, 20 * MS, 0, AXP_SAMPLE_READY, 500, false},
            {200 * MS, 500, 168 * MS, 0, AXP_SAMPLE_WAITED, 500, false},
            {90 * MS, 600, 60 * MS, works, AXP_SAMPLE_CPU, 600, false},
            {120 * MS, second, 30 * MS, 0, AXP_SAMPLE_READY, second, false},
            {200 * MS, second, 80 * MS, other, AXP_SAMPLE_CPU, second, false}};
        script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        script_word(s, 0, 200 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        s->c.n_rows = 1;
        axp_view *v = view_seen(s, at, 6);
        s->c.n_chunks = 0; /* the row's words are not there */
        axp_graph *g = graph_of(v);
        assert_in_range(script_path(g, "0x1000"), 59 * MS, 61 * MS);
        assert_in_range(script_path(g, "0x2000"), 79 * MS, 81 * MS);
        assert_in_range(script_path(g, "waiting for a CPU"), 40 * MS, 51 * MS);
        assert_in_range(script_wall(g, "0x1000=0"), 139 * MS, 141 * MS);
        assert_in_range(script_wall(g, "0x2000=0"), 89 * MS, 91 * MS);
        done(v, g);
    }
}

/* Samples of a timer of processor time alone: 25 of 100 ms in which the thread ran,
 * and for 15 it had no processor. */
static void what_no_function_can_have_is_none(void **state)
{
    (void)state;
    struct script *s = script_create();
    uint32_t works = script_function(s, 0), other = script_function(s, 1);
    struct axp__cap_sample at[] = {
        {40 * MS, 500, 10 * MS, works, AXP_SAMPLE_CPU, 500, false},
        {80 * MS, 500, 10 * MS, works, AXP_SAMPLE_CPU, 500, false},
        {100 * MS, 500, 10 * MS, other, AXP_SAMPLE_CPU, 500, false}};
    struct axp__thread_states ran = {.process = 500,
                                     .tid = 500,
                                     .end_ticks = 100 * MS,
                                     .ran_ns = 25 * MS,
                                     .ready_ns = 15 * MS,
                                     .waited_ns = 60 * MS};
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_word(s, 0, 100 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    s->c.n_rows = 1;
    s->c.states = &ran;
    s->c.n_states = 1;
    axp_view *v = view_seen(s, at, 3);
    s->c.n_chunks = 0; /* the row's words are not there */
    axp_graph *g = graph_of(v);
    axp_ns path = script_path(g, "0x1000") + script_path(g, "0x2000");
    assert_in_range(path, 25 * MS - 5, 25 * MS + 5);
    assert_in_range(script_path(g, "waiting for a CPU"), 15 * MS - 5,
                    15 * MS + 5);
    assert_in_range(script_path(g, "blocked: I/O, sleep, other processes"),
                    60 * MS - 5, 60 * MS + 5);
    done(v, g);
}

/* A writer works for 90 ms, and so did another program before it; who reads what it
 * writes is off its processor all the while, and ends with it. */
static void who_reads_from_a_pipe_is_who_writes(void **state)
{
    (void)state;
    struct script *s = script_create();
    uint32_t works = script_function(s, 0), other = script_function(s, 1);
    struct axp__cap_sample at[] = {
        {100 * MS, 500, 99 * MS, 0, AXP_SAMPLE_WAITED, 500, false},
        {201 * MS, 500, 100 * MS, 0, AXP_SAMPLE_WAITED, 500, false},
        {100 * MS, 600, 98 * MS, other, AXP_SAMPLE_CPU, 600, false},
        {200 * MS, 601, 98 * MS, works, AXP_SAMPLE_CPU, 601, false},
        {200 * MS + MS / 2, 602, 98 * MS, 0, AXP_SAMPLE_WAITED, 602, false}};
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_word(s, 0, 202 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    s->c.n_rows = 1;
    axp_view *v = view_seen(s, at, 5);
    s->c.n_chunks = 0; /* the row's words are not there */
    axp_graph *g = graph_of(v);
    assert_in_range(script_path(g, "0x1000"), 97 * MS, 101 * MS);
    assert_in_range(script_path(g, "0x2000"), 97 * MS, 101 * MS);
    assert_in_range(script_path(g, "blocked: I/O, sleep, other processes"), 0,
                    3 * MS);
    assert_in_range(script_wall(g, "0x1000=0"), 102 * MS, 106 * MS);
    done(v, g);
}

/* A shell waits for two programs: who sleeps beside the one that works, and for
 * longer, ends with the shell, which is no reason to believe that it waited. */
static void who_sleeps_beside_work_is_blocked(void **state)
{
    (void)state;
    struct script *s = script_create();
    uint32_t works = script_function(s, 0);
    struct axp__cap_sample at[] = {
        {201 * MS, 500, 200 * MS, 0, AXP_SAMPLE_WAITED, 500, false},
        {140 * MS, 600, 138 * MS, works, AXP_SAMPLE_CPU, 600, false},
        {200 * MS, 601, 198 * MS, 0, AXP_SAMPLE_WAITED, 601, false}};
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    script_word(s, 0, 202 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    s->c.n_rows = 1;
    axp_view *v = view_seen(s, at, 3);
    s->c.n_chunks = 0; /* the row's words are not there */
    axp_graph *g = graph_of(v);
    assert_in_range(script_path(g, "blocked: I/O, sleep, other processes"),
                    197 * MS, 202 * MS);
    done(v, g);
}

/* It works itself for half of the time, and then is off until its child, which works,
 * has ended; or until some time after that, as who sleeps. */
static void who_works_and_waits_is_both(void **state)
{
    (void)state;
    for (unsigned sleeps = 0; sleeps < 2; sleeps++) {
        struct script *s = script_create();
        uint32_t works = script_function(s, 0), other = script_function(s, 1);
        struct axp__cap_sample at[] = {
            {100 * MS, 500, 100 * MS, works, AXP_SAMPLE_CPU, 500, false},
            {180 * MS, 500, 80 * MS, 0, AXP_SAMPLE_WAITED, 500, false},
            {200 * MS, 500, 20 * MS, works, AXP_SAMPLE_CPU, 500, false},
            {sleeps ? 160 * MS : 180 * MS, 600, 60 * MS, other, AXP_SAMPLE_CPU,
             600, false}};
        script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        script_word(s, 0, 200 * MS, AXP__W_INSTANT, SCRIPT_FIRST + 9);
        s->c.n_rows = 1;
        axp_view *v = view_seen(s, at, 4);
        s->c.n_chunks = 0; /* the row's words are not there */
        axp_graph *g = graph_of(v);
        axp_ns theirs = sleeps ? 0 : 60 * MS;
        assert_in_range(script_path(g, "0x1000"), 119 * MS, 121 * MS);
        assert_in_range(script_path(g, "0x2000") + MS, theirs, theirs + 2 * MS);
        assert_in_range(script_path(g, "blocked: I/O, sleep, other processes"),
                        79 * MS - theirs, 81 * MS - theirs);
        done(v, g);
    }
}

/* 36 years, as a damaged recording may claim, half of them without a processor:
 * a few parts, not one for each so many minutes. */
static void endless_stretches_have_few_parts(void **state)
{
    (void)state;
    const uint64_t end = (uint64_t)1 << 60, half = end / 2;
    struct axp__cap_sample at[] = {
        {half, 300, half, 0, AXP_SAMPLE_CPU, 300, false},
        {end, 300, half, 0, AXP_SAMPLE_READY, 300, false}};
    struct script *s = script_create();
    script_word(s, 0, 0, AXP__W_INSTANT, SCRIPT_FIRST + 9);
    s->rows[0].last = s->c.end_ticks = end;
    axp_view *v = view_seen(s, at, 2);
    s->c.n_chunks = 0;
    axp_graph *g = graph_of(v);
    assert_in_range(g->n_parts, 2, 4);
    assert_int_equal(script_path(g, "waiting for a CPU"), half);
    assert_int_equal(script_path(g, "outside scopes"), half);
    done(v, g);
}

/* 20,000 stretches, of 1 and of 9 us in turn: the path has fewer segments, and
 * the same parts. */
static void long_paths_are_drawn_coarsely(void **state)
{
    (void)state;
    struct script *s = script_create();
    axp_path_segment *segments = calloc(20000, sizeof *segments);
    axp_replay *r = NULL;
    assert_non_null(segments);
    for (uint64_t i = 0, at = 0; i < 20000; i++) {
        uint64_t ns = i % 2 ? 9000 : 1000;
        script_op(s, 0, at, ns, i % 2);
        at += ns;
        script_ext(s, 0, at,
                   (uint64_t[]){axp__ext_word(AXP__X_FLOW_OUT, 2, 0), i}, 2);
    }
    axp_view *v = script_view(s);
    axp_graph *g = graph_of(v); /* which looks for gaps */
    assert_int_equal(axp_whatif(g, NULL, &r), AXP_OK);
    size_t n = axp_replay_segments(r, segments, 20000);
    assert_in_range(n, 2, 8192);
    assert_string_equal(segments[n / 2].name, "op1");
    assert_int_equal(script_path(g, "op0"), 10 * MS);
    assert_int_equal(script_path(g, "op1"), 90 * MS);
    axp_replay_destroy(r);
    free(segments);
    done(v, g);
}

/* ---- what is asked for wrongly ------------------------------------------------------ */

static void wrong_changes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "op9=1", "op0", "=0.5", "op0=", "op0=-1", "op0=x", "wait=0", "idle=0"};
    axp_view *v = met();
    axp_graph *g = graph_of(v);
    axp_replay *r = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        axp_whatif_options o = {.scale = bad + i, .n_scale = 1};
        if (axp_whatif(g, &o, &r) == AXP_OK) fail_msg("%s", bad[i]);
        assert_null(r);
    }
    const char *category = "sync=0";
    axp_whatif_options o = {.scale_category = &category, .n_scale_category = 1};
    assert_int_equal(axp_whatif(g, &o, &r), AXP_E_INVALID);
    category = "data=0";
    assert_int_equal(axp_whatif(g, &o, &r), AXP_OK);
    axp_replay_destroy(r);
    r = NULL;
    o.size = 3;
    assert_int_equal(axp_whatif(g, &o, &r), AXP_E_INVALID);
    assert_int_equal(axp_whatif(NULL, NULL, &r), AXP_E_INVALID);
    assert_null(axp_graph_create(NULL));
    done(v, g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_end_with_the_last_to_come),
        cmocka_unit_test(unknown_ends_are_guessed),
        cmocka_unit_test(a_lock_is_its_owners_time),
        cmocka_unit_test(short_waits_are_cut_out),
        cmocka_unit_test(posts_are_taken_in_their_order),
        cmocka_unit_test(the_first_thread_is_there_from_the_beginning),
        cmocka_unit_test(threads_are_started_and_joined),
        cmocka_unit_test(own_times_make_a_single_threads_path),
        cmocka_unit_test(flows_and_steps),
        cmocka_unit_test(spans_of_a_device_wait_for_their_launch),
        cmocka_unit_test(time_off_the_processor_is_told_apart),
        cmocka_unit_test(a_wait_with_a_stack_is_no_work),
        cmocka_unit_test(samples_share_the_time_between_them),
        cmocka_unit_test(a_team_is_waited_for_without_a_processor),
        cmocka_unit_test(a_wait_has_its_two_parts),
        cmocka_unit_test(an_unknown_thread_is_nobody),
        cmocka_unit_test(who_is_ready_has_been_waited_for),
        cmocka_unit_test(a_thread_that_recorded_nothing_is_a_row),
        cmocka_unit_test(who_works_to_the_end_ends_the_run),
        cmocka_unit_test(processes_follow_what_was_there),
        cmocka_unit_test(who_waits_for_programs_is_what_they_do),
        cmocka_unit_test(what_no_function_can_have_is_none),
        cmocka_unit_test(who_reads_from_a_pipe_is_who_writes),
        cmocka_unit_test(who_sleeps_beside_work_is_blocked),
        cmocka_unit_test(who_works_and_waits_is_both),
        cmocka_unit_test(endless_stretches_have_few_parts),
        cmocka_unit_test(long_paths_are_drawn_coarsely),
        cmocka_unit_test(wrong_changes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
