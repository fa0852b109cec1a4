/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes by macro: how they end, nest, recur and unwind. On the real clock,
 * so that the hot path is what runs: times are compared with each other and
 * with the pauses made, never with how fast the machine is. */
#include "test_support.h"

#include <setjmp.h>

#include "record/record_lane.h"
#include "record/record_profiler.h"

static int begin_test(void **state)
{
    (void)state;
    axp_set_enabled(axp_global(), true);
    axp_reset(axp_global());
    return 0;
}

/* ---- ways to end --------------------------------------------------------- */

static int leave_early(int how)
{
    AXP_SCOPE("early");
    if (how == 1) return 1;
    for (int i = 0; i < 3; i++) {
        AXP_SCOPE("loop");
        if (how == 2) break;
        if (how == 3) continue;
        if (how == 4) goto out;
    }
out:
    return 0;
}

static void scopes_end_however_their_block_is_left(void **state)
{
    (void)state;
    for (int how = 0; how < 5; how++)
        leave_early(how);
    assert_int_equal(ts_op(axp_global(), "early").calls, 5);
    assert_int_equal(ts_op(axp_global(), "loop").calls, 3 + 1 + 3 + 1);
    assert_int_equal(ts_warnings(axp_global(), "open_scopes"), 0);
    assert_int_equal(ts_warnings(axp_global(), "abandoned_scopes"), 0);
}

static void a_function(void)
{
    AXP_FUNCTION();
}

static void every_macro_records(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    char name[8] = "dyn";
    {
        AXP_SCOPE("literal");
        AXP_SCOPE_NAME(name);
        AXP_SCOPE_IN(p, "other");
        AXP_SCOPE_WORK("work", .flops = 10, .bytes = 20, .dtype = AXP_F16);
        a_function();
    }
    AXP_START("started");
    AXP_STOP("started");
    AXP_ALLOC("memory", 64);
    assert_int_equal(axp_current_memory(axp_global()), 64);
    AXP_FREE("memory", 64);
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(ts_view_op(v, "literal").calls, 1);
    assert_int_equal(ts_view_op(v, "dyn").calls, 1);
    assert_int_equal(ts_view_op(v, "started").calls, 1);
    assert_int_equal(ts_view_op(v, "other").calls, 0);
    assert_int_equal(ts_node(v, "literal/dyn/work/a_function").calls, 1);
    axp_op work = ts_view_op(v, "work");
    assert_true(work.flops == 10 && work.bytes == 20);
    assert_int_equal(work.n_flops_calls, 1);
    assert_int_equal(work.dtype, AXP_F16);
    axp_view_destroy(v);
    assert_int_equal(ts_op(p, "other").calls, 1);
    axp_profiler_destroy(p);
}

static int scope_line;
static void has_a_place(void)
{
    scope_line = __LINE__ + 1;
    AXP_SCOPE("placed");
}

static void an_op_knows_its_file_and_line(void **state)
{
    (void)state;
    has_a_place();
    axp_view *v = ts_snapshot(axp_global());
    axp_op op = ts_view_op(v, "placed");
    assert_non_null(op.file);
    assert_non_null(strstr(op.file, "test_scope.c"));
    assert_int_equal(op.line, scope_line);
    axp_view_destroy(v);
}

/* ---- time ---------------------------------------------------------------- */

static void nested(int n)
{
    AXP_SCOPE("parent");
    for (int i = 0; i < n; i++) {
        AXP_SCOPE("child");
        if (i == 0) ts_sleep_ms(2);
    }
}

/* What the parent has beside its children is its own, less what recording
 * them cost. */
