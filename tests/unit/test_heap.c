/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an allocator hands out, as an adapter tells of it: places, peaks, names,
 * failures; over threads. Blocks are numbers here: nothing is allocated. */
#include "test_support.h"

#include <pthread.h>
#include <stdlib.h>

#include "axprof/axprof_adapter.h"
#include "wire/wire_place.h"

static void *block(unsigned i)
{
    return (void *)((uintptr_t)0x500000000000 + (uintptr_t)i * 64);
}

static axp_heap_stack stack(const uint64_t *frames, uint32_t n)
{
    axp_heap_stack s = {sizeof s, frames, n, 0x9e3779b97f4a7c15u};
    for (uint32_t i = 0; i < n; i++)
        s.hash = (s.hash ^ frames[i]) * 0xd6e8feb86659fd93u;
    return s;
}

static const uint64_t in_a[] = {0x1000, 0x3000}, in_b[] = {0x2000, 0x3000};

static void alloc_in(const uint64_t frames[2], unsigned i, size_t bytes)
{
    axp_heap_stack s = stack(frames, 2);
    axp_heap_alloc(block(i), bytes, &s);
}

/* The place whose innermost frame is that address; the caller's struct. */
static axp_heap_place place_at(const axp_view *v, uint64_t address)
{
    axp_heap_place all[64];
    size_t n = axp_view_heap_places(v, all, 64);
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++) {
        axp_frame f;
        if (all[i].stack && axp_view_stack(v, all[i].stack, &f, 1) &&
            f.offset == address)
            return all[i];
    }
    fail_msg("no place at 0x%llx", (unsigned long long)address);
    return all[0];
}

static int begin(void **state)
{
    (void)state;
    axp_reset(axp_global());
    return 0;
}

/* ---- one thread ------------------------------------------------------------- */

static void peak_and_what_it_is_made_of(void **state)
{
    (void)state;
    alloc_in(in_a, 1, 100);
    alloc_in(in_b, 2, 50); /* 150 */
    axp_heap_free(block(1));
    alloc_in(in_b, 3, 40); /* 90 */
    axp_view *v = ts_snapshot(axp_global());
    axp_heap h = axp_view_heap(v);
    assert_true(h.is_seen);
    assert_int_equal(h.current_bytes, 90);
    assert_int_equal(h.current_blocks, 2);
    assert_int_equal(h.peak_bytes, 150);
    assert_int_equal(h.total_allocated, 190);
    assert_int_equal(h.total_freed, 100);
    assert_int_equal(h.n_allocs, 3);
    assert_int_equal(h.n_frees, 1);
    assert_int_equal(h.n_missed, 0);
    axp_heap_place a = place_at(v, 0x1000), b = place_at(v, 0x2000);
    assert_int_equal(a.at_peak_bytes, 100);
    assert_int_equal(a.current_bytes, 0);
    assert_int_equal(b.at_peak_bytes, 50);
    assert_int_equal(b.current_bytes, 90);
    assert_int_equal(b.n_allocs, 2);
    assert_null(b.name);
    axp_view_destroy(v);
}

/* What was allocated before is not known, and no free of it counts. */
static void unknown_blocks_are_none(void **state)
{
    (void)state;
    assert_int_equal(axp_heap_free(block(99)).place, 0);
    alloc_in(in_a, 1, 8);
    axp_heap_free(block(1));
    axp_heap_free(block(1));
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(axp_view_heap(v).n_frees, 1);
    assert_int_equal(axp_view_heap(v).current_bytes, 0);
    axp_view_destroy(v);
}

/* A free that nobody was told of: its address comes again. */
static void a_missed_free_is_assumed(void **state)
{
    (void)state;
    alloc_in(in_a, 1, 100);
    alloc_in(in_b, 1, 30);
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(axp_view_heap(v).current_bytes, 30);
    assert_int_equal(place_at(v, 0x1000).current_bytes, 0);
    axp_view_destroy(v);
}

