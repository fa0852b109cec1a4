/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether an op is open above a place, against a walk over all that is open:
 * many names and deep paths, so that the answer lies far up or is no; with
 * removals out of order, and without memory for places. */
#include "test_support.h"

#include "os/os_map.h"
#include "tally/tally_scope.h"

#define NAMES 150u
#define FIRST 10u /* ids of the names */
#define OTHER 1u
#define MOST_OPEN 400

static void retire(void *ctx, void *memory, size_t bytes)
{
    axp__unmap(memory, bytes);
    axp__budget_give(ctx, bytes);
}

static bool is_open_below(const struct axp__tally *t,
                          const struct axp__frame *f)
{
    for (const struct axp__frame *g = t->frames + 1; g < f; g++)
        if (g->op == f->op) return true;
    return false;
}

/* Of every frame: the place is recursive, or the frame a repetition. */
static void compare(const struct axp__tally *t)
{
    for (const struct axp__frame *f = t->frames + 1; f <= t->top; f++) {
        bool is_repeat = axp__frame_flags(f) & AXP__F_REPEAT;
        assert_int_equal(f->node->is_recursive || is_repeat,
                         is_open_below(t, f));
        assert_false(f->node->is_recursive && is_repeat);
    }
}

struct how {
    uint64_t limit_bytes;
    unsigned per_mille_removed; /* of events */
    unsigned steady;            /* events before it turns up or down */
};

static void run(uint64_t seed, const struct how *how)
{
    struct axp__budget budget = {.limit_bytes = how->limit_bytes,
                                 .reserve_bytes = 1 << 26};
    struct axp__tally_seed *first = calloc(1, sizeof *first);
    struct axp__tally t;
    uint64_t rng = seed * 7919, now = 1000;
    bool is_up = true;
    axp__tally_init(&t, first, &budget, OTHER);
    t.retire = retire;
    t.retire_ctx = &budget;
    for (unsigned i = 0; i < 4000; i++, now++) {
        long depth = t.top - t.frames;
        if (!(ts_random(&rng) % how->steady)) is_up = !is_up;
        if (depth == 0) is_up = true;
        if (depth == MOST_OPEN) is_up = false;
        if (depth > 1 && ts_random(&rng) % 1000 < how->per_mille_removed) {
            long at = 1 + (long)(ts_random(&rng) % (uint64_t)(depth - 1));
            axp__tally_remove(&t, &t.frames[at], now, true);
        } else if (is_up) {
            uint32_t name = FIRST + (uint32_t)(ts_random(&rng) % NAMES);
            assert_true(axp__tally_has_room(&t));
            axp__tally_push(&t, i % 31 ? name : OTHER, now);
        } else {
            axp__tally_pop(&t, now);
        }
        compare(&t);
    }
    axp__tally_fini(&t);
    free(first);
    assert_int_equal(budget.used_bytes, 0);
}

static void run_many(struct how how)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        run(seed, &how);
}

static void nested(void **state)
{
    (void)state;
    run_many((struct how){1 << 26, 0, 3});
    run_many((struct how){1 << 26, 0, 100});
}

static void out_of_order(void **state)
{
    (void)state;
    run_many((struct how){1 << 26, 30, 100});
    run_many((struct how){1 << 26, 200, 10});
}

/* First places, then none: what folds lies above what has places. */
static void folded(void **state)
{
    (void)state;
    run_many((struct how){1 << 18, 0, 100});
    run_many((struct how){1 << 18, 0, 5});
    run_many((struct how){0, 0, 100});
}

static void folded_out_of_order(void **state)
{
    (void)state;
    run_many((struct how){1 << 18, 30, 100});
    run_many((struct how){0, 30, 100});
    run_many((struct how){1 << 18, 200, 5});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested),
        cmocka_unit_test(out_of_order),
        cmocka_unit_test(folded),
        cmocka_unit_test(folded_out_of_order),
    };
    return TS_RUN(tests);
}