static void self_and_children_make_the_total(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        nested(50);
    axp_view *v = ts_snapshot(axp_global());
    axp_op parent = ts_view_op(v, "parent"), child = ts_view_op(v, "child");
    assert_int_equal(parent.calls, 20);
    assert_int_equal(child.calls, 1000);
    assert_true(child.total_ns >= 40000000);
    axp_ns inside = axp__rate_to_ns(axp__clock_rate(),
                                    1000 * axp__own_cost_get().inside_ticks);
    ts_assert_between((double)(child.total_ns - inside) - 3,
                      (double)child.self_ns,
                      (double)(child.total_ns - inside) + 3);
    assert_true(parent.total_ns >= child.total_ns);
    axp_ns cost = axp__rate_to_ns(axp__clock_rate(),
                                  1000 * axp__own_cost_get().around_ticks);
    axp_ns rest = parent.total_ns - child.total_ns;
    cost += inside / 50; /* of its own 20 calls */
    axp_ns own = rest > cost ? rest - cost : 0;
    ts_assert_between((double)own - 3, (double)parent.self_ns, (double)own + 3);
    assert_true(child.min_ns <= child.p50_ns && child.p50_ns <= child.max_ns);
    assert_int_equal(ts_node(v, "parent/child").calls, 1000);
    assert_int_equal(ts_node(v, "child").calls, 0);
    axp_view_destroy(v);
}

static void recur(int depth)
{
    AXP_SCOPE("recursive");
    if (depth == 1)
        ts_sleep_ms(5);
    else
        recur(depth - 1);
}

static void recursion_counts_its_time_once(void **state)
{
    (void)state;
    axp_ns from = axp_now(axp_global());
    recur(20);
    axp_ns all = axp_now(axp_global()) - from;
    axp_op op = ts_op(axp_global(), "recursive");
    assert_int_equal(op.calls, 20);
    assert_true(op.total_ns >= 5000000);
    assert_true(op.total_ns <= all);
    assert_true(op.max_ns == op.total_ns);
    assert_true(axp_total_time(axp_global(), "recursive") <= all);
    assert_true(op.self_ns <= op.total_ns);
}

static void even(int n);
static void odd(int n)
{
    AXP_SCOPE("odd");
    if (n) even(n - 1);
}
static void even(int n)
{
    AXP_SCOPE("even");
    if (n)
        odd(n - 1);
    else
        ts_sleep_ms(3);
}

static void mutual_recursion_counts_its_time_once(void **state)
{
    (void)state;
    axp_ns from = axp_now(axp_global());
    odd(9);
    axp_ns all = axp_now(axp_global()) - from;
    axp_op a = ts_op(axp_global(), "odd"), b = ts_op(axp_global(), "even");
    assert_int_equal(a.calls, 5);
    assert_int_equal(b.calls, 5);
    assert_true(a.total_ns <= all && b.total_ns <= a.total_ns);
    assert_true(b.total_ns >= 3000000);
    assert_true(a.self_ns + b.self_ns <= all);
}

/* ---- the call tree ------------------------------------------------------- */

static void leaf(void)
{
    AXP_SCOPE("leaf");
}
static void left(void)
{
    AXP_SCOPE("left");
    leaf();
    leaf();
}
static void right(void)
{
    AXP_SCOPE("right");
    leaf();
}
static void *both(void *arg)
{
    (void)arg;
    left();
    right();
    leaf();
    return NULL;
}

static void paths_are_nodes_and_threads_are_merged(void **state)
{
    (void)state;
    both(NULL);
    ts_run(both, NULL);
    ts_run(both, NULL);
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(ts_view_op(v, "leaf").calls, 12);
    assert_int_equal(ts_node(v, "left/leaf").calls, 6);
    assert_int_equal(ts_node(v, "right/leaf").calls, 3);
    assert_int_equal(ts_node(v, "leaf").calls, 3);
    axp_tree_node tree[32];
    size_t n = axp_view_tree(v, tree, 32);
    assert_int_equal(n, 6); /* the root and five paths */
    assert_int_equal(tree[0].parent, -1);
    for (size_t i = 1; i < n; i++) {
        assert_true(tree[i].parent >= 0 && (size_t)tree[i].parent < i);
        assert_true(tree[i].self_ns <= tree[i].total_ns);
    }
    assert_int_equal(axp_view_threads(v, NULL, 0), 3);
    axp_view_destroy(v);
}

static void *many_scopes(void *arg)
{
    for (int i = 0; i < *(int *)arg; i++) {
        AXP_SCOPE("busy");
        leaf();
    }
    return NULL;
}

