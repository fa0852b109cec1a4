/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes by name overlap those of blocks as they like: started in a block and
 * stopped after it, with blocks left by longjmp in between; thousands open at
 * once. Live, and as a file is read. The clock is moved by hand, so every time
 * is exact. */
#include "file_support.h"

static void started_in_a_block_stopped_after_it(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    {
        AXP_SCOPE_IN(p, "outer");
        ts_tick(40);
        axp_start(p, "x");
        ts_tick(60); /* the overlap */
    }
    ts_tick(150);
    axp_stop(p, "x");
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_op(v, "outer").calls, 1);
    assert_int_equal(ts_view_op(v, "outer").total_ns, 100);
    assert_int_equal(ts_view_op(v, "outer").self_ns, 40);
    assert_int_equal(ts_view_op(v, "x").calls, 1);
    assert_int_equal(ts_view_op(v, "x").total_ns, 210);
    assert_int_equal(ts_view_op(v, "x").self_ns, 210);
    assert_int_equal(ts_node(v, "x").calls, 1); /* what is open is its path */
    axp_view_destroy(v);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

static void within_a_block_around_both(void **state)
{
    (void)state;
    axp_profiler *p = ts_profiler();
    {
        AXP_SCOPE_IN(p, "around");
        {
            AXP_SCOPE_IN(p, "outer");
            axp_start(p, "x");
            axp_start(p, "y");
            ts_tick(10);
        }
        ts_tick(5);
        axp_stop(p, "x");
        ts_tick(3);
        axp_stop(p, "y");
        ts_tick(2);
    }
    axp_view *v = ts_snapshot(p);
    assert_int_equal(ts_view_op(v, "around").total_ns, 20);
    assert_int_equal(ts_view_op(v, "around").self_ns, 2);
    assert_int_equal(ts_view_op(v, "outer").self_ns, 0);
    assert_int_equal(ts_view_op(v, "x").total_ns, 15);
    assert_int_equal(ts_view_op(v, "x").self_ns, 0);
    assert_int_equal(ts_view_op(v, "y").total_ns, 18);
    assert_int_equal(ts_view_op(v, "y").self_ns, 18);
    axp_view_destroy(v);
    assert_int_equal(ts_all_warnings(p), 0);
    axp_profiler_destroy(p);
}

/* Blocks that were left are abandoned, above and below a scope by name; it is
 * not, whatever it is called. */
static void blocks_left_around_a_scope_by_name(void **state)
{
    const char *names[] = {"x", "inner", "y"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        axp_profiler *p = ts_profiler();
        uint64_t outer = axp_begin(p, "outer");
        axp_begin(p, "inner");
        axp_start(p, names[i]);
        axp_begin(p, "y");
        ts_tick(10);
        axp_end(outer);
        ts_tick(5);
        axp_stop(p, names[i]);
        assert_int_equal(ts_warnings(p, "abandoned_scopes"), 2);
        assert_int_equal(axp_call_count(p, names[i]), i ? 2 : 1);
        assert_int_equal(ts_op(p, names[i]).max_ns, 15);
        assert_int_equal(ts_op(p, "outer").max_ns, 10);
        axp_profiler_destroy(p);
    }
}

/* ---- at random, against a model ------------------------------------------------- */

#define NAMES 9u
#define MAX_OPEN 90u

struct model {
    struct {
        uint32_t name;
        uint64_t token; /* 0: by name */
    } open[MAX_OPEN];
    unsigned n;
    uint64_t calls[NAMES], total[NAMES], self[NAMES], n_abandoned;
};

static void model_tick(struct model *m, uint64_t ns)
{
    bool is_open[NAMES] = {0};
    for (unsigned i = 0; i < m->n; i++)
        is_open[m->open[i].name] = true;
    for (unsigned i = 0; i < NAMES; i++)
        if (is_open[i]) m->total[i] += ns;
    if (m->n) m->self[m->open[m->n - 1].name] += ns;
    ts_tick(ns);
}

