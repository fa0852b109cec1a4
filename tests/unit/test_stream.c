/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The timeline as a stream: what model_stream.h promises holds for programs
 * of every kind, and for words that no program wrote. */
#include "model/model_stream.h"

#include "test_support.h"
#include "unit/made_capture.h"

/* ---- a stream, kept and checked ------------------------------------------------ */

#define MOST 4096u
#define ROWS 64u

struct kept {
    struct axp__record r[MOST];
    const char *name[MOST];
    double flops[MOST], bytes[MOST];
    size_t n, n_events;
};

struct nest {
    uint32_t name[MOST];
    size_t n, n_overlapping;
    axp_ns last;
};

static void check_scope(struct nest *at, const struct axp__record *r)
{
    bool is_begin = r->kind == AXP__R_BEGIN;
    if (r->flags & AXP__R_NO_BEGIN) return;
    assert_true(r->begin_ns <= r->time_ns);
    if (r->flags & AXP__R_OVERLAPS) {
        assert_true(is_begin || at->n_overlapping);
        at->n_overlapping += is_begin ? 1 : -1;
    } else if (is_begin) {
        assert_true(at->n < MOST);
        at->name[at->n++] = r->name;
    } else {
        assert_true(at->n > 0);
        assert_int_equal(at->name[--at->n], r->name);
    }
}

/* Reads all of it; fails where a promise is broken. */
static struct kept *read_stream(const axp_view *v, unsigned options)
{
    struct kept *k = calloc(1, sizeof *k);
    struct nest *rows = calloc(ROWS, sizeof *rows);
    struct axp__stream *s;
    const struct axp__record *r;
    axp_ns last = 0;
    uint32_t last_row = 0;
    assert_int_equal(axp__stream_open(v, options, &s), AXP_OK);
    while ((r = axp__stream_next(s))) {
        assert_true(r->row < axp__stream_n_rows(s) && r->row < ROWS);
        struct nest *at = &rows[r->row];
        if (options & AXP__STREAM_BY_ROW) {
            assert_true(r->row >= last_row);
            last_row = r->row;
        } else {
            assert_true(r->time_ns >= last);
            last = r->time_ns;
        }
        assert_true(r->time_ns >= at->last);
        at->last = r->time_ns;
        if ((r->kind == AXP__R_BEGIN || r->kind == AXP__R_END) &&
            !(options & AXP__STREAM_RAW))
            check_scope(at, r);
        k->n_events += axp__record_is_event(r);
        if (k->n == MOST) continue;
        if (r->kind == AXP__R_END && !(options & AXP__STREAM_RAW) && r->work) {
            k->flops[k->n] = r->work->flops;
            k->bytes[k->n] = r->work->bytes;
        }
        k->name[k->n] = axp__view_name(v, r->name);
        k->r[k->n++] = *r;
    }
    assert_int_equal(axp__stream_status(s), AXP_OK);
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(rows[i].n, 0);
        assert_int_equal(rows[i].n_overlapping, 0);
    }
    axp__stream_close(s);
    free(rows);
    return k;
}

static struct kept *read_profiler(axp_profiler *p, unsigned options)
{
    axp_view *v = ts_snapshot(p);
    struct kept *k = read_stream(v, options);
    assert_int_equal(k->n_events, axp_view_event_count(v));
    axp_view_destroy(v);
    return k;
}

/* The i-th record of that kind and name; fails if there is none. */
static const struct axp__record *find(const struct kept *k, unsigned kind,
                                      const char *name, size_t i)
{
    for (size_t at = 0; at < k->n; at++)
        if (k->r[at].kind == kind && !strcmp(k->name[at], name) && !i--)
            return &k->r[at];
    fail_msg("no record of kind %u named %s", kind, name);
    return NULL;
}

static size_t count_flag(const struct kept *k, unsigned flag)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n; i++)
        n += (k->r[i].kind == AXP__R_BEGIN || k->r[i].kind == AXP__R_END) &&
             k->r[i].flags & flag;
    return n;
}

/* ---- scopes ---------------------------------------------------------------------- */

