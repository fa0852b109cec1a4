/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The timeline of a view: order, filters, capacity, what events carry. */
#include "test_support.h"

#define MOST 4096

struct log {
    size_t n, stop_at;
    axp_ns last;
    bool is_ordered;
    struct {
        char name[32];
        axp_event_type type;
        axp_ns time;
        uint64_t thread;
        long serial; /* the metadata as a number; -1: none */
        double value;
    } e[MOST];
};

static int keep(const axp_event_info *e, void *ctx)
{
    struct log *l = ctx;
    if (e->time_ns < l->last) l->is_ordered = false;
    l->last = e->time_ns;
    if (l->n < MOST) {
        snprintf(l->e[l->n].name, sizeof l->e[0].name, "%s", e->name);
        l->e[l->n].type = e->type;
        l->e[l->n].time = e->time_ns;
        l->e[l->n].thread = e->thread_id;
        l->e[l->n].serial = e->metadata ? atol(e->metadata) : -1;
        l->e[l->n].value = e->value;
    }
    return ++l->n == l->stop_at;
}

static struct log *read_view(const axp_view *v, const axp_event_filter *filter,
                             size_t stop_at)
{
    struct log *l = calloc(1, sizeof *l);
    l->is_ordered = true;
    l->stop_at = stop_at;
    assert_int_equal(axp_view_events(v, filter, keep, l), AXP_OK);
    return l;
}

static struct log *read_all(axp_profiler *p, const axp_event_filter *filter)
{
    axp_view *v = ts_snapshot(p);
    struct log *l = read_view(v, filter, 0);
    if (!filter) assert_int_equal(axp_view_event_count(v), l->n);
    axp_view_destroy(v);
    return l;
}

static void one_of_each(axp_profiler *p)
{
    axp_start(p, "scope");
    axp_instant(p, "mark");
    axp_counter(p, "loss", 2.5);
    axp_record_alloc(p, "memory", 77);
    axp_record_free(p, "memory", 77);
    axp_event(p, "custom", AXP_EVENT_CUSTOM, "12 things");
    axp_stop(p, "scope");
    axp_async_begin(p, "request", 5);
    axp_async_end(p, "request", 5);
    axp_flow_out(p, 9);
    axp_flow_in(p, 9);
    axp_step(p);
}

static void each_call_is_an_event(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        axp_event_type type;
        double value;
    } want[] = {
        {"scope", AXP_EVENT_START, 0},    {"mark", AXP_EVENT_INSTANT, 0},
        {"loss", AXP_EVENT_COUNTER, 2.5}, {"memory", AXP_EVENT_ALLOC, 77},
        {"memory", AXP_EVENT_FREE, 77},   {"custom", AXP_EVENT_CUSTOM, 0},
        {"scope", AXP_EVENT_END, 0},      {"request", AXP_EVENT_START, 0},
        {"request", AXP_EVENT_END, 0},    {"step", AXP_EVENT_STEP, 0},
    };
    axp_profiler *p = ts_profiler();
    one_of_each(p);
    struct log *l = read_all(p, NULL);
    assert_int_equal(l->n, 10);
    for (size_t i = 0; i < 10; i++) {
        assert_string_equal(l->e[i].name, want[i].name);
        assert_int_equal(l->e[i].type, want[i].type);
        assert_true(l->e[i].value == want[i].value);
        assert_int_equal(l->e[i].serial, i == 5 ? 12 : -1);
    }
    assert_true(l->is_ordered);
    free(l);
    axp_profiler_destroy(p);
}

static void *mark_often(void *arg)
{
    for (int i = 0; i < 200; i++) {
        AXP_SCOPE_IN(arg, "scope");
        axp_instant(arg, "mark");
    }
    return NULL;
}

static void threads_are_merged_by_time(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    pthread_t a = ts_spawn(mark_often, p), b = ts_spawn(mark_often, p);
    mark_often(p);
    ts_join(a);
    ts_join(b);
    struct log *l = read_all(p, NULL);
    assert_int_equal(l->n, 1800);
    assert_true(l->is_ordered);
    uint64_t ids[8], n_ids = 0;
    for (size_t i = 0; i < l->n; i++) {
        size_t k = 0;
        while (k < n_ids && ids[k] != l->e[i].thread)
            k++;
        if (k == n_ids && n_ids < 8) ids[n_ids++] = l->e[i].thread;
    }
    assert_int_equal(n_ids, 3);
    free(l);
    axp_profiler_destroy(p);
}

