/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The tally against an independent model: random pushes, pops and removals
 * out of order; calls, total and self of every name compared. The model
 * keeps a list of open scopes and hands out each tick by looking at it. */
#include "test_support.h"

#include "os/os_map.h"
#include "tally/tally_merge.h"
#include "tally/tally_scope.h"

#define NAMES 12u
#define FIRST 10u /* ids of the names */
#define OTHER 1u
#define MAX_OPEN 300u

struct sums {
    uint64_t calls, total, self;
};

/* ---- the tally's own sums ------------------------------------------------ */

struct owned {
    struct axp__tally t;
    struct axp__tally_seed *seed;
    struct axp__budget budget;
};

static void retire(void *ctx, void *memory, size_t bytes)
{
    axp__unmap(memory, bytes);
    axp__budget_give(ctx, bytes);
}

static void init_with_reserve(struct owned *o, uint64_t limit, uint64_t reserve)
{
    o->seed = calloc(1, sizeof *o->seed);
    o->budget =
        (struct axp__budget){.limit_bytes = limit, .reserve_bytes = reserve};
    axp__tally_init(&o->t, o->seed, &o->budget, OTHER);
    o->t.retire = retire;
    o->t.retire_ctx = &o->budget;
}

static void init_owned(struct owned *o, uint64_t limit)
{
    init_with_reserve(o, limit, 0);
}

static void fini_owned(struct owned *o)
{
    axp__tally_fini(&o->t);
    free(o->seed);
}

static struct sums sums_of(struct axp__tally *t, uint32_t name)
{
    struct sums s = {0};
    struct axp__op *op = axp__tally_op(t, name);
    s.calls = op->loose_calls;
    s.total = op->loose_ticks - op->repeat_ticks;
    for (axp__ref ref = op->nodes; ref;) {
        struct axp__node *n = axp__arena_at(&t->arena, ref);
        s.calls += n->calls;
        s.self += n->self_ticks;
        if (!n->is_recursive) s.total += n->total_ticks;
        ref = n->next_of_op;
    }
    return s;
}

static uint64_t in_histogram(struct axp__tally *t, uint32_t name)
{
    uint64_t n = 0;
    struct axp__op *op = axp__tally_op(t, name);
    for (uint32_t i = 0; i < AXP__HIST_PAGES; i++) {
        if (!op->hist[i]) continue;
        struct axp__hist_page *page = axp__arena_at(&t->arena, op->hist[i]);
        for (uint32_t k = 0; k < AXP__HIST_BUCKETS; k++)
            n += page->count[k];
    }
    return n;
}

/* ---- the model ----------------------------------------------------------- */

struct model {
    uint32_t open[MAX_OPEN];
    unsigned n_open;
    struct sums of[NAMES];
};

/* Time is the innermost's own, and of every name that is open, once. */
static void model_tick(struct model *m, uint64_t ticks)
{
    bool is_open[NAMES] = {0};
    if (m->n_open) m->of[m->open[m->n_open - 1]].self += ticks;
    for (unsigned i = 0; i < m->n_open; i++)
        is_open[m->open[i]] = true;
    for (unsigned i = 0; i < NAMES; i++)
        if (is_open[i]) m->of[i].total += ticks;
}

static void model_close(struct model *m, unsigned at)
{
    m->of[m->open[at]].calls++;
    for (unsigned i = at; i + 1 < m->n_open; i++)
        m->open[i] = m->open[i + 1];
    m->n_open--;
}

/* Histograms may lose calls where there is no memory for their pages. */
static void compare(struct axp__tally *t, const struct model *m, bool is_tight)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        struct sums s = sums_of(t, FIRST + i);
        assert_int_equal(s.calls, m->of[i].calls);
        assert_int_equal(s.self, m->of[i].self);
        assert_int_equal(s.total, m->of[i].total);
        uint64_t n = in_histogram(t, FIRST + i);
        assert_true(n <= s.calls);
        if (!is_tight) assert_int_equal(n, s.calls);
    }
}

enum { NO_REMOVE = 1, NO_RECURSION = 2, DEEP = 4 };

static bool is_open(const struct model *m, uint32_t name)
{
    for (unsigned i = 0; i < m->n_open; i++)
        if (m->open[i] == name) return true;
    return false;
}

static void run(struct owned *o, uint64_t seed, unsigned rounds, int how)
{
    struct model m = {.n_open = 0};
    uint64_t now = 1000, rng = seed;
    for (unsigned r = 0; r < rounds || m.n_open; r++) {
        uint64_t dice = ts_random(&rng) % 100, pause = ts_random(&rng) % 30;
        uint32_t name = (uint32_t)(ts_random(&rng) % NAMES);
        now += pause;
        model_tick(&m, pause);
        bool may_push = r < rounds && m.n_open < MAX_OPEN &&
                        !(how & NO_RECURSION && is_open(&m, name));
        if (dice < (how & DEEP ? 60 : 50) && may_push) {
            assert_true(axp__tally_has_room(&o->t));
            axp__tally_push(&o->t, FIRST + name, now);
            m.open[m.n_open++] = name;
        } else if (m.n_open && (dice < 85 || how & NO_REMOVE)) {
            axp__tally_pop(&o->t, now);
            model_close(&m, m.n_open - 1);
        } else if (m.n_open) {
            unsigned at = (unsigned)(ts_random(&rng) % m.n_open);
            if (at == m.n_open - 1)
                axp__tally_pop(&o->t, now);
            else
                axp__tally_remove(&o->t, &o->t.frames[at + 1], now, true);
            model_close(&m, at);
        }
    }
    bool is_tight = o->budget.limit_bytes + o->budget.reserve_bytes < 1 << 20;
    compare(&o->t, &m, is_tight);
}