static void threads_at_once_lose_nothing(void **state)
{
    (void)state;
    int n = TS_SLOW ? 20000 : 200000;
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        t[i] = ts_spawn(many_scopes, &n);
    for (int i = 0; i < 4; i++)
        ts_join(t[i]);
    assert_int_equal(ts_op(axp_global(), "busy").calls, 4 * n);
    assert_int_equal(ts_op(axp_global(), "leaf").calls, 4 * n);
    assert_int_equal(axp_call_count(axp_global(), "busy"), 4 * n);
}

/* ---- off and on ---------------------------------------------------------- */

static void disabled_scopes_leave_nothing(void **state)
{
    (void)state;
    axp_set_enabled(axp_global(), false);
    leaf();
    nested(3);
    AXP_START("x");
    AXP_STOP("x");
    axp_set_enabled(axp_global(), true);
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(axp_view_ops(v, AXP_BY_TIME, NULL, 0), 0);
    axp_view_destroy(v);
    leaf();
    assert_int_equal(ts_op(axp_global(), "leaf").calls, 1);
    assert_int_equal(ts_all_warnings(axp_global()), 0);
}

static void begun_enabled_and_ended_disabled(void **state)
{
    (void)state;
    {
        AXP_SCOPE("crossing");
        AXP_START("named");
        axp_set_enabled(axp_global(), false);
        AXP_STOP("named");
    }
    axp_set_enabled(axp_global(), true);
    assert_int_equal(ts_op(axp_global(), "crossing").calls, 1);
    assert_int_equal(ts_op(axp_global(), "named").calls, 1);
    assert_int_equal(ts_all_warnings(axp_global()), 0);
}

static void begun_disabled_and_ended_enabled(void **state)
{
    (void)state;
    axp_set_enabled(axp_global(), false);
    {
        AXP_SCOPE("crossing");
        AXP_START("named");
        axp_set_enabled(axp_global(), true);
        AXP_STOP("named");
    }
    assert_int_equal(ts_op(axp_global(), "crossing").calls, 0);
    assert_int_equal(ts_op(axp_global(), "named").calls, 0);
    assert_int_equal(ts_all_warnings(axp_global()), 0);
}

/* ---- unwinding ----------------------------------------------------------- */

static jmp_buf far_out;
static volatile bool is_to_jump = true; /* always; the compiler cannot know */

static void jump_from(int depth)
{
    AXP_SCOPE("jumped over");
    if (depth > 0) jump_from(depth - 1);
    if (is_to_jump) longjmp(far_out, 1);
}

static __attribute__((noinline)) void catch_jump(void)
{
    AXP_SCOPE("catcher");
    if (!setjmp(far_out)) jump_from(2);
}

static void longjmp_is_closed_by_the_scope_around(void **state)
{
    (void)state;
    catch_jump();
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(ts_view_op(v, "catcher").calls, 1);
    assert_int_equal(ts_view_op(v, "jumped over").calls, 3);
    assert_int_equal(ts_view_warnings(v, "abandoned_scopes"), 3);
    assert_int_equal(ts_view_warnings(v, "open_scopes"), 0);
    assert_int_equal(ts_node(v, "catcher/jumped over").calls, 1);
    axp_view_destroy(v);
    leaf(); /* and the stack is right again */
    v = ts_snapshot(axp_global());
    assert_int_equal(ts_node(v, "leaf").calls, 1);
    axp_view_destroy(v);
}

/* As a binding, a wrapper or a loop does it: nothing was unwound. */
static void scopes_that_begin_at_one_place_nest(void **state)
{
    (void)state;
    static const char *const names[] = {"model", "layer", "matmul"};
    uint64_t tokens[3];
    char name[16];
    for (int round = 0; round < 3; round++) { /* new nodes, then known ones */
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "%s", names[i]);
            tokens[i] = axp_begin(axp_global(), name);
        }
        for (int i = 3; i--;)
            axp_end(tokens[i]);
    }
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(ts_view_warnings(v, "abandoned_scopes"), 0);
    assert_int_equal(ts_node(v, "model/layer/matmul").calls, 3);
    axp_view_destroy(v);
}