static void an_end_knows_its_beginning_and_its_work(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "outer");
    axp_category(p, AXP_CAT_FORWARD);
    axp_start_work(
        p, "inner",
        (axp_work){.flops = 10, .bytes = 3, .dtype = AXP_F16, .dims = {2, 5}});
    axp_add_work(p, (axp_work){.flops = 5});
    axp_stop(p, "inner");
    axp_stop(p, "outer");
    struct kept *k = read_profiler(p, 0);
    const struct axp__record *begin = find(k, AXP__R_BEGIN, "inner", 0);
    const struct axp__record *end = find(k, AXP__R_END, "inner", 0);
    assert_int_equal(end->begin_ns, begin->time_ns);
    assert_int_equal(end->flags, AXP__R_NAMED);
    assert_int_equal(end->category, AXP_CAT_FORWARD);
    assert_true(k->flops[end - k->r] == 15 && k->bytes[end - k->r] == 3);
    assert_null(find(k, AXP__R_END, "outer", 0)->work);
    assert_int_equal(k->n, 4);
    free(k);
    axp_profiler_destroy(p);
}

static void overlapping_names_are_marked_from_the_start(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    AXP_SCOPE_IN(p, "around");
    axp_start(p, "a");
    axp_stop(p, "a"); /* nests here, but not everywhere */
    axp_start(p, "a");
    axp_start(p, "b");
    axp_start(p, "c");
    axp_stop(p, "a");
    axp_stop(p, "c");
    axp_stop(p, "b");
    struct kept *k = read_profiler(p, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_true(find(k, AXP__R_BEGIN, "a", i)->flags & AXP__R_OVERLAPS);
        assert_true(find(k, AXP__R_END, "a", i)->flags & AXP__R_OVERLAPS);
    }
    assert_int_equal(count_flag(k, AXP__R_OVERLAPS), 4);
    assert_int_equal(count_flag(k, AXP__R_OPEN), 1);
    assert_true(find(k, AXP__R_END, "around", 0)->flags & AXP__R_OPEN);
    assert_int_equal(find(k, AXP__R_END, "a", 1)->begin_ns,
                     find(k, AXP__R_BEGIN, "a", 1)->time_ns);
    free(k);
}

static void *stop_it(void *p)
{
    axp_stop(p, "moved");
    return NULL;
}

static void a_scope_that_another_thread_ends_is_a_pair_there(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_start(p, "stays");
    axp_start(p, "moved");
    ts_run(stop_it, p);
    axp_instant(p, "later");
    axp_stop(p, "stays");
    struct kept *k = read_profiler(p, 0);
    const struct axp__record *cross = find(k, AXP__R_CROSS, "moved", 0);
    const struct axp__record *begin = find(k, AXP__R_BEGIN, "moved", 0);
    assert_int_equal(cross->begin_ns, begin->time_ns);
    assert_int_not_equal(cross->row, begin->row);
    assert_true(begin->flags & AXP__R_OVERLAPS);
    assert_true(find(k, AXP__R_END, "moved", 0)->flags & AXP__R_ELSEWHERE);
    assert_int_equal(find(k, AXP__R_END, "stays", 0)->flags, AXP__R_NAMED);
    free(k);
    axp_profiler_destroy(p);
}

static void descend(axp_profiler *p, int depth)
{
    AXP_SCOPE_IN(p, "level");
    axp_instant(p, "mark");
    if (depth) descend(p, depth - 1);
}

/* What the window begins inside of is opened there, and closed. */
static void a_cut_timeline_is_opened_and_closed(void **state)
{
    (void)state;
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.timeline_capacity = 1000});
    axp_start(p, "always");
    for (int i = 0; i < 100; i++) {
        axp_start(p, "long");
        descend(p, 50);
        axp_stop(p, "long");
    }
    axp_start(p, "last");
    descend(p, 300);
    struct kept *k = read_profiler(p, 0);
    assert_int_equal(k->n_events, 1000);
    assert_true(count_flag(k, AXP__R_CUT) > 1);
    assert_int_equal(count_flag(k, AXP__R_NO_BEGIN), 0);
    assert_string_equal(k->name[0], "always");
    const struct axp__record *last = find(k, AXP__R_END, "always", 0);
    assert_int_equal(last->flags, AXP__R_NAMED | AXP__R_CUT | AXP__R_OPEN);
    assert_true(last->begin_ns < k->r[0].time_ns);
    assert_true(find(k, AXP__R_END, "last", 0)->flags & AXP__R_OPEN);
    free(k);
    axp_profiler_destroy(p);
}

/* ---- rows -------------------------------------------------------------------------- */

static void *work(void *p)
{
    for (int i = 0; i < 100; i++) {
        AXP_SCOPE_IN(p, "scope");
        axp_counter(p, "value", i);
        axp_flow_out(p, (uint64_t)i);
    }
    return NULL;
}

static int by_row_then_time(const void *a, const void *b)
{
    const struct axp__record *x = a, *y = b;
    if (x->row != y->row) return x->row > y->row ? 1 : -1;
    if (x->time_ns != y->time_ns) return x->time_ns > y->time_ns ? 1 : -1;
    return x->kind - y->kind;
}

