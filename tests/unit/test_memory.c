/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory by name and by address: what is live, peaks, traffic, what is not
 * freed; over threads. */
#include "test_support.h"

#include <unistd.h>
#include <sys/syscall.h>

static void current_and_peak(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_record_alloc(p, "weights", 400);
    axp_record_alloc(p, "activations", 200);
    axp_record_free(p, "activations", 200);
    axp_record_alloc(p, "weights", 50);
    assert_int_equal(axp_current_memory(p), 450);
    assert_int_equal(axp_peak_memory(p), 600);
    axp_memory m = ts_memory(p);
    assert_int_equal(m.current_bytes, 450);
    assert_int_equal(m.peak_bytes, 600);
    assert_int_equal(m.total_allocated, 650);
    assert_int_equal(m.total_freed, 200);
    assert_int_equal(m.n_allocs, 3);
    assert_int_equal(m.n_frees, 1);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

/* a: 100, b: 50 (peak 150); a: 0; b: 140; c: 5 (145, no peak). */
static void each_name_has_its_peak_and_its_share_of_the_peak(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_record_alloc(p, "a", 100);
    axp_record_alloc(p, "b", 50);
    axp_record_free(p, "a", 100);
    axp_record_alloc(p, "b", 90);
    axp_record_alloc(p, "c", 5);
    axp_view *v = ts_snapshot(p);
    axp_memory_name n[4];
    assert_int_equal(axp_view_memory_names(v, n, 4), 3);
    assert_string_equal(n[0].name, "a"); /* by its share of the peak */
    assert_int_equal(n[0].at_peak_bytes, 100);
    assert_int_equal(n[0].current_bytes, 0);
    assert_int_equal(n[0].peak_bytes, 100);
    assert_string_equal(n[1].name, "b");
    assert_int_equal(n[1].at_peak_bytes, 50);
    assert_int_equal(n[1].peak_bytes, 140);
    assert_int_equal(n[1].n_allocs, 2);
    assert_int_equal(n[2].at_peak_bytes, 0);
    assert_int_equal(n[2].peak_bytes, 5);
    assert_int_equal(axp_view_memory(v).peak_bytes, 150);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* Random events against a model: what each name held at the last new peak. */
static void shares_of_the_peak_against_a_model(void **state)
{
    (void)state;
    enum { N = 20 };
    axp_profiler *p = ts_profiler();
    uint64_t held[N] = {0}, at_peak[N] = {0}, own[N] = {0}, all = 0, peak = 0;
    uint64_t rng = 7;
    char name[N][8];
    for (int i = 0; i < N; i++)
        snprintf(name[i], sizeof name[i], "m%d", i);
    for (int r = 0; r < 20000; r++) {
        uint64_t i = ts_random(&rng) % N, bytes = ts_random(&rng) % 1000 + 1;
        if (ts_random(&rng) % 2) {
            axp_record_alloc(p, name[i], bytes);
            held[i] += bytes;
            all += bytes;
        } else if (held[i] >= bytes) {
            axp_record_free(p, name[i], bytes);
            held[i] -= bytes;
            all -= bytes;
        }
        if (held[i] > own[i]) own[i] = held[i];
        if (all <= peak) continue;
        peak = all;
        memcpy(at_peak, held, sizeof held);
    }
    axp_view *v = ts_snapshot(p);
    uint64_t sum = 0;
    for (int i = 0; i < N; i++) {
        axp_memory_name n = ts_memory_name(v, name[i]);
        assert_int_equal(n.current_bytes, held[i]);
        assert_int_equal(n.peak_bytes, own[i]);
        assert_int_equal(n.at_peak_bytes, at_peak[i]);
        sum += n.at_peak_bytes;
    }
    assert_int_equal(axp_view_memory(v).peak_bytes, peak);
    assert_int_equal(sum, peak);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void freeing_more_than_there_is_stops_at_zero(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_record_alloc(p, "other", 1000);
    axp_record_alloc(p, "m", 10);
    axp_record_free(p, "m", 25);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_warnings(v, "free_too_much"), 1);
    assert_int_equal(ts_memory_name(v, "m").current_bytes, 0);
    assert_int_equal(ts_memory_name(v, "other").current_bytes, 1000);
    axp_view_destroy(v);
    axp_record_free(p, "never", 500); /* lowers the total, as said */
    assert_true(axp_current_memory(p) < 1000);
    axp_record_free(p, "never", 5000); /* never below 0 */
    assert_int_equal(axp_current_memory(p), 0);
    axp_profiler_destroy(p);
}

static void a_second_alloc_at_an_address_assumes_the_free(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    int block;
    axp_track_alloc(p, "first", &block, 100);
    axp_track_alloc(p, "second", &block, 40);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_warnings(v, "alloc_twice"), 1);
    assert_int_equal(ts_memory_name(v, "first").current_bytes, 0);
    assert_int_equal(ts_memory_name(v, "second").current_bytes, 40);
    assert_int_equal(axp_view_memory(v).peak_bytes, 100);
    axp_view_destroy(v);
    axp_track_free(p, &block);
    assert_int_equal(axp_current_memory(p), 0);
    axp_track_free(p, &block);
    assert_int_equal(ts_warnings(p, "free_unknown_address"), 1);
    axp_profiler_destroy(p);
}

struct parcel {
    axp_profiler *p;
    char block[100];
    pthread_barrier_t barrier;
};

static void *free_blocks(void *arg)
{
    struct parcel *s = arg;
    for (int i = 0; i < 100; i++)
        axp_track_free(s->p, &s->block[i]);
    return NULL;
}

static void blocks_freed_on_another_thread(void **state)
{
    (void)state;
    struct parcel s = {.p = ts_profiler()};
    for (int i = 0; i < 100; i++)
        axp_track_alloc(s.p, "parcel", &s.block[i], 10);
    ts_run(free_blocks, &s);
    axp_view *v = ts_snapshot(s.p);
    axp_memory_name n = ts_memory_name(v, "parcel");
    assert_int_equal(n.current_bytes, 0);
    assert_int_equal(n.peak_bytes, 1000);
    assert_int_equal(n.n_allocs, 100);
    assert_int_equal(n.n_frees, 100);
    assert_int_equal(axp_view_leaks(v, NULL, 0), 0);
    axp_view_destroy(v);
    assert_int_equal(ts_all_warnings(s.p), 0);
    axp_profiler_destroy(s.p);
}

static void *hold(void *arg)
{
    struct parcel *s = arg;
    for (int i = 0; i < 1000; i++) {
        axp_record_alloc(s->p, "held", 3);
        axp_record_alloc(s->p, "held too", 2);
    }
    pthread_barrier_wait(&s->barrier);
    pthread_barrier_wait(&s->barrier);
    for (int i = 0; i < 1000; i++) {
        axp_record_free(s->p, "held", 3);
        axp_record_free(s->p, "held too", 2);
    }
    return NULL;
}

static void the_peak_of_two_threads_is_exact(void **state)
{
    (void)state;
    struct parcel s = {.p = ts_profiler()};
    pthread_barrier_init(&s.barrier, NULL, 3);
    pthread_t a = ts_spawn(hold, &s), b = ts_spawn(hold, &s);
    pthread_barrier_wait(&s.barrier);
    assert_int_equal(axp_current_memory(s.p), 10000);
    axp_record_alloc(s.p, "top", 7); /* the peak, and all know it */
    axp_record_free(s.p, "top", 7);
    pthread_barrier_wait(&s.barrier);
    ts_join(a);
    ts_join(b);
    axp_view *v = ts_snapshot(s.p);
    axp_memory m = axp_view_memory(v);
    assert_int_equal(m.peak_bytes, 10007);
    assert_int_equal(m.current_bytes, 0);
    assert_int_equal(ts_memory_name(v, "held").at_peak_bytes, 6000);
    assert_int_equal(ts_memory_name(v, "held too").at_peak_bytes, 4000);
    assert_int_equal(ts_memory_name(v, "top").at_peak_bytes, 7);
    assert_int_equal(m.n_allocs, 4001);
    assert_int_equal(m.n_frees, 4001);
    axp_view_destroy(v);
    pthread_barrier_destroy(&s.barrier);
    axp_profiler_destroy(s.p);
}

static void what_is_not_freed_largest_first(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char block[3];
    axp_record_alloc(p, "small", 10);
    axp_record_alloc(p, "freed", 500);
    for (int i = 0; i < 3; i++)
        axp_track_alloc(p, "large", &block[i], 100);
    axp_record_free(p, "freed", 500);
    axp_view *v = ts_snapshot(p);
    axp_leak leak[4];
    assert_int_equal(axp_view_leaks(v, leak, 4), 2);
    assert_string_equal(leak[0].name, "large");
    assert_int_equal(leak[0].bytes, 300);
    assert_int_equal(leak[0].n_blocks, 3);
    assert_int_equal(leak[0].thread_id, syscall(SYS_gettid));
    assert_false(leak[0].is_retained); /* there are no steps */
    assert_string_equal(leak[1].name, "small");
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* From before the first step's end and not grown: held on purpose. */
static void retained_is_what_was_there_at_the_first_step(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_record_alloc(p, "weights", 100);
    axp_record_alloc(p, "growing", 10);
    for (int i = 0; i < 5; i++) {
        axp_record_alloc(p, "activations", 50);
        axp_record_free(p, "activations", 50);
        axp_step(p);
        axp_record_alloc(p, "growing", 10);
        axp_record_alloc(p, "late", 1);
    }
    axp_view *v = ts_snapshot(p);
    assert_int_equal(axp_view_leaks(v, NULL, 0), 3);
    assert_true(ts_leak(v, "weights").is_retained);
    assert_false(ts_leak(v, "growing").is_retained);
    assert_int_equal(ts_leak(v, "growing").bytes, 60);
    assert_false(ts_leak(v, "late").is_retained);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void the_full_form_of_alloc(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    int block;
    void *stack[2] = {&block, p};
    axp_start(p, "layer");
    axp_record_alloc_ex(p, &(axp_alloc){.bytes = 64,
                                        .kind = AXP_MEM_ACTIVATION,
                                        .stack = stack,
                                        .n_frames = 2});
    axp_record_alloc_ex(
        p, &(axp_alloc){.ptr = &block, .bytes = 6, .kind = AXP_MEM_TEMPORARY});
    axp_stop(p, "layer");
    axp_record_alloc_ex(
        p, &(axp_alloc){.name = "w", .bytes = 1, .kind = AXP_MEM_WEIGHT});
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_memory_name(v, "layer").current_bytes, 70);
    assert_int_equal(ts_memory_name(v, "layer").kind, AXP_MEM_TEMPORARY);
    assert_int_equal(ts_memory_name(v, "w").kind, AXP_MEM_WEIGHT);
    assert_int_equal(ts_node(v, "layer").allocated_bytes, 70);
    axp_view_destroy(v);
    axp_track_free(p, &block);
    assert_int_equal(axp_current_memory(p), 65);
    axp_profiler_destroy(p);
}

static void sizes_of_zero_are_blocks_too(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    int block;
    axp_track_alloc(p, "empty", &block, 0);
    axp_track_free(p, &block);
    axp_record_alloc(p, "empty", 0);
    axp_record_free(p, "empty", 0);
    assert_int_equal(ts_memory(p).n_allocs, 2);
    assert_int_equal(ts_memory(p).n_frees, 2);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

static void many_live_blocks_freed_in_random_order(void **state)
{
    (void)state;
    enum { N = 200000 };
    axp_profiler *p = ts_profiler();
    uint32_t *order = malloc(N * sizeof *order);
    uint64_t rng = 99, all = 0;
    for (uint32_t i = 0; i < N; i++) {
        order[i] = i;
        axp_track_alloc(p, "block", (void *)(uintptr_t)(0x10000 + 64ull * i),
                        i % 1000);
        all += i % 1000;
    }
    assert_int_equal(axp_current_memory(p), all);
    for (uint32_t i = N - 1; i > 0; i--) {
        uint32_t k = (uint32_t)(ts_random(&rng) % (i + 1)), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    for (uint32_t i = 0; i < N; i++)
        axp_track_free(p, (void *)(uintptr_t)(0x10000 + 64ull * order[i]));
    axp_memory m = ts_memory(p);
    assert_int_equal(m.current_bytes, 0);
    assert_int_equal(m.peak_bytes, all);
    assert_int_equal(m.n_frees, N);
    assert_int_equal(m.total_freed, all);
    assert_int_equal(ts_all_warnings(p), 0);
    free(order);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(current_and_peak),
        cmocka_unit_test(each_name_has_its_peak_and_its_share_of_the_peak),
        cmocka_unit_test(shares_of_the_peak_against_a_model),
        cmocka_unit_test(freeing_more_than_there_is_stops_at_zero),
        cmocka_unit_test(a_second_alloc_at_an_address_assumes_the_free),
        cmocka_unit_test(blocks_freed_on_another_thread),
        cmocka_unit_test(the_peak_of_two_threads_is_exact),
        cmocka_unit_test(what_is_not_freed_largest_first),
        cmocka_unit_test(retained_is_what_was_there_at_the_first_step),
        cmocka_unit_test(the_full_form_of_alloc),
        cmocka_unit_test(sizes_of_zero_are_blocks_too),
        cmocka_unit_test(many_live_blocks_freed_in_random_order),
    };
    return TS_RUN(tests);
}