static void temporary_is_freed_before_the_next(void **state)
{
    (void)state;
    alloc_in(in_a, 1, 10);
    axp_heap_free(block(1)); /* at once */
    alloc_in(in_a, 1, 10);
    alloc_in(in_a, 2, 10);
    axp_heap_free(block(1)); /* another came between */
    alloc_in(in_a, 3, 10);
    axp_heap_move(block(3)); /* by realloc */
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(axp_view_heap(v).n_temporary, 1);
    assert_int_equal(place_at(v, 0x1000).n_temporary, 1);
    axp_view_destroy(v);
}

/* A realloc that failed leaves all as it was. */
static void a_block_that_is_kept(void **state)
{
    (void)state;
    alloc_in(in_a, 1, 100);
    axp_heap_block was = axp_heap_move(block(1));
    assert_int_equal(was.bytes, 100);
    axp_heap_keep(block(1), was);
    axp_view *v = ts_snapshot(axp_global());
    axp_heap h = axp_view_heap(v);
    assert_int_equal(h.current_bytes, 100);
    assert_int_equal(h.n_frees, 0);
    assert_int_equal(h.peak_bytes, 100);
    axp_view_destroy(v);
    assert_int_equal(axp_heap_free(block(1)).bytes, 100);
}

static void scopes_are_part_of_a_place(void **state)
{
    (void)state;
    uint64_t step = axp_begin(axp_global(), "step");
    alloc_in(in_a, 1, 10);
    uint64_t inner = axp_begin(axp_global(), "forward");
    alloc_in(in_a, 2, 20);
    axp_end(inner);
    alloc_in(in_a, 3, 30);
    axp_end(step);
    axp_view *v = ts_snapshot(axp_global());
    axp_heap_place p[4];
    assert_int_equal(axp_view_heap_places(v, p, 4), 2);
    assert_int_equal(p[0].current_bytes, 40);
    assert_int_equal(p[0].n_scopes, 1);
    assert_string_equal(p[0].scopes[0], "step");
    assert_int_equal(p[1].n_scopes, 2);
    assert_string_equal(p[1].scopes[0], "step");
    assert_string_equal(p[1].scopes[1], "forward");
    axp_view_destroy(v);
}

/* One block with a name, not two; also in the peak that it made. */
static void a_tracked_block_has_its_name(void **state)
{
    (void)state;
    axp_alloc alloc = {.size = sizeof alloc,
                       .name = "weights",
                       .ptr = block(1),
                       .bytes = 100,
                       .kind = AXP_MEM_WEIGHT};
    alloc_in(in_a, 1, 100);
    axp_record_alloc_ex(axp_global(), &alloc);
    alloc_in(in_a, 2, 7);
    axp_track_alloc(axp_global(), "input", block(2), 7);
    axp_heap_free(block(2));
    axp_view *v = ts_snapshot(axp_global());
    axp_heap_place p[4];
    assert_int_equal(axp_view_heap_places(v, p, 4), 3);
    assert_string_equal(p[0].name, "weights");
    assert_int_equal(p[0].kind, AXP_MEM_WEIGHT);
    assert_int_equal(p[0].at_peak_bytes, 100);
    assert_int_equal(p[0].n_allocs, 1);
    assert_string_equal(p[1].name, "input");
    assert_int_equal(p[1].at_peak_bytes, 7);
    assert_int_equal(p[1].n_frees, 1);
    assert_null(p[2].name);
    assert_int_equal(p[2].n_allocs, 0);
    assert_int_equal(p[2].at_peak_bytes, 0);
    assert_int_equal(axp_view_heap(v).peak_bytes, 107);
    assert_int_equal(axp_view_heap(v).n_allocs, 2);
    axp_view_destroy(v);
}

/* Blocks that are named at a new peak, the first of their place in a step: what
 * the name held when steps ended is without them. */