static void both_orders_hold_the_same(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    pthread_t a = ts_spawn(work, p), b = ts_spawn(work, p);
    work(p);
    ts_join(a);
    ts_join(b);
    axp_track *t = axp_track_create(p, "queue");
    axp_track_span(t, "copy", 900, 1500, NULL);
    axp_track_span(t, "copy", 100, 300, NULL);
    axp_view *v = ts_snapshot(p);
    struct kept *x = read_stream(v, 0), *y = read_stream(v, AXP__STREAM_BY_ROW);
    assert_int_equal(x->n, 1204);
    assert_int_equal(x->n, y->n);
    qsort(x->r, x->n, sizeof *x->r, by_row_then_time);
    qsort(y->r, y->n, sizeof *y->r, by_row_then_time);
    for (size_t i = 0; i < x->n; i++) {
        assert_int_equal(x->r[i].kind, y->r[i].kind);
        assert_int_equal(x->r[i].time_ns, y->r[i].time_ns);
        assert_int_equal(x->r[i].name, y->r[i].name);
    }
    free(x);
    free(y);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void *feed_track(void *track)
{
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t at = i ^ 63; /* backwards, in groups of 64 */
        axp_track_span(track, "kernel", at * 10, at * 10 + 10, NULL);
    }
    return NULL;
}

static void a_track_is_one_row_in_order_however_it_was_fed(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create(p, "queue");
    axp_track_span(t, "late", 70000, 70005, NULL);
    axp_track_span(t, "inner", 60000, 60010, NULL);
    axp_track_span(t, "outer", 60000, 60020, NULL);
    pthread_t a = ts_spawn(feed_track, t);
    feed_track(t);
    ts_join(a);
    struct kept *k = read_profiler(p, 0);
    assert_int_equal(k->n_events, 20006);
    for (size_t i = 0; i < k->n; i++)
        assert_int_equal(k->r[i].row, 0);
    free(k);
    axp_view *v = ts_snapshot(p);
    struct axp__stream *s;
    const struct axp__record *r;
    assert_int_equal(axp__stream_open(v, AXP__STREAM_BY_ROW, &s), AXP_OK);
    assert_int_equal(axp__stream_n_rows(s), 1);
    assert_string_equal(axp__stream_row(s, 0)->name, "queue");
    const char *order[6];
    size_t n = 0;
    while ((r = axp__stream_next(s)))
        if (r->time_ns >= 60000 && n < 6)
            order[n++] = axp__view_name(v, r->name);
    assert_int_equal(n, 6);
    static const char *const want[] = {"outer", "inner", "inner",
                                       "outer", "late",  "late"};
    for (size_t i = 0; i < n; i++)
        assert_string_equal(order[i], want[i]);
    axp__stream_close(s);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* A span that began before the window is given with its own times. */
static void spans_across_the_cut_are_whole(void **state)
{
    (void)state;
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.timeline_capacity = 20});
    axp_track *t = axp_track_create(p, "queue");
    axp_track_span(t, "long", 5, 100000, NULL);
    for (uint64_t i = 0; i < 100; i++)
        axp_track_span(t, "short", 100 + 10 * i, 105 + 10 * i, NULL);
    struct kept *k = read_profiler(p, 0);
    assert_int_equal(k->n_events, 20);
    const struct axp__record *r = find(k, AXP__R_SPAN, "long", 0);
    assert_int_equal(r->flags, AXP__R_CUT);
    assert_int_equal(r->time_ns, 5);
    assert_int_equal(r->end_ns, 100000);
    assert_int_equal(find(k, AXP__R_SPAN_END, "long", 0)->begin_ns, 5);
    free(k);
    axp_profiler_destroy(p);
}

