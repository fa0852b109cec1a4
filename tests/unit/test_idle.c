/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads that stood ready while they waited for what was not there yet, on a
 * timeline written by hand: who would only have spun does not starve. */
#include "graph_script.h"

#include "model/model_functions.h"
#include "wire/wire_states.h"

#define ROUNDS 20u
#define MS 1000000u

static struct axp__cap_sample seen[4 * ROUNDS];
static uint32_t n_seen;

static bool load_seen(const struct axp__cap_samples *from,
                      struct axp__cap_sample *out)
{
    memcpy(out, seen, from->n * sizeof *out);
    return true;
}

static void stands_ready(uint64_t from, uint64_t to)
{
    seen[n_seen++] = (struct axp__cap_sample){.ticks = to,
                                              .tid = 101,
                                              .weight = to - from,
                                              .kind = AXP_SAMPLE_READY,
                                              .process = 100};
}

/* Rounds of 100 ms: the second thread waits for 95 of them, for what is there after
 * 90, and works for 3. The scheduler tells of 60 ms more than the samples do. */
static axp_view *rounds(uint64_t given_ms)
{
    static struct axp__cap_samples block = {.load = load_seen};
    static struct axp__thread_states states[2];
    struct script *s = script_create();
    n_seen = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t now = i * 100 * MS, given = given_ms ? now + given_ms * MS : 0;
        script_op(s, 0, now, 99 * MS, 0);
        script_waited(s, 1, now + 95 * MS,
                      (struct script_wait){AXP_SYNC_CONDITION, 1, 0, now, given,
                                           given ? 0 : -1, 0, true});
        script_op(s, 1, now + 96 * MS, 3 * MS, 1);
        stands_ready(now + 20 * MS, now + 60 * MS);
        stands_ready(now + 85 * MS, now + 93 * MS);
        stands_ready(now + 97 * MS, now + 98 * MS);
    }
    for (uint64_t k = 0; k < 2; k++)
        states[k] = (struct axp__thread_states){.process = 100,
                                                .tid = 100 + k,
                                                .end_ticks = ROUNDS * 100 * MS,
                                                .ran_ns = ROUNDS * 10 * MS};
    states[1].ready_ns = ROUNDS * (40 + 8 + 1 + 3) * MS;
    states[1].waited_ns = ROUNDS * 38 * MS;
    block.n = n_seen;
    s->c.states = states;
    s->c.n_states = 2;
    s->c.samples = &block;
    s->c.n_samples = 1;
    axp_view *v = script_view(s);
    assert_int_equal(v->ready_ns, ROUNDS * 52 * MS);
    assert_true(axp__view_add_functions(v)); /* as when a file is opened */
    s->c.states = NULL;
    return v;
}

static axp_ns ready_of(const axp_view *v, uint64_t id)
{
    for (size_t i = 0; i < v->n_threads; i++)
        if (v->threads[i].id == id) return v->threads[i].ready_ns;
    fail_msg("no thread");
    return 0;
}

/* It ran for 10 of 100 ms, and what it did is its life: to the last event. */
static void assert_life(const axp_view *v, uint64_t id)
{
    for (size_t i = 0; i < v->n_threads; i++) {
        const axp_thread_info *t = &v->threads[i];
        if (t->id != id) continue;
        assert_int_equal(t->cpu_ns, ROUNDS * 10 * MS);
        assert_int_equal(t->cpu_ns + t->ready_ns + t->off_ns,
                         t->end - t->begin);
    }
}

static bool is_said(const axp_view *v, const char *text)
{
    for (size_t i = 0; i < v->n_warnings; i++)
        if (!strcmp(v->warnings[i].code, "starved"))
            return strstr(v->warnings[i].text, text);
    return false;
}

static void who_would_spin_does_not_starve(void **state)
{
    (void)state;
    axp_view *v = rounds(90);
    /* 40 and 5 ms were before it was there; 3 + 1 + 3 were not */
    assert_int_equal(v->ready_ns, ROUNDS * 7 * MS);
    assert_int_equal(v->idle_ready_ns, ROUNDS * 45 * MS);
    assert_int_equal(ready_of(v, 101), ROUNDS * 7 * MS);
    assert_int_equal(ready_of(v, 100), 0);
    assert_life(v, 101);
    assert_true(is_said(v, "140.000 ms in all"));
    axp_view_destroy(v);
}

/* Nobody knows since when it could have gone on. */
static void a_wait_that_nobody_ended(void **state)
{
    (void)state;
    axp_view *v = rounds(0);
    assert_int_equal(v->ready_ns, ROUNDS * 52 * MS);
    assert_int_equal(ready_of(v, 101), ROUNDS * 52 * MS);
    assert_life(v, 101);
    assert_true(is_said(v, "1.040 s in all"));
    axp_view_destroy(v);
}

/* A pool's thread, back in it after 100 ms: to the end of the run. */
static void who_is_left_in_a_pool(void **state)
{
    (void)state;
    static struct axp__cap_samples block = {.load = load_seen, .n = 2};
    struct axp__thread_states states = {.process = 100,
                                        .tid = 101,
                                        .end_ticks = 2000 * MS,
                                        .ran_ns = 200 * MS,
                                        .ready_ns = 830 * MS};
    struct script *s = script_create();
    n_seen = 0;
    script_op(s, 0, 0, 2000 * MS, 0);
    script_op(s, 1, 0, 100 * MS, 1);
    script_waited(s, 1, 100 * MS,
                  (struct script_wait){.kind = AXP_SYNC_BACK,
                                       .object = 7,
                                       .number = 1,
                                       .by = -1,
                                       .verb = AXP_SYNC_GAVE});
    stands_ready(20 * MS, 50 * MS);
    stands_ready(200 * MS, 1000 * MS);
    s->c.states = &states;
    s->c.n_states = 1;
    s->c.samples = &block;
    s->c.n_samples = 1;
    axp_view *v = script_view(s);
    assert_true(axp__view_add_functions(v));
    s->c.states = NULL;
    assert_int_equal(ready_of(v, 101), 30 * MS);
    assert_int_equal(v->idle_ready_ns, 800 * MS);
    axp_view_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_would_spin_does_not_starve),
        cmocka_unit_test(a_wait_that_nobody_ended),
        cmocka_unit_test(who_is_left_in_a_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