static void a_name_is_followed_over_steps(void **state)
{
    enum { STEPS = 40 };
    (void)state;
    for (unsigned i = 0; i < STEPS; i++) {
        alloc_in(in_a, 100 + i, 1000);
        axp_track_alloc(axp_global(), "history", block(100 + i), 1000);
        alloc_in(in_b, 1, 60000);
        axp_track_alloc(axp_global(), "scratch", block(1), 60000);
        axp_track_free(axp_global(), block(1));
        axp_heap_free(block(1));
        axp_step(axp_global());
    }
    axp_view *v = ts_snapshot(axp_global());
    axp_heap_place p[8];
    size_t n = axp_view_heap_places(v, p, 8), found = 0;
    for (size_t i = 0; i < n; i++) {
        if (!p[i].name) continue;
        double grows = strcmp(p[i].name, "history") ? 0 : 1000;
        double bytes = strcmp(p[i].name, "history") ? 60000 : 1000;
        assert_float_equal(p[i].growth_early, grows, 1e-9);
        assert_float_equal(p[i].growth_late, grows, 1e-9);
        assert_float_equal(p[i].step_allocs, 1, 1e-9);
        assert_float_equal(p[i].step_bytes, bytes, 1e-9);
        found++;
    }
    assert_int_equal(found, 2);
    axp_view_destroy(v);
}

/* What was live when it failed, though more is live later. */
static void the_first_failure_is_remembered(void **state)
{
    (void)state;
    axp_heap_stack s = stack(in_b, 2);
    alloc_in(in_a, 1, 1000);
    axp_heap_failed((size_t)1 << 60, &s); /* nobody has that */
    axp_heap_failed(4096, &s);
    axp_heap_free(block(1));
    alloc_in(in_b, 2, 5000);
    axp_heap_failed(8192, &s);
    axp_view *v = ts_snapshot(axp_global());
    axp_heap h = axp_view_heap(v);
    assert_int_equal(h.n_failed, 3);
    assert_int_equal(h.failed_bytes, 4096);
    assert_int_equal(h.peak_bytes, 5000);
    assert_int_equal(place_at(v, 0x1000).at_peak_bytes, 1000);
    axp_frame f;
    assert_true(axp_view_stack(v, h.failed_stack, &f, 1) > 0);
    assert_int_equal(f.offset, 0x2000);
    axp_view_destroy(v);
}

/* ---- several --------------------------------------------------------------------- */

#define N 2000u
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t live, most, of_a, of_a_at_most;
static size_t bytes_of[8 * N];

/* Calls that do not overlap, so that the peak is known. */
static void do_one(unsigned i, bool is_a, size_t bytes)
{
    pthread_mutex_lock(&mutex);
    if (bytes_of[i]) {
        size_t was = bytes_of[i] >> 1;
        axp_heap_free(block(i));
        live -= was;
        if (bytes_of[i] & 1) of_a -= was;
        bytes_of[i] = 0;
    } else {
        alloc_in(is_a ? in_a : in_b, i, bytes);
        bytes_of[i] = bytes << 1 | is_a;
        live += bytes;
        if (is_a) of_a += bytes;
    }
    if (live > most) {
        most = live;
        of_a_at_most = of_a;
    }
    pthread_mutex_unlock(&mutex);
}

static void *do_many(void *seed)
{
    uint64_t x = (uintptr_t)seed;
    for (unsigned i = 0; i < 20000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        /* also what others allocated */
        do_one((unsigned)(x >> 33) % N, x >> 20 & 1, 1 + (x >> 40) % 5000);
    }
    return NULL;
}