static void allocations_bring_their_stack_and_scopes(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    void *stack[3] = {(void *)0x10, (void *)0x20, (void *)0x30};
    axp_start(p, "outer");
    axp_record_alloc_ex(p, &(axp_alloc){.name = "tensor",
                                        .ptr = (void *)0x1000,
                                        .bytes = 64,
                                        .kind = AXP_MEM_WEIGHT,
                                        .stack = stack,
                                        .n_frames = 3});
    axp_track_free(p, (void *)0x1000);
    axp_view *v = ts_snapshot(p);
    struct axp__stream *s;
    const struct axp__record *r;
    size_t n = 0;
    assert_int_equal(axp__stream_open(v, 0, &s), AXP_OK);
    while ((r = axp__stream_next(s)) && r->kind != AXP__R_ALLOC)
        ;
    assert_non_null(r);
    assert_int_equal(r->id, 0x1000);
    assert_int_equal(r->bytes, 64);
    assert_int_equal(r->argument, AXP_MEM_WEIGHT);
    axp_frame frames[4];
    assert_int_equal(axp_view_stack(v, r->stack, frames, 4), 3);
    assert_int_equal(frames[2].offset, 0x30);
    assert_null(frames[2].module);
    const struct axp__scope *open = axp__stream_scopes(s, &n);
    assert_int_equal(n, 1);
    assert_string_equal(axp__view_name(v, open[0].name), "outer");
    r = axp__stream_next(s);
    assert_int_equal(r->kind, AXP__R_FREE);
    assert_int_equal(r->bytes, 64);
    axp__stream_close(s);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- words that no program wrote ------------------------------------------------------ */

static void any_words_keep_the_promises(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    struct made *m = malloc(sizeof *m);
    for (int i = 0; i < 400; i++) {
        make_capture(m, &seed, (uint64_t)i % 3);
        if (i % 5 == 0) m->c.timeline_capacity = 100;
        axp_view *v = axp__view_make(&m->c);
        assert_non_null(v);
        free(read_stream(v, 0));
        free(read_stream(v, AXP__STREAM_BY_ROW));
        free(read_stream(v, AXP__STREAM_RAW));
        axp_view_destroy(v);
    }
    free(m);
}

/* ---- chunks that are loaded when they are needed ------------------------------------------ */

static struct {
    const struct made *from;
    size_t n_loaded, most_loaded, n_loads;
} disk;

static void unload_made(struct axp__cap_words *words)
{
    free(words->memory);
    disk.n_loaded--;
}

static bool load_made(const struct axp__cap_source *s,
                      const struct axp__cap_chunk *at, uint32_t part,
                      struct axp__cap_words *out)
{
    (void)s, (void)part;
    uint64_t *copy = malloc(sizeof disk.from->words[0]);
    memcpy(copy, disk.from->words[at->seq], sizeof disk.from->words[0]);
    *out = (struct axp__cap_words){copy, MADE_WORDS, at->base_ticks,
                                   unload_made, copy};
    disk.n_loads++;
    if (++disk.n_loaded > disk.most_loaded) disk.most_loaded = disk.n_loaded;
    return true;
}

/* Rows one after another: one chunk; all together: no more than there are. */
static void few_chunks_are_loaded_at_once(void **state)
{
    (void)state;
    uint64_t seed = 77;
    struct made *m = malloc(sizeof *m);
    const struct axp__cap_source source = {.load = load_made};
    make_capture(m, &seed, 0);
    disk.from = m;
    for (size_t i = 0; i < m->c.n_chunks; i++) {
        m->chunks[i].source = &source;
        m->chunks[i].words = NULL;
    }
    axp_view *v = axp__view_make(&m->c);
    static const unsigned options[] = {AXP__STREAM_BY_ROW, 0, AXP__STREAM_RAW};
    static const size_t most[] = {1, 4, 4};
    for (size_t i = 0; i < 3; i++) {
        disk.most_loaded = disk.n_loads = 0;
        free(read_stream(v, options[i]));
        assert_true(disk.n_loads >= m->c.n_chunks);
        assert_true(disk.most_loaded >= 1 && disk.most_loaded <= most[i]);
        assert_int_equal(disk.n_loaded, 0);
    }
    axp_view_destroy(v);
    free(m);
}

static void an_empty_timeline_has_no_rows(void **state)
{
    (void)state;
    axp_profiler *p =
        axp_profiler_create(&(axp_options){.flags = AXP_NO_TIMELINE});
    axp_start(p, "a");
    struct kept *k = read_profiler(p, 0);
    assert_int_equal(k->n, 0);
    free(k);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_knows_its_beginning_and_its_work),
        cmocka_unit_test(overlapping_names_are_marked_from_the_start),
        cmocka_unit_test(a_scope_that_another_thread_ends_is_a_pair_there),
        cmocka_unit_test(a_cut_timeline_is_opened_and_closed),
        cmocka_unit_test(both_orders_hold_the_same),
        cmocka_unit_test(a_track_is_one_row_in_order_however_it_was_fed),
        cmocka_unit_test(spans_across_the_cut_are_whole),
        cmocka_unit_test(allocations_bring_their_stack_and_scopes),
        cmocka_unit_test(any_words_keep_the_promises),
        cmocka_unit_test(few_chunks_are_loaded_at_once),
        cmocka_unit_test(an_empty_timeline_has_no_rows),
    };
    return TS_RUN(tests);
}