static void model_take(struct model *m, unsigned at)
{
    m->calls[m->open[at].name]++;
    memmove(&m->open[at], &m->open[at + 1], (m->n - at - 1) * sizeof *m->open);
    m->n--;
}

static void model_end(struct model *m, unsigned at)
{
    for (unsigned i = m->n; --i > at;) {
        if (!m->open[i].token) continue;
        m->n_abandoned++;
        model_take(m, i);
    }
    model_take(m, at);
}

/* From ever deeper in the stack: a scope that begins where an open one began
 * says that this one was left. */
static __attribute__((noinline)) uint64_t begin_deeper(axp_profiler *p,
                                                       const char *name)
{
    static size_t n;
    volatile char *below = __builtin_alloca(++n % 4096 * 64 + 64);
    uint64_t token = axp_begin(p, name);
    /* Until here it is there: else clang makes a jump of the call, with the
     * stack as it was before. */
    below[0] = 0;
    return token;
}

static void open_one(axp_profiler *p, struct model *m, uint32_t i,
                     bool is_named)
{
    static const char *names[NAMES] = {"a", "b", "c", "d", "e",
                                       "f", "g", "h", "i"};
    m->open[m->n].name = i;
    m->open[m->n].token = 0;
    if (is_named)
        axp_start(p, names[i]);
    else
        m->open[m->n].token = begin_deeper(p, names[i]);
    m->n++;
}

/* Ends the scope at a place, or the newest of its name. */
static void close_one(axp_profiler *p, struct model *m, unsigned at)
{
    if (m->open[at].token) {
        axp_end(m->open[at].token);
        model_end(m, at);
        return;
    }
    uint32_t name = m->open[at].name;
    for (unsigned i = m->n; i-- > at;)
        if (!m->open[i].token && m->open[i].name == name) {
            char text[2] = {(char)('a' + name), 0};
            axp_stop(p, text);
            model_take(m, i);
            return;
        }
}

static void record_at_random(axp_profiler *p, struct model *m, uint64_t seed)
{
    uint64_t rng = seed;
    for (unsigned r = 0; r < 3000 || m->n; r++) {
        bool may_open = r < 3000 && m->n < MAX_OPEN;
        uint64_t dice = ts_random(&rng) % 100;
        model_tick(m, 1 + ts_random(&rng) % 20);
        if (may_open && dice < 56)
            open_one(p, m, (uint32_t)(ts_random(&rng) % NAMES), dice % 2);
        else if (m->n && dice < 90)
            close_one(p, m, m->n - 1);
        else if (m->n)
            close_one(p, m, (unsigned)(ts_random(&rng) % m->n));
    }
}

static void compare(const axp_view *v, const struct model *m)
{
    for (unsigned i = 0; i < NAMES; i++) {
        char text[2] = {(char)('a' + i), 0};
        axp_op op = ts_view_op(v, text);
        assert_int_equal(op.calls, m->calls[i]);
        assert_int_equal(op.total_ns, m->total[i]);
        assert_int_equal(op.self_ns, m->self[i]);
    }
    assert_int_equal(ts_view_warnings(v, "abandoned_scopes"), m->n_abandoned);
    assert_int_equal(ts_view_warnings(v, "stop_without_start"), 0);
}

static int count_ends(const axp_event_info *e, void *ctx)
{
    uint64_t(*n)[NAMES] = ctx;
    if (e->type == AXP_EVENT_START) n[0][e->name[0] - 'a']++;
    if (e->type == AXP_EVENT_END) n[1][e->name[0] - 'a']++;
    return 0;
}

