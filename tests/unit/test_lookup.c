/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of blocks: puts and takes against an array; four threads. */
#include "test_support.h"

#include "tally/tally_lookup.h"

#define KEYS 60000u

static uint64_t key_of(uint64_t i, uint64_t stride)
{
    return 0x7f0000000000u + i * stride;
}

static void against_an_array(uint64_t stride)
{
    struct axp__budget budget = {.limit_bytes = 1u << 28};
    struct axp__lookup m = {.budget = &budget};
    uint64_t *held = calloc(KEYS, sizeof *held), rng = 5, got;
    for (uint64_t r = 0; r < 600000; r++) {
        uint64_t i = ts_random(&rng) % KEYS, key = key_of(i, stride);
        if (ts_random(&rng) % 5 < 3) {
            uint64_t value = r + 1;
            enum axp__put_result x = axp__lookup_put(&m, key, value, &got);
            assert_int_equal(x, held[i] ? AXP__PUT_REPLACED : AXP__PUT_NEW);
            if (held[i]) assert_int_equal(got, held[i]);
            held[i] = value;
        } else {
            assert_int_equal(axp__lookup_take(&m, key, &got), held[i] != 0);
            if (held[i]) assert_int_equal(got, held[i]);
            held[i] = 0;
        }
    }
    axp__lookup_clear(&m);
    assert_int_equal(budget.used_bytes, 0);
    free(held);
}

static void random_puts_and_takes(void **state)
{
    (void)state;
    against_an_array(16);
    against_an_array(4096);
    against_an_array(1u << 21);
}

static void without_budget_it_is_full(void **state)
{
    (void)state;
    struct axp__budget budget = {.limit_bytes =
                                     4096 * sizeof(struct axp__slot)};
    struct axp__lookup m = {.budget = &budget};
    uint64_t old, n = 0, value;
    while (axp__lookup_put(&m, key_of(n, 64), n, &old) == AXP__PUT_NEW)
        n++;
    assert_true(n > 1000 && n <= 4096);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(axp__lookup_take(&m, key_of(i, 64), &value));
        assert_int_equal(value, i);
    }
    assert_false(axp__lookup_take(&m, key_of(n, 64), &value));
    axp__lookup_clear(&m);
}

struct party {
    struct axp__lookup *m;
    uint64_t first;
    uint64_t n_wrong;
};

/* Keys of its own, side by side with the others'. */
static void *put_and_take(void *arg)
{
    struct party *x = arg;
    uint64_t rng = x->first + 1, got;
    uint64_t *held = calloc(10000, sizeof *held);
    for (uint64_t r = 0; r < (TS_SLOW ? 50000 : 300000); r++) {
        uint64_t i = ts_random(&rng) % 10000;
        uint64_t key = key_of(i * 4 + x->first, 16);
        if (held[i]) {
            if (!axp__lookup_take(x->m, key, &got) || got != held[i])
                x->n_wrong++;
            held[i] = 0;
        } else {
            held[i] = r + 1;
            if (axp__lookup_put(x->m, key, r + 1, &got) != AXP__PUT_NEW)
                x->n_wrong++;
        }
    }
    for (uint64_t i = 0; i < 10000; i++)
        if (held[i] &&
            !axp__lookup_take(x->m, key_of(i * 4 + x->first, 16), &got))
            x->n_wrong++;
    free(held);
    return NULL;
}

static void four_threads(void **state)
{
    (void)state;
    struct axp__budget budget = {.limit_bytes = 1u << 28};
    struct axp__lookup m = {.budget = &budget};
    struct party x[4];
    pthread_t t[4];
    for (uint64_t i = 0; i < 4; i++) {
        x[i] = (struct party){&m, i, 0};
        t[i] = ts_spawn(put_and_take, &x[i]);
    }
    for (int i = 0; i < 4; i++) {
        ts_join(t[i]);
        assert_int_equal(x[i].n_wrong, 0);
    }
    axp__lookup_clear(&m);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_puts_and_takes),
        cmocka_unit_test(without_budget_it_is_full),
        cmocka_unit_test(four_threads),
    };
    return TS_RUN(tests);
}