static void exact_over_threads(void **state)
{
    (void)state;
    pthread_t t[8];
    for (uintptr_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&t[i], NULL, do_many, (void *)(i + 1)),
                         0);
    for (unsigned i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    axp_view *v = ts_snapshot(axp_global());
    axp_heap h = axp_view_heap(v);
    assert_int_equal(h.current_bytes, live);
    assert_int_equal(h.peak_bytes, most);
    assert_int_equal(place_at(v, 0x1000).at_peak_bytes, of_a_at_most);
    assert_int_equal(place_at(v, 0x1000).current_bytes, of_a);
    assert_int_equal(h.n_missed, 0);
    axp_view_destroy(v);
}

/* ---- texts ---------------------------------------------------------------------------- */

/* Blocks of 16 bytes without anything between them, every other one a thread's:
 * allocators other than glibc's do that. */
enum { NEIGHBOURS = 64, ROUNDS = 20000 };
static uint64_t n_lost[2];

static void *be_a_neighbour(void *arg)
{
    uintptr_t own = (uintptr_t)arg;
    axp_heap_stack s = stack(own ? in_a : in_b, 2);
    char *first = (char *)block(1000) + own * 16;
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = 0; k < NEIGHBOURS; k++)
            axp_heap_alloc(first + k * 32, 1 + k % 16, &s);
        for (unsigned k = 0; k < NEIGHBOURS; k++)
            n_lost[own] += axp_heap_free(first + k * 32).bytes != 1 + k % 16;
    }
    return NULL;
}

static void neighbours_of_two_threads(void **state)
{
    (void)state;
    pthread_t t[2];
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&t[i], NULL, be_a_neighbour, (void *)i),
                         0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    axp_view *v = axp_snapshot(axp_global());
    axp_heap h = axp_view_heap(v);
    assert_int_equal(n_lost[0] + n_lost[1], 0);
    assert_int_equal(h.n_allocs, 2 * NEIGHBOURS * ROUNDS);
    assert_int_equal(h.n_frees, h.n_allocs);
    assert_int_equal(h.current_bytes, 0);
    axp_view_destroy(v);
}

static void texts_of_places(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",     ":",     "1",    "1:2",      "1:2:,",       "1:2:3,",
        "x:0:", "1:0:g", "1::3", "1:0:3,,4", "100000000:0:"};
    struct axp__heap_place_parts p = {.stack = UINT32_MAX, .label = 7}, q;
    char text[AXP__PLACE_TEXT];
    for (p.n_scopes = 0; p.n_scopes < AXP__PLACE_SCOPES; p.n_scopes++)
        p.scope[p.n_scopes] = UINT32_MAX - p.n_scopes;
    axp__heap_place_put(text, &p);
    assert_true(strlen(text) < AXP__PLACE_TEXT);
    assert_true(axp__heap_place_get(text, &q));
    assert_int_equal(q.stack, p.stack);
    assert_int_equal(q.label, 7);
    assert_int_equal(q.n_scopes, AXP__PLACE_SCOPES);
    assert_memory_equal(q.scope, p.scope, sizeof p.scope);
    p.n_scopes = 0;
    axp__heap_place_put(text, &p);
    assert_string_equal(text, "ffffffff:7:");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(axp__heap_place_get(bad[i], &q));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(peak_and_what_it_is_made_of, begin),
        cmocka_unit_test_setup(unknown_blocks_are_none, begin),
        cmocka_unit_test_setup(a_missed_free_is_assumed, begin),
        cmocka_unit_test_setup(temporary_is_freed_before_the_next, begin),
        cmocka_unit_test_setup(a_block_that_is_kept, begin),
        cmocka_unit_test_setup(scopes_are_part_of_a_place, begin),
        cmocka_unit_test_setup(a_tracked_block_has_its_name, begin),
        cmocka_unit_test_setup(a_name_is_followed_over_steps, begin),
        cmocka_unit_test_setup(the_first_failure_is_remembered, begin),
        cmocka_unit_test_setup(exact_over_threads, begin),
        cmocka_unit_test_setup(neighbours_of_two_threads, begin),
        cmocka_unit_test(texts_of_places),
    };
    return TS_RUN(tests);
}