static void all_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct model m = {.n = 0};
        uint64_t n[2][NAMES] = {{0}};
        const char *path = fs_path("overlap.axp");
        axp_profiler *p =
            fs_record(path, (axp_options){.flags = AXP_OVERWRITE});
        record_at_random(p, &m, seed * 7919);
        axp_view *live = ts_snapshot(p);
        compare(live, &m);
        axp_view_destroy(live);
        assert_int_equal(axp_finish(p), AXP_OK);
        axp_profiler_destroy(p);
        assert_int_equal(axp_file_check(path, stderr), AXP_OK);
        axp_view *v = fs_open(path);
        compare(v, &m);
        assert_int_equal(axp_view_events(v, NULL, count_ends, n), AXP_OK);
        for (unsigned i = 0; i < NAMES; i++) {
            assert_int_equal(n[0][i], m.calls[i]);
            assert_int_equal(n[1][i], m.calls[i]);
        }
        axp_view_destroy(v);
    }
}

static unsigned count_in(const char *text, const char *what)
{
    unsigned n = 0;
    while ((text = strstr(text, what)) && ++n)
        text++;
    return n;
}

/* What an export pairs: nothing is without its beginning or its end. */
static void exports_pair_them(void **state)
{
    (void)state;
    const char *path = fs_path("pairs.axp"), *to = fs_path("pairs.json");
    axp_profiler *p = fs_record(path, (axp_options){0});
    for (int i = 0; i < 3; i++) {
        {
            AXP_SCOPE_IN(p, "outer");
            ts_tick(1000);
            axp_start(p, "x");
            ts_tick(1000);
            {
                AXP_SCOPE_IN(p, "inner");
                ts_tick(1000);
            }
        }
        ts_tick(1000);
        axp_stop(p, "x");
    }
    assert_int_equal(axp_finish(p), AXP_OK);
    axp_profiler_destroy(p);
    assert_int_equal(axp_file_check(path, stderr), AXP_OK);
    axp_view *v = fs_open(path);
    assert_int_equal(axp_export(v, to, AXP_EXPORT_CHROME), AXP_OK);
    axp_view_destroy(v);
    char *text = calloc(1, 1 << 16);
    FILE *f = fopen(to, "r");
    assert_true(text && f && fread(text, 1, (1 << 16) - 1, f));
    fclose(f);
    assert_null(strstr(text, "\"args\":{\"lost\""));
    assert_int_equal(count_in(text, "\"name\":\"outer\""), 3);
    assert_int_equal(count_in(text, "\"ph\":\"b\",\"cat\":\"async\",\"name\":"
                                    "\"x\""),
                     3);
    assert_int_equal(count_in(text, "\"ph\":\"e\",\"cat\":\"async\",\"name\":"
                                    "\"x\""),
                     3);
    assert_int_equal(count_in(text, "\"dur\":3.000"), 3);        /* outer */
    assert_int_equal(count_in(text, "\"ts\":12.000,\"id\""), 1); /* x's end */
    free(text);
}

/* ---- thousands -------------------------------------------------------------------- */

/* Each stop moves thousands up, and makes no tree of its own for them. */
static void a_long_queue(void **state)
{
    (void)state;
    enum { N = 3000 };
    axp_profiler *p = ts_profiler();
    char name[8];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "q%d", i);
        axp_start(p, name);
        ts_tick(1);
    }
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "q%d", i);
        axp_stop(p, name);
        ts_tick(1);
    }
    axp_view *v = ts_snapshot(p);
    for (int i = 0; i < N; i += 37) {
        snprintf(name, sizeof name, "q%d", i);
        assert_int_equal(ts_view_op(v, name).calls, 1);
        assert_int_equal(ts_view_op(v, name).total_ns, N);
    }
    assert_in_range(axp_view_tree(v, NULL, 0), N, 4 * N);
    axp_view_destroy(v);
    assert_int_equal(ts_warnings(p, "stop_without_start"), 0);
    axp_profiler_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(started_in_a_block_stopped_after_it),
        cmocka_unit_test(within_a_block_around_both),
        cmocka_unit_test(blocks_left_around_a_scope_by_name),
        cmocka_unit_test(a_long_queue),
        FS_TEST(all_agree),
        FS_TEST(exports_pair_them),
    };
    ts_use_fake_clock();
    return TS_RUN(tests);
}