static void filters_choose(void **state)
{
    (void)state;
    const axp_event_type start = AXP_EVENT_START, instant = AXP_EVENT_INSTANT;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 10; i++) {
        axp_start(p, "a");
        axp_instant(p, "b");
        axp_stop(p, "a");
    }
    axp_view *v = ts_snapshot(p);
    struct log *all = read_view(v, NULL, 0);
    struct log *l = read_view(v, &(axp_event_filter){.name = "a"}, 0);
    assert_int_equal(l->n, 20);
    free(l);
    l = read_view(v, &(axp_event_filter){.type = &start}, 0);
    assert_int_equal(l->n, 10);
    free(l);
    l = read_view(v, &(axp_event_filter){.name = "a", .type = &instant}, 0);
    assert_int_equal(l->n, 0);
    free(l);
    axp_ns from = all->e[6].time, to = all->e[20].time;
    size_t want = 0;
    for (size_t i = 0; i < all->n; i++)
        want += all->e[i].time >= from && all->e[i].time <= to;
    l = read_view(v, &(axp_event_filter){.from = from, .to = to}, 0);
    assert_int_equal(l->n, want);
    assert_true(l->e[0].time >= from && l->last <= to);
    free(l);
    l = read_view(v, &(axp_event_filter){.from = from}, 0);
    assert_true(l->n >= 24 && l->n < 30);
    free(l);
    free(all);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void a_reader_may_stop(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (int i = 0; i < 100; i++)
        axp_instant(p, "mark");
    axp_view *v = ts_snapshot(p);
    struct log *l = read_view(v, NULL, 7);
    assert_int_equal(l->n, 7);
    free(l);
    assert_int_equal(axp_view_events(v, NULL, NULL, NULL), AXP_E_INVALID);
    assert_int_equal(axp_view_events(NULL, NULL, keep, NULL), AXP_E_INVALID);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- capacity ------------------------------------------------------------ */

static void put_serial(axp_profiler *p, long i)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", i);
    axp_event(p, "mark", AXP_EVENT_INSTANT, text);
}

static void a_capacity_shows_exactly_the_newest(void **state)
{
    (void)state;
    const axp_options o = {.timeline_capacity = 1000};
    axp_profiler *p = axp_profiler_create(&o);
    for (long i = 0; i < 10000; i++)
        put_serial(p, i);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(axp_view_event_count(v), 1000);
    assert_int_equal(axp_view_cut_count(v), 9000);
    assert_int_equal(ts_view_warnings(v, "cut_timeline"), 9000);
    struct log *l = read_view(v, NULL, 0);
    assert_int_equal(l->n, 1000);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(l->e[i].serial, 9000 + (long)i);
    free(l);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void below_the_capacity_nothing_is_cut(void **state)
{
    (void)state;
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.timeline_capacity = 1000});
    for (long i = 0; i < 1000; i++)
        put_serial(p, i);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(axp_view_event_count(v), 1000);
    assert_int_equal(axp_view_cut_count(v), 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

struct feeder {
    axp_profiler *p;
    long *next;
    pthread_mutex_t *turn;
};

/* One after another, so that serial numbers are in the order of time. */
static void *feed(void *arg)
{
    struct feeder *f = arg;
    for (bool more = true; more;) {
        pthread_mutex_lock(f->turn);
        for (int k = 0; k < 37 && *f->next < 10000; k++)
            put_serial(f->p, (*f->next)++);
        more = *f->next < 10000;
        pthread_mutex_unlock(f->turn);
        sched_yield();
    }
    return NULL;
}

static void a_capacity_holds_over_threads(void **state)
{
    (void)state;
    pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    long next = 0;
    struct feeder f = {
        axp_profiler_create(&(axp_options){.timeline_capacity = 1000}), &next,
        &turn};
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        t[i] = ts_spawn(feed, &f);
    for (int i = 0; i < 4; i++)
        ts_join(t[i]);
    axp_view *v = ts_snapshot(f.p);
    struct log *l = read_view(v, NULL, 0);
    char seen[1000] = {0};
    assert_int_equal(l->n, 1000);
    assert_int_equal(axp_view_cut_count(v), 9000);
    assert_true(l->is_ordered);
    for (size_t i = 0; i < 1000; i++) {
        assert_true(l->e[i].serial >= 9000 && l->e[i].serial < 10000);
        seen[l->e[i].serial - 9000]++;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(seen[i], 1);
    free(l);
    axp_view_destroy(v);
    axp_profiler_destroy(f.p);
}

/* Small pools: what is left is the newest, and the count of the rest exact. */
static void without_a_capacity_memory_is_the_limit(void **state)
{
    (void)state;
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.memory_limit = 8u << 20});
    assert_non_null(p);
    const uint64_t n = 2000000;
    for (uint64_t i = 0; i < n; i++)
        axp_instant(p, "mark");
    axp_view *v = ts_snapshot(p);
    uint64_t shown = axp_view_event_count(v);
    assert_true(shown > 10000 && shown < n);
    assert_int_equal(shown + axp_view_cut_count(v), n);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- what events carry --------------------------------------------------- */

static int check_text(const axp_event_info *e, void *ctx)
{
    const char *const *want = ctx;
    if (!*want)
        assert_null(e->metadata);
    else
        assert_string_equal(e->metadata, *want);
    return 0;
}

static void metadata_is_kept_as_it_was(void **state)
{
    (void)state;
    static const char *const texts[] = {
        NULL, "", "1234567", "12345678", "123456789", "{\"k\": \"\\\"\"}"};
    for (size_t i = 0; i < 6; i++) {
        axp_profiler *p = ts_profiler();
        axp_event(p, "event", AXP_EVENT_CUSTOM, texts[i]);
        axp_view *v = ts_snapshot(p);
        assert_int_equal(axp_view_event_count(v), 1);
        axp_view_events(v, NULL, check_text, (void *)&texts[i]);
        axp_view_destroy(v);
        axp_profiler_destroy(p);
    }
}

static int check_long(const axp_event_info *e, void *ctx)
{
    size_t len = strlen(e->metadata);
    assert_true(len > 4000 && len <= 8192);
    assert_memory_equal(e->metadata, ctx, len);
    return 0;
}

static void metadata_of_20_kb_is_cut_and_counted(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char *text = malloc(20001);
    for (int i = 0; i < 20000; i++)
        text[i] = (char)('a' + i % 26);
    text[20000] = 0;
    for (int i = 0; i < 50; i++)
        axp_event(p, "event", AXP_EVENT_CUSTOM, text);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_warnings(v, "cut_metadata"), 50);
    assert_int_equal(axp_view_event_count(v), 50);
    assert_int_equal(axp_view_events(v, NULL, check_long, text), AXP_OK);
    axp_view_destroy(v);
    free(text);
    axp_profiler_destroy(p);
}

