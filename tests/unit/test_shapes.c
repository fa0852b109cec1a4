/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations by shape: calls, work and time of each shape are those that the test
 * counts itself, live, from a file, after a kill, joined, and on several threads
 * that ended. */
#include "test_support.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "record/record_shape.h"
#include "wire/wire_shape.h"

static axp_op op_of(const axp_view *v, const char *name)
{
    axp_op op;
    assert_int_equal(axp_view_op(v, name, &op), AXP_OK);
    return op;
}

/* The shape with these dims; calls 0: there is none. */
static axp_shape find(const axp_view *v, const char *name, uint32_t a,
                      uint32_t b, uint32_t c)
{
    axp_op op = op_of(v, name);
    axp_shape all[AXP_SHAPES + 1], none = {.calls = 0};
    size_t n = axp_view_shapes(v, &op, all, AXP_SHAPES + 1);
    assert_true(n <= AXP_SHAPES + 1);
    for (size_t i = 0; i < n; i++)
        if (all[i].dims[0] == a && all[i].dims[1] == b && all[i].dims[2] == c)
            return all[i];
    return none;
}

static void multiply(uint32_t m, uint32_t n, uint32_t k)
{
    AXP_SCOPE_WORK_OF("multiply", axp_work_gemm(m, n, k, AXP_F32));
    if (m > 100) multiply(m / 2, n, k); /* a product in a product */
}

/* One shape whose calls do not all do the same. */
static void gather(double flops)
{
    axp_work work = {
        .flops = flops, .bytes = 3 * flops, .dtype = AXP_F16, .dims = {11, 12}};
    AXP_SCOPE_WORK_OF("gather", work);
}

/* 300 of 8 x 8 x 8, 200 of 16 x 8 x 8, 100 of 8 x 16 x 8; 7 of 200 x 2 x 2, and
 * in each of them one of 100 x 2 x 2; one without a shape. 100 of 11 x 12, of
 * which 60 do what the first one did. */
static void work(void)
{
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 3; k++)
            multiply(8, 8, 8);
        multiply(16, 8, 8);
        multiply(8, 16, 8);
        multiply(16, 8, 8);
        if (i % 15 == 0) multiply(200, 2, 2);
        gather(i % 5 < 3 ? 1000 : i);
    }
    AXP_SCOPE("multiply");
}

static void check_one(const axp_view *v, uint32_t m, uint32_t n, uint32_t k,
                      uint64_t calls)
{
    axp_shape s = find(v, "multiply", m, n, k);
    double flops = 2.0 * m * n * k, bytes = 4.0 * (m * k + k * n + m * n);
    assert_int_equal(s.calls, calls);
    assert_int_equal(s.n_flops_calls, calls);
    assert_int_equal(s.n_dims, 3);
    assert_int_equal(s.n_shapes, 1);
    assert_int_equal(s.dtype, AXP_F32);
    assert_true(s.flops == flops * (double)calls);
    assert_true(s.bytes == bytes * (double)calls);
    assert_true(s.total_ns && s.flops_ns == s.total_ns);
    assert_true(fabs(s.gflops - s.flops / (double)s.total_ns) < 1e-9);
}

/* So many times what work does. */
static void check_work(const axp_view *v, uint64_t times)
{
    axp_op op = op_of(v, "multiply");
    axp_shape all[8];
    axp_ns sum = 0;
    assert_int_equal(op.calls, times * (300 + 200 + 100 + 7 + 7 + 1));
    assert_int_equal(axp_view_shapes(v, &op, all, 8), 5);
    check_one(v, 8, 8, 8, times * 300);
    check_one(v, 16, 8, 8, times * 200);
    check_one(v, 8, 16, 8, times * 100);
    check_one(v, 200, 2, 2, times * 7);
    check_one(v, 100, 2, 2, times * 7);
    for (size_t i = 0; i < 5; i++) {
        assert_true(!i || all[i].total_ns <= all[i - 1].total_ns);
        sum += all[i].total_ns;
    }
    axp_shape s = find(v, "gather", 11, 12, 0);
    assert_int_equal(s.calls, times * 100);
    assert_int_equal(s.n_shapes, 1);
    assert_int_equal(s.dtype, AXP_F16);
    double others = 0;
    for (int i = 0; i < 100; i++)
        others += i % 5 < 3 ? 0 : i;
    assert_true(s.flops == (double)times * (60 * 1000 + others));
    assert_true(s.bytes == 3 * s.flops);
    op = op_of(v, "gather");
    assert_int_equal(axp_view_shapes(v, &op, all, 8), 1);
    op = op_of(v, "multiply");
    /* the inner products are in the time of the outer ones, once; the rest, if
     * any, is the call that has no shape */
    axp_ns inner = find(v, "multiply", 100, 2, 2).total_ns;
    assert_true(op.total_ns + inner >= sum);
    assert_int_equal(axp_call_count(axp_global(), "multiply") % op.calls, 0);
}