static void run_with_reserve(uint64_t limit, uint64_t reserve, int how)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct owned o;
        init_with_reserve(&o, limit, reserve);
        run(&o, seed * 7919, 3000, how);
        fini_owned(&o);
        assert_int_equal(o.budget.used_bytes, 0);
        assert_int_equal(o.budget.reserve_used_bytes, 0);
    }
}

static void run_many(uint64_t limit, int how)
{
    run_with_reserve(limit, 0, how);
}

static void nested_scopes(void **state)
{
    (void)state;
    run_many(1 << 26, NO_REMOVE);
}

static void ended_out_of_order(void **state)
{
    (void)state;
    run_many(1 << 26, NO_RECURSION);
}

static void ended_out_of_order_with_recursion(void **state)
{
    (void)state;
    run_many(1 << 26, 0);
}

/* So many above the one that ends that they fold: the ops stay exact. */
static void ended_out_of_order_far_below(void **state)
{
    (void)state;
    run_many(1 << 26, DEEP | NO_RECURSION);
    run_many(1 << 26, DEEP);
}

/* Nothing is left for places: others took it all. */
static void exact_from_the_reserve(void **state)
{
    (void)state;
    run_with_reserve(0, 1 << 26, NO_REMOVE);
    run_with_reserve(0, 1 << 26, 0);
    run_with_reserve(0, 1 << 26, DEEP);
    run_with_reserve(64 * 1024, 1 << 26, 0);
}

/* No room for new places in the tree: the ops stay exact. */
static void folded_for_want_of_memory(void **state)
{
    (void)state;
    run_many(256 * 1024, NO_REMOVE | NO_RECURSION);
}

static void folded_with_recursion(void **state)
{
    (void)state;
    run_many(256 * 1024, NO_REMOVE);
}

static void merge_into(uint64_t limit, uint64_t reserve)
{
    struct owned sum, part;
    init_with_reserve(&sum, limit, reserve);
    struct sums want[NAMES] = {{0, 0, 0}};
    uint64_t counts[NAMES] = {0};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        init_owned(&part, 1 << 26);
        run(&part, seed * 104729, 2000, NO_REMOVE);
        for (uint32_t i = 0; i < NAMES; i++) {
            struct sums s = sums_of(&part.t, FIRST + i);
            want[i].calls += s.calls;
            want[i].total += s.total;
            want[i].self += s.self;
            counts[i] += in_histogram(&part.t, FIRST + i);
        }
        axp__tally_merge(&sum.t, &part.t, 5);
        fini_owned(&part);
    }
    for (uint32_t i = 0; i < NAMES; i++) {
        struct sums s = sums_of(&sum.t, FIRST + i);
        assert_int_equal(s.calls, want[i].calls);
        assert_int_equal(s.total, want[i].total);
        assert_int_equal(s.self, want[i].self);
        assert_int_equal(in_histogram(&sum.t, FIRST + i), counts[i]);
        assert_int_equal(axp__tally_op(&sum.t, FIRST + i)->lifetime_ticks, 50);
    }
    fini_owned(&sum);
}

static void merging_adds_everything_up(void **state)
{
    (void)state;
    merge_into(1 << 26, 0);
}

/* Recursive places of the parts find none in the sum. */
static void merging_into_a_full_one(void **state)
{
    (void)state;
    merge_into(0, 1 << 26);
}

/* What was taken from the budget is given back. */
static void memory_is_returned(void **state)
{
    (void)state;
    struct owned o;
    init_owned(&o, 1 << 26);
    run(&o, 17, 20000, NO_REMOVE);
    assert_true(o.budget.used_bytes > 0);
    fini_owned(&o);
    assert_int_equal(o.budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_scopes),
        cmocka_unit_test(ended_out_of_order),
        cmocka_unit_test(ended_out_of_order_with_recursion),
        cmocka_unit_test(ended_out_of_order_far_below),
        cmocka_unit_test(exact_from_the_reserve),
        cmocka_unit_test(folded_for_want_of_memory),
        cmocka_unit_test(folded_with_recursion),
        cmocka_unit_test(merging_adds_everything_up),
        cmocka_unit_test(merging_into_a_full_one),
        cmocka_unit_test(memory_is_returned),
    };
    return TS_RUN(tests);
}