static void without_a_timeline_statistics_are_the_same(void **state)
{
    (void)state;
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.flags = AXP_NO_TIMELINE});
    for (int i = 0; i < 5000; i++)
        one_of_each(p);
    struct log *l = read_all(p, NULL);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(l->n, 0);
    assert_int_equal(axp_view_event_count(v), 0);
    assert_int_equal(axp_view_cut_count(v), 0);
    assert_int_equal(ts_view_op(v, "scope").calls, 5000);
    assert_int_equal(ts_view_op(v, "request").calls, 5000);
    assert_int_equal(axp_view_memory(v).n_allocs, 5000);
    assert_int_equal(axp_view_steps(v).count, 5000);
    axp_view_destroy(v);
    free(l);
    axp_profiler_destroy(p);
}

static void the_span_of_a_name_is_first_start_to_last_end(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "queue");
    axp_track_span(t, "copy", 1000, 1500, NULL);
    axp_track_span(t, "copy", 300, 400, NULL);
    axp_track_span(t, "other", 10, 9000, NULL);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(axp_view_span(v, "copy"), 1200);
    assert_int_equal(axp_view_span(v, "other"), 8990);
    assert_int_equal(axp_view_span(v, "unknown"), 0);
    assert_int_equal(axp_view_span(v, NULL), 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void async_spans_cross_threads_and_interleave(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    for (uint64_t id = 0; id < 100; id++)
        axp_async_begin(p, "request", id);
    for (uint64_t id = 100; id--;)
        axp_async_end(p, "request", id);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_op(v, "request").calls, 100);
    assert_int_equal(axp_view_event_count(v), 200);
    assert_int_equal(ts_node(v, "request").calls, 0);
    axp_view_destroy(v);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

static void steps_are_numbered_events(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    const axp_event_type step = AXP_EVENT_STEP;
    for (int i = 0; i < 5; i++)
        axp_step(p);
    struct log *l = read_all(p, &(axp_event_filter){.type = &step});
    assert_int_equal(l->n, 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(l->e[i].value == (double)i);
    free(l);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_is_an_event),
        cmocka_unit_test(threads_are_merged_by_time),
        cmocka_unit_test(filters_choose),
        cmocka_unit_test(a_reader_may_stop),
        cmocka_unit_test(a_capacity_shows_exactly_the_newest),
        cmocka_unit_test(below_the_capacity_nothing_is_cut),
        cmocka_unit_test(a_capacity_holds_over_threads),
        cmocka_unit_test(without_a_capacity_memory_is_the_limit),
        cmocka_unit_test(metadata_is_kept_as_it_was),
        cmocka_unit_test(metadata_of_20_kb_is_cut_and_counted),
        cmocka_unit_test(without_a_timeline_statistics_are_the_same),
        cmocka_unit_test(the_span_of_a_name_is_first_start_to_last_end),
        cmocka_unit_test(async_spans_cross_threads_and_interleave),
        cmocka_unit_test(steps_are_numbered_events),
    };
    return TS_RUN(tests);
}