static __attribute__((noinline)) void jump_once(void)
{
    if (!setjmp(far_out)) jump_from(1);
}

/* Without a scope around nothing ends them but their own next begin. */
static void a_loop_of_longjmps_does_not_grow_the_stack(void **state)
{
    (void)state;
    const uint64_t n = 10000;
    for (uint64_t i = 0; i < n; i++)
        jump_once();
    axp_view *v = ts_snapshot(axp_global());
    assert_int_equal(ts_view_op(v, "jumped over").calls, 2 * n);
    assert_true(ts_view_warnings(v, "open_scopes") <= 2);
    assert_true(ts_view_warnings(v, "abandoned_scopes") >= 2 * n - 2);
    assert_true(axp_view_tree(v, NULL, 0) <= 8);
    axp_view_destroy(v);
}

/* ---- tokens on other threads --------------------------------------------- */

struct handed {
    axp_profiler *p;
    uint64_t token;
};

static void *end_it(void *arg)
{
    struct handed *h = arg;
    axp_end(h->token);
    return NULL;
}

static void *begin_it(void *arg)
{
    struct handed *h = arg;
    h->token = axp_begin(h->p, "moved");
    return NULL;
}

static void check_moved(axp_profiler *p)
{
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_op(v, "moved").calls, 1);
    assert_true(ts_view_op(v, "moved").total_ns >= 1000000);
    assert_int_equal(ts_node(v, "moved").calls, 0);
    assert_int_equal(ts_view_warnings(v, "foreign_ends"), 1);
    assert_int_equal(ts_view_warnings(v, "open_scopes"), 0);
    axp_view_destroy(v);
}

static void a_token_ended_on_another_thread(void **state)
{
    (void)state;
    struct handed h = {.p = ts_profiler()};
    h.token = axp_begin(h.p, "moved");
    ts_sleep_ms(1);
    ts_run(end_it, &h);
    check_moved(h.p);
    {
        AXP_SCOPE_IN(h.p, "after"); /* the owner's frames are right again */
    }
    axp_view *v = ts_snapshot(h.p);
    assert_int_equal(ts_node(v, "after").calls, 1);
    axp_view_destroy(v);
    check_moved(h.p);
    axp_profiler_destroy(h.p);
}

static void a_token_of_a_thread_that_has_ended(void **state)
{
    (void)state;
    struct handed h = {.p = ts_profiler()};
    ts_run(begin_it, &h);
    ts_sleep_ms(1);
    axp_end(h.token);
    check_moved(h.p);
    axp_end(h.token); /* again: nothing */
    check_moved(h.p);
    axp_profiler_destroy(h.p);
}

static void tokens_of_the_past_do_nothing(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    uint64_t token = axp_begin(p, "op");
    axp_reset(p);
    axp_end(token);
    assert_int_equal(ts_op(p, "op").calls, 0);
    token = axp_begin(p, "op");
    axp_end(token);
    axp_end(token);
    assert_int_equal(ts_op(p, "op").calls, 1);
    token = axp_begin(p, "op");
    axp_profiler_destroy(p);
    axp_end(token);
    axp_end(0x123456789);
    axp_end(UINT64_MAX);
}

#define T(f) cmocka_unit_test_setup(f, begin_test)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(scopes_end_however_their_block_is_left),
        T(every_macro_records),
        T(an_op_knows_its_file_and_line),
        T(self_and_children_make_the_total),
        T(recursion_counts_its_time_once),
        T(mutual_recursion_counts_its_time_once),
        T(paths_are_nodes_and_threads_are_merged),
        T(threads_at_once_lose_nothing),
        T(disabled_scopes_leave_nothing),
        T(begun_enabled_and_ended_disabled),
        T(begun_disabled_and_ended_enabled),
        T(longjmp_is_closed_by_the_scope_around),
        T(scopes_that_begin_at_one_place_nest),
        T(a_loop_of_longjmps_does_not_grow_the_stack),
        T(a_token_ended_on_another_thread),
        T(a_token_of_a_thread_that_has_ended),
        T(tokens_of_the_past_do_nothing),
    };
    return TS_RUN(tests);
}