static void live(void **state)
{
    (void)state;
    axp_reset(axp_global());
    work();
    axp_view *v = axp_snapshot(axp_global());
    check_work(v, 1);
    assert_int_equal(axp_call_count(axp_global(), "multiply"),
                     op_of(v, "multiply").calls);
    axp_view_destroy(v);
}

/* The call tree has the operation once, whatever its shapes. */
static void tree_has_no_shapes(void **state)
{
    (void)state;
    axp_reset(axp_global());
    work();
    axp_view *v = axp_snapshot(axp_global());
    axp_tree_node nodes[16];
    size_t n = axp_view_tree(v, nodes, 16);
    assert_int_equal(n, 4); /* root, multiply, multiply in it, gather */
    assert_string_equal(nodes[1].name, "multiply");
    assert_string_equal(nodes[2].name, "multiply");
    assert_int_equal(nodes[1].calls, 300 + 200 + 100 + 7 + 1);
    assert_int_equal(nodes[2].calls, 7);
    axp_view_destroy(v);
}

static void *work_main(void *unused)
{
    work();
    return unused;
}

/* More threads than lanes of ended ones are kept: some are merged. */
static void threads_that_ended(void **state)
{
    (void)state;
    enum { N = 80 };
    axp_reset(axp_global());
    for (int i = 0; i < N; i++) {
        pthread_t t;
        assert_int_equal(pthread_create(&t, NULL, work_main, NULL), 0);
        pthread_join(t, NULL);
    }
    axp_view *v = axp_snapshot(axp_global());
    check_work(v, N);
    axp_view_destroy(v);
}

static int count_begin(const axp_event_info *e, void *ctx)
{
    *(uint64_t *)ctx +=
        e->type == AXP_EVENT_START && !strcmp(e->name, "multiply");
    return 0;
}

