/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tracks of devices: operations, memory and processes of their own. */
#include <sys/wait.h>

#include "device_support.h"

#include "model/model_stream.h"
#include "record/record_process.h"

/* ---- tracks --------------------------------------------------------------------- */

static void a_track_has_a_device_and_a_process(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *host = axp_track_create(p, "host's");
    axp_track *cuda = track_on(p, "stream 7", "cuda:0");
    axp_track *other = axp_track_create_ex(
        p, &(axp_track_options){
               .name = "stream 8", .device = "cuda:1", .process_id = 4711});
    axp_track_span(host, "a", 1, 2, NULL);
    axp_track_span(cuda, "b", 3, 4, NULL);
    axp_track_span(other, "c", 5, 6, NULL);
    axp_view *v = ts_snapshot(p);
    axp_track_info t[4] = {{0}};
    assert_int_equal(axp_view_tracks(v, t, 4), 3);
    for (int i = 0; i < 3; i++) {
        bool is_host = !strcmp(t[i].name, "host's");
        bool is_other = !strcmp(t[i].name, "stream 8");
        assert_int_equal(t[i].process_id, is_other ? 4711 : getpid());
        if (is_host)
            assert_null(t[i].device);
        else
            assert_string_equal(t[i].device, is_other ? "cuda:1" : "cuda:0");
    }
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void wrong_use_of_tracks_is_counted(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = axp_track_create_ex(p, NULL);
    assert_non_null(t);
    axp_track_span_ex(t, NULL);
    axp_track_alloc_at_ex(t, NULL);
    axp_track_span_ex(NULL, &(axp_span){.name = "x"});
    axp_track_alloc_at_ex(NULL, &(axp_alloc_at){.name = "x"});
    axp_track *none = track_on(p, "no device", "");
    axp_track_span_ex(
        none, &(axp_span){
                  .name = "x", .begin = 9, .end = 5, .category = (axp_cat)77});
    axp_track *gpu = track_on(p, NULL, "gpu");
    axp_track_span(gpu, NULL, 1, 2, NULL);
    axp_track_alloc_at_ex(
        gpu, &(axp_alloc_at){
                 .name = "m", .address = 1, .bytes = 8, .kind = (axp_mem)99});
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_warnings(v, "bad_names"), 4);
    assert_int_equal(ts_view_warnings(v, "bad_spans"), 1);
    assert_int_equal(ts_view_warnings(v, "bad_enums"), 2);
    assert_int_equal(op_on(v, "x", NULL).calls, 1);
    assert_int_equal(op_on(v, "(unnamed)", "gpu").calls, 1);
    assert_int_equal(op_on(v, "(unnamed)", NULL).calls, 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* What a caller of another version fills is taken as far as both know it. */
static void structs_may_be_shorter(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = track_on(p, "stream", "dev");
    axp_span s = {.size = offsetof(axp_span, category),
                  .name = "short",
                  .begin = 1,
                  .end = 11,
                  .category = AXP_CAT_COPY};
    axp_track_span_ex(t, &s);
    s.size = sizeof s;
    s.name = "whole";
    axp_track_span_ex(t, &s);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(op_on(v, "short", "dev").category, AXP_CAT_NONE);
    assert_int_equal(op_on(v, "whole", "dev").category, AXP_CAT_COPY);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- operations ------------------------------------------------------------------ */

static void one_name_on_host_and_devices_is_several_operations(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *a = track_on(p, "stream", "cuda:0");
    axp_track *b = track_on(p, "stream", "cuda:1");
    axp_start(p, "matmul");
    axp_stop(p, "matmul");
    axp_track_span(a, "matmul", 100, 300, NULL);
    axp_track_span(a, "matmul", 300, 400, NULL);
    axp_track_span(b, "matmul", 100, 150, NULL);
    axp_track_span(b, "copy", 200, 207, NULL);
    axp_view *v = ts_snapshot(p);
    assert_int_equal(axp_view_ops(v, AXP_BY_SELF, NULL, 0), 4);
    assert_int_equal(op_on(v, "matmul", NULL).calls, 1);
    assert_int_equal(op_on(v, "matmul", "cuda:0").total_ns, 300);
    assert_int_equal(op_on(v, "matmul", "cuda:1").total_ns, 50);
    assert_null(ts_view_op(v, "matmul").device);
    assert_string_equal(ts_view_op(v, "copy").device, "cuda:1");
    assert_int_equal(axp_call_count(p, "matmul"), 1);
    assert_int_equal(axp_call_count(p, "copy"), 0);
    axp_tree_node n[8];
    size_t n_nodes = axp_view_tree(v, n, 8), on_devices = 0;
    assert_int_equal(n_nodes, 5);
    for (size_t i = 1; i < n_nodes; i++)
        on_devices += n[i].device != NULL;
    assert_int_equal(on_devices, 3);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

static void a_span_has_work_dims_and_category(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = track_on(p, "stream", "cuda:0");
    axp_work work = {.flops = 2e9, .dtype = AXP_BF16, .dims = {8, 16, 32}};
    axp_track_span_ex(t, &(axp_span){.name = "gemm",
                                     .begin = 10,
                                     .end = 1010,
                                     .work = &work,
                                     .category = AXP_CAT_FORWARD,
                                     .flow = 99,
                                     .step = 4});
    axp_track_span(axp_track_create(p, "plain"), "dims", 20, 30, &work);
    axp_view *v = ts_snapshot(p);
    axp_op op = op_on(v, "gemm", "cuda:0");
    assert_int_equal(op.category, AXP_CAT_FORWARD);
    assert_int_equal(op.dtype, AXP_BF16);
    ts_assert_between(1.999e6, axp_op_gflops(&op), 2.001e6);
    struct axp__stream *s;
    const struct axp__record *r;
    size_t n = 0;
    assert_int_equal(axp__stream_open(v, 0, &s), AXP_OK);
    while ((r = axp__stream_next(s))) {
        if (r->kind != AXP__R_SPAN) continue;
        bool is_gemm = r->time_ns == 10;
        n++;
        assert_int_equal(r->work->n_dims, 3);
        assert_int_equal(r->work->dims[2], 32);
        assert_int_equal(r->id, is_gemm ? 99 : 0);
        assert_int_equal(r->bytes, is_gemm ? 4 : 0);
        assert_int_equal(r->category, is_gemm ? AXP_CAT_FORWARD : 0);
    }
    assert_int_equal(n, 2);
    axp__stream_close(s);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* ---- memory ---------------------------------------------------------------------- */

static void devices_are_not_in_the_memory_of_the_host(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *a = track_on(p, "stream 1", "cuda:0");
    axp_track *b = track_on(p, "stream 2", "cuda:0");
    axp_track *other = track_on(p, "stream 1", "cuda:1");
    axp_track *host = axp_track_create(p, "host's");
    axp_record_alloc(p, "weights", 100);
    axp_track_alloc_at_ex(a, &(axp_alloc_at){.name = "weights",
                                             .address = 0x1000,
                                             .bytes = 5000,
                                             .at = 10000,
                                             .kind = AXP_MEM_WEIGHT});
    axp_track_alloc_at(b, "cache", 0x2000, 700, 20000);
    axp_track_free_at(b, 0x1000, 30000); /* another track of the device */
    axp_track_alloc_at(a, "cache", 0x1000, 60, 40000);
    axp_track_alloc_at(other, "cache", 0x1000, 9, 50000);
    axp_track_alloc_at(host, "pinned", 0x1000, 11, 60000);
    assert_int_equal(axp_current_memory(p), 111);
    assert_int_equal(axp_peak_memory(p), 111);
    axp_view *v = ts_snapshot(p);
    axp_memory m = axp_view_memory(v);
    assert_int_equal(m.current_bytes, 111);
    assert_int_equal(m.peak_bytes, 111);
    assert_int_equal(m.total_allocated, 111);
    assert_int_equal(m.n_allocs, 2);
    m = memory_of(v, "cuda:0");
    assert_int_equal(m.current_bytes, 760);
    assert_int_equal(m.peak_bytes, 5700);
    ts_assert_between(19900, (double)m.peak_at, 20100); /* of ticks */
    assert_int_equal(m.total_allocated, 5760);
    assert_int_equal(m.total_freed, 5000);
    assert_int_equal(m.n_allocs, 3);
    assert_int_equal(m.n_frees, 1);
    assert_int_equal(memory_of(v, "cuda:1").peak_bytes, 9);
    assert_int_equal(axp_view_memory_domains(v, NULL, 0), 3);
    axp_memory_name name = name_on(v, "weights", "cuda:0");
    assert_int_equal(name.at_peak_bytes, 5000);
    assert_int_equal(name.current_bytes, 0);
    assert_int_equal(name.kind, AXP_MEM_WEIGHT);
    assert_int_equal(name_on(v, "cache", "cuda:0").at_peak_bytes, 700);
    assert_int_equal(name_on(v, "weights", NULL).at_peak_bytes, 100);
    assert_int_equal(ts_view_warnings(v, "alloc_twice"), 0);
    assert_int_equal(ts_view_warnings(v, "free_unknown_address"), 0);
    assert_int_equal(axp_view_memory_domains(NULL, NULL, 0), 0);
    axp_tree_node root;
    axp_view_tree(v, &root, 1);
    assert_int_equal(root.allocated_bytes, 111);
    axp_view_destroy(v);
    axp_reset(p);
    v = ts_snapshot(p);
    assert_int_equal(axp_view_memory_domains(v, NULL, 0), 1);
    axp_view_destroy(v);
    axp_track_alloc_at(a, "cache", 0x1000, 3, 1);
    v = ts_snapshot(p);
    assert_int_equal(memory_of(v, "cuda:0").peak_bytes, 3);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

struct feeder {
    axp_track *t;
    pthread_barrier_t *all;
    uint64_t first;
};

#define FEEDERS 4
#define BLOCKS 500

/* All hold what they allocated at one moment, which is the peak. */
static void *feed(void *arg)
{
    const struct feeder *f = arg;
    for (uint64_t i = 0; i < BLOCKS; i++)
        axp_track_alloc_at(f->t, "block", f->first + i, 64, i);
    pthread_barrier_wait(f->all);
    for (uint64_t i = 0; i < BLOCKS; i++)
        axp_track_free_at(f->t, f->first + i, BLOCKS + i);
    return NULL;
}

static void the_peak_of_a_device_is_exact_over_threads(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = track_on(p, "stream", "cuda:0");
    pthread_barrier_t all;
    struct feeder f[FEEDERS];
    pthread_t threads[FEEDERS];
    pthread_barrier_init(&all, NULL, FEEDERS);
    for (uint64_t i = 0; i < FEEDERS; i++) {
        f[i] = (struct feeder){t, &all, (i + 1) << 32};
        threads[i] = ts_spawn(feed, &f[i]);
    }
    for (int i = 0; i < FEEDERS; i++)
        ts_join(threads[i]);
    axp_view *v = ts_snapshot(p);
    axp_memory m = memory_of(v, "cuda:0");
    assert_int_equal(m.peak_bytes, FEEDERS * BLOCKS * 64);
    assert_int_equal(m.current_bytes, 0);
    assert_int_equal(name_on(v, "block", "cuda:0").at_peak_bytes,
                     FEEDERS * BLOCKS * 64);
    assert_int_equal(axp_view_memory(v).n_allocs, 0);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
    pthread_barrier_destroy(&all);
}

/* The child of a fork has no memory of its parent's, and the same devices. */
static void a_child_has_devices_of_its_own(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_track *t = track_on(p, "stream", "cuda:0");
    axp_track_alloc_at(t, "m", 1, 5, 1);
    pid_t pid = fork();
    if (!pid) {
        axp_track_alloc_at(t, "m", 1, 30, 1);
        axp_view *v = axp_snapshot(p);
        axp_memory m = memory_of(v, "cuda:0");
        axp_view_destroy(v);
        _exit(m.current_bytes != 30 || m.peak_bytes != 30);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    axp_profiler_destroy(p);
}

/* ---- limits ---------------------------------------------------------------------- */

/* The last test: numbers are the process's. */
static void past_the_last_number_devices_share_one(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    axp_op ops[300];
    uint32_t n = axp__process()->n_devices;
    for (uint32_t i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof name, "many:%u", i);
        axp_track *t = track_on(p, "s", name);
        axp_track_span(t, "op", 0, 10, NULL);
        axp_track_alloc_at(t, "m", i, 1, 5);
    }
    uint32_t n_own = 254 - n, n_rest = 300 - n_own;
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_warnings(v, "many_devices"), n_rest);
    assert_int_equal(memory_of(v, "(other devices)").current_bytes, n_rest);
    assert_int_equal(axp_view_memory(v).n_allocs, 0);
    assert_int_equal(axp_view_memory_domains(v, NULL, 0), n_own + 2);
    assert_int_equal(axp_view_ops(v, AXP_BY_CALLS, ops, 300), n_own + 1);
    assert_int_equal(ops[0].calls, n_rest);
    assert_string_equal(ops[0].device, "(other devices)");
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_track_has_a_device_and_a_process),
        cmocka_unit_test(wrong_use_of_tracks_is_counted),
        cmocka_unit_test(structs_may_be_shorter),
        cmocka_unit_test(one_name_on_host_and_devices_is_several_operations),
        cmocka_unit_test(a_span_has_work_dims_and_category),
        cmocka_unit_test(devices_are_not_in_the_memory_of_the_host),
        cmocka_unit_test(the_peak_of_a_device_is_exact_over_threads),
        cmocka_unit_test(a_child_has_devices_of_its_own),
        cmocka_unit_test(past_the_last_number_devices_share_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