/* By name, and told after the beginning; each its own shape. */
static void other_ways(void **state)
{
    (void)state;
    axp_profiler *p = axp_profiler_create(NULL);
    for (int i = 0; i < 3; i++) {
        axp_start_work(p, "named", axp_work_gemm(2, 3, 4, AXP_F64));
        axp_stop(p, "named");
    }
    for (int i = 0; i < 5; i++) {
        axp_start(p, "later");
        axp_start(p, "child");
        axp_stop(p, "child");
        axp_add_work(p, axp_work_gemm(5, 6, 7, AXP_F64));
        axp_start(p, "child");
        axp_stop(p, "child");
        axp_stop(p, "later");
    }
    axp_view *v = axp_snapshot(p);
    axp_shape s = find(v, "named", 2, 3, 4);
    assert_int_equal(s.calls, 3);
    assert_true(s.flops == 3 * 48.0);
    s = find(v, "later", 5, 6, 7);
    assert_int_equal(s.calls, 5);
    assert_true(s.flops == 5 * 420.0 && s.flops_ns == s.total_ns);
    assert_int_equal(op_of(v, "later").calls, 5);
    assert_int_equal(op_of(v, "child").calls, 10);
    axp_tree_node nodes[16];
    assert_int_equal(axp_view_tree(v, nodes, 16), 4);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* Of two types that an operation is called with, the one with more work is its. */
static void two_types(void **state)
{
    (void)state;
    axp_profiler *p = axp_profiler_create(NULL);
    for (int i = 0; i < 9; i++) {
        int64_t n = i == 4 ? 512 : 8 + i;
        axp_start_work(p, "mixed",
                       axp_work_gemm(n, n, n, i == 4 ? AXP_BF16 : AXP_F32));
        axp_stop(p, "mixed");
    }
    axp_view *v = axp_snapshot(p);
    assert_int_equal(op_of(v, "mixed").dtype, AXP_BF16);
    assert_int_equal(find(v, "mixed", 9, 9, 9).dtype, AXP_F32);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* An open one counts, and a device's are not the host's. */
static void open_and_devices(void **state)
{
    (void)state;
    axp_profiler *p = axp_profiler_create(NULL);
    axp_track *t = axp_track_create_ex(
        p, &(axp_track_options){.name = "queue", .device = "gpu:0"});
    axp_work work = axp_work_gemm(9, 9, 9, AXP_F16);
    axp_track_span(t, "product", 100, 300, &work);
    axp_track_span(t, "product", 300, 350, &work);
    axp_start_work(p, "product", axp_work_gemm(9, 9, 9, AXP_F32));
    axp_view *v = axp_snapshot(p);
    axp_op ops[8];
    axp_shape s[2];
    size_t n = axp_view_ops(v, AXP_BY_SELF, ops, 8);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(axp_view_shapes(v, &ops[i], s, 2), 1);
        assert_int_equal(s[0].dims[2], 9);
        assert_int_equal(s[0].calls, ops[i].device ? 2 : 1);
        if (ops[i].device) assert_int_equal(s[0].total_ns, 250);
        if (ops[i].device) assert_int_equal(s[0].dtype, AXP_F16);
    }
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* 40 shapes: the 32 that took longest, and the others together. */
static void many_shapes(void **state)
{
    (void)state;
    axp_profiler *p = axp_profiler_create(NULL);
    axp_track *t = axp_track_create(p, "queue");
    for (uint32_t i = 1; i <= 40; i++) {
        axp_work w = {.flops = i, .dims = {i}};
        axp_track_span(t, "many", 0, 10 * i, &w);
        axp_track_span(t, "many", 0, 10 * i, &w);
    }
    axp_view *v = axp_snapshot(p);
    axp_op op = op_of(v, "many");
    axp_shape s[40];
    assert_int_equal(axp_view_shapes(v, &op, s, 40), 33);
    for (uint32_t i = 0; i < 32; i++) {
        assert_int_equal(s[i].dims[0], 40 - i);
        assert_int_equal(s[i].total_ns, 20 * (40 - i));
    }
    assert_int_equal(s[32].n_dims, 0);
    assert_int_equal(s[32].n_shapes, 8);
    assert_int_equal(s[32].calls, 16);
    assert_int_equal(s[32].total_ns, 20 * 36);
    assert_true(s[32].flops == 2 * 36);
    axp_view_destroy(v);
    axp_profiler_destroy(p);
}

/* More than a process may have: the rest is one without dims, and is counted. In
 * a child, since they are the process's. */
static void too_many(void **state)
{
    (void)state;
    enum { MOST = 16384, MORE = 100 };
    pid_t child = fork();
    if (!child) {
        axp_profiler *p = axp_profiler_create(NULL);
        axp_track *t = axp_track_create(p, "queue");
        for (uint32_t i = 1; i <= MOST + MORE; i++) {
            axp_work w = {.flops = 1, .dims = {i, 7}};
            axp_track_span(t, "many", 0, 10, &w);
        }
        axp_view *v = axp_snapshot(p);
        axp_op op = op_of(v, "many");
        axp_shape s[AXP_SHAPES + 1];
        axp_warning w[8];
        size_t n = axp_view_shapes(v, &op, s, AXP_SHAPES + 1), n_full = 0;
        uint64_t calls = 0;
        for (size_t i = 0; i < n; i++)
            calls += s[i].calls;
        for (size_t i = 0, k = axp_view_warnings(v, w, 8); i < k && i < 8; i++)
            if (!strcmp(w[i].code, "shapes_full") &&
                !strcmp(w[i].name, "many") && strstr(w[i].text, "16,384th"))
                n_full = w[i].count;
        bool ok = op.calls == MOST + MORE && calls == op.calls &&
                  n == AXP_SHAPES + 1 && !s[n - 1].n_dims && n_full >= MORE;
        axp_view_destroy(v);
        axp_profiler_destroy(p);
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- files --------------------------------------------------------------------- */

/* Two of a run of two processes; the second is killed. */
static void record_to(const char *path, bool is_killed)
{
    pid_t child = fork();
    if (!child) {
        axp_global_open(path);
        work();
        if (is_killed) raise(SIGKILL);
        axp_finish(axp_global());
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, is_killed ? SIGKILL : 0);
}

static void files(void **state)
{
    (void)state;
    char folder[] = "/tmp/axprof-shapes-XXXXXX", one[64], two[64];
    assert_non_null(mkdtemp(folder));
    snprintf(one, sizeof one, "%s/one.axp", folder);
    snprintf(two, sizeof two, "%s/two.axp", folder);
    record_to(one, false);
    record_to(two, true);
    const char *paths[] = {one, two};
    for (int n = 1; n <= 2; n++)
        for (int first = 0; first + n <= 2; first++) {
            axp_view *v = NULL;
            assert_int_equal(axp_open(paths + first, (size_t)n, &v), AXP_OK);
            uint64_t begins = 0;
            check_work(v, (uint64_t)n);
            axp_view_events(v, NULL, count_begin, &begins);
            assert_int_equal(begins, op_of(v, "multiply").calls);
            axp_view_destroy(v);
        }
    assert_int_equal(axp_file_pack(two, NULL), AXP_OK);
    assert_int_equal(axp_file_check(one, stderr), AXP_OK);
    assert_int_equal(axp_file_check(two, stderr), AXP_OK);
    axp_view *v = NULL;
    assert_int_equal(axp_open(&paths[1], 1, &v), AXP_OK);
    check_work(v, 1);
    axp_view_destroy(v);
    unlink(one);
    unlink(two);
    rmdir(folder);
}

/* ---- texts --------------------------------------------------------------------- */

static void texts(void **state)
{
    (void)state;
    struct axp__shape s = {.op = 31,
                           .n_dims = 6,
                           .dims = {1, 2, 3, 4, 5, UINT32_MAX}},
                      t;
    char text[AXP__SHAPE_TEXT];
    axp__shape_put(text, &s);
    assert_true(axp__shape_get(text, 32, &t));
    assert_memory_equal(&s, &t, sizeof s);
    assert_false(axp__shape_get(text, 31, &t)); /* one of before */
    assert_true(axp__shape_get("3:", 9, &t) && !t.n_dims);
    static const char *const bad[] = {
        "",     "3",          "3:0", "3:1,",
        "3:,1", "x:1",        ":1",  "3:1,2,3,4,5,6,7",
        "3:1g", "3:100000000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(axp__shape_get(bad[i], 9, &t));
}

static void texts_of_work(void **state)
{
    (void)state;
    struct axp__shape_work w = {.shape = 0xfffff,
                                .dtype = UINT32_MAX,
                                .flops = AXP__SHAPE_HUGE - 1,
                                .bytes = 0},
                           t;
    char text[AXP__SHAPE_WORK_TEXT];
    axp__shape_work_put(text, &w);
    assert_true(axp__shape_work_get(text, 0x100000, &t));
    assert_memory_equal(&w, &t, sizeof w);
    assert_false(axp__shape_work_get(text, 0xfffff, &t)); /* one of before */
    static const char *const bad[] = {"",
                                      "3:",
                                      "3:1.0",
                                      "3:1.0,1.0",
                                      "3:1,1,1",
                                      "3:1.0,1.0,",
                                      "3:1.0,1.0,1,",
                                      "3:1.0,1.0,x",
                                      "x:1.0,1.0,1",
                                      "3:7e000000.0,1.0,1",
                                      "3:1.0,80000000.0,1",
                                      "3:1.100000000,1.0,1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(axp__shape_work_get(bad[i], 9, &t));
}

/* However long a name is, all extents of its shapes can be read. */
static void long_names_leave_shapes_whole(void **state)
{
    (void)state;
    static const axp_work work = {.flops = 1e6,
                                  .bytes = 1e5,
                                  .dtype = AXP_F32,
                                  .dims = {128, 64, 112, 112, 256, 3}};
    axp_reset(axp_global());
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE_WORK_OF("convolution.backward_weights [gemm:ref]", work);
    }
    axp_view *v = axp_snapshot(axp_global());
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    assert_non_null(to);
    axp_report_options o = {.size = sizeof o, .has_shapes = true};
    assert_int_equal(axp_report_write_ex(v, AXP_FORMAT_TEXT, &o, to), AXP_OK);
    fclose(to);
    const char *shapes = strstr(text, "Shapes:");
    assert_non_null(shapes);
    assert_non_null(strstr(shapes, "\n└ 128x64x112x112x256x3 "));
    free(text);
    axp_view_destroy(v);
    axp_reset(axp_global());
}

/* Where the next product of this width belongs in the cache. */
static struct axp__cached_shape *slot_of(uint32_t op, uint32_t m)
{
    uint64_t dims[3] = {m | (uint64_t)3 << 32, 5, 0};
    return axp__shape_slot(axp__tls, op, dims);
}

/* Of a product of these, in the cache; 0: it is not there. */
static uint32_t name_of(uint32_t op, const uint32_t dims[6])
{
    axp_work all = axp_work_gemm(dims[0], dims[1], dims[2], AXP_F32);
    struct axp__work work = {all.flops, all.bytes, all.dtype};
    const struct axp__cached_shape *c =
        axp__shape_peek(axp__tls, op, dims, &work);
    return c ? c->name : 0;
}

/* Shapes that belong in one place and are used in turn are all found there. */
static void in_turn(void **state)
{
    uint32_t m[AXP__SHAPE_WAYS] = {1000}, dims[6] = {0, 3, 5};
    (void)state;
    multiply(7, 3, 5);
    uint32_t op =
        axp__name_find_of(AXP__KIND_FLAGS(AXP__KIND_PLAIN), "multiply");
    assert_true(op > AXP__NAME_UNNAMED);
    for (uint32_t n = 1, at = 1001; n < AXP__SHAPE_WAYS; at++)
        if (slot_of(op, at) == slot_of(op, m[0])) m[n++] = at;
    for (unsigned i = 0; i < AXP__SHAPE_WAYS; i++) {
        AXP_SCOPE_WORK_OF("multiply", axp_work_gemm(m[i], 3, 5, AXP_F32));
    }
    for (unsigned i = 0; i < AXP__SHAPE_WAYS; i++) {
        dims[0] = m[i];
        uint32_t name = name_of(op, dims);
        assert_true(name > AXP__NAME_UNNAMED);
        for (unsigned k = 0; k < i; k++) {
            dims[0] = m[k];
            assert_int_not_equal(name, name_of(op, dims));
        }
    }
}

/* The same of shapes whose calls do not all do the same. */
static void others_in_turn(void **state)
{
    uint32_t m[AXP__SHAPE_WAYS / 2] = {3000};
    (void)state;
    uint32_t op =
        axp__name_find_of(AXP__KIND_FLAGS(AXP__KIND_PLAIN), "multiply");
    for (uint32_t n = 1, at = 3001; n < AXP__SHAPE_WAYS / 2; at++)
        if (slot_of(op, at) == slot_of(op, m[0])) m[n++] = at;
    for (int turn = 0; turn < 2; turn++)
        for (unsigned i = 0; i < AXP__SHAPE_WAYS / 2; i++) {
            axp_work work = axp_work_gemm(m[i], 3, 5, AXP_F32);
            work.bytes += turn;
            AXP_SCOPE_WORK_OF("multiply", work);
        }
    for (unsigned i = 0; i < AXP__SHAPE_WAYS / 2; i++)
        for (int turn = 0; turn < 2; turn++) {
            axp_work all = axp_work_gemm(m[i], 3, 5, AXP_F32);
            struct axp__work work = {all.flops, all.bytes + turn, all.dtype};
            const struct axp__cached_shape *c =
                axp__shape_peek(axp__tls, op, all.dims, &work);
            assert_non_null(c);
            assert_int_equal(c->has_work, !turn);
        }
}

/* Of a call that does what its shape always does the timeline says no more than
 * that it begins and ends; of another one what it does. */
static void told_by_the_name(void **state)
{
    (void)state;
    gather(1000);
    for (int i = 0; i < 20; i++) {
        bool is_usual = i % 4;
        gather(is_usual ? 1000 : 7 + i % 8); /* the next may need a new chunk */
        const uint64_t *before = axp__tls->global->cur;
        gather(is_usual ? 1000 : 7 + i % 8);
        const uint64_t *after = axp__tls->global->cur;
        if (after < before) continue;
        assert_int_equal(after - before, is_usual ? 2 : 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            files), /* first: the global profiler is not there yet */
        cmocka_unit_test(live),
        cmocka_unit_test(tree_has_no_shapes),
        cmocka_unit_test(threads_that_ended),
        cmocka_unit_test(other_ways),
        cmocka_unit_test(two_types),
        cmocka_unit_test(open_and_devices),
        cmocka_unit_test(many_shapes),
        cmocka_unit_test(in_turn),
        cmocka_unit_test(others_in_turn),
        cmocka_unit_test(told_by_the_name),
        cmocka_unit_test(too_many),
        cmocka_unit_test(texts),
        cmocka_unit_test(texts_of_work),
        cmocka_unit_test(long_names_leave_shapes_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
