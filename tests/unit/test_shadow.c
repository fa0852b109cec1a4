/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks by address: puts and takes against an array, over kinds of addresses
 * and sizes, with and without memory; four threads. */
#include "test_support.h"

#include "tally/tally_shadow.h"

static uint64_t value_of(uint64_t bytes, uint32_t name)
{
    return bytes << AXP__NAME_BITS | name;
}

struct book { /* what is live, by index */
    struct axp__budget budget;
    struct axp__shadow s;
    uint64_t n, *held; /* value + 1 */
    uint64_t (*address)(uint64_t i);
};

static struct book *new_book(uint64_t n, uint64_t limit,
                             uint64_t (*address)(uint64_t))
{
    struct book *b = calloc(1, sizeof *b);
    b->budget.limit_bytes = limit;
    b->s.rest.budget = &b->budget;
    b->n = n;
    b->held = calloc(n, sizeof *b->held);
    b->address = address;
    return b;
}

static void free_book(struct book *b)
{
    axp__shadow_clear(&b->s);
    assert_int_equal(b->budget.used_bytes, 0);
    free(b->held);
    free(b);
}

/* Sizes of every kind, most of them ordinary. */
static uint64_t random_bytes(uint64_t *rng)
{
    uint64_t r = ts_random(rng);
    switch (r % 16) {
    case 0: return 0;
    case 1: return 1 + (r >> 8) % 16;
    case 2: return ((uint64_t)1 << 38) - 1 + (r >> 8) % 3;
    case 3: return ((uint64_t)1 << 44) - 1;
    case 4: return (r >> 8) % ((uint64_t)1 << 40);
    default: return 17 + (r >> 8) % 100000;
    }
}

static void put(struct book *b, uint64_t i, uint64_t value)
{
    uint64_t old = 0;
    enum axp__put_result r = axp__shadow_put(&b->s, b->address(i), value, &old);
    if (r == AXP__PUT_FULL) return; /* as if it had not been */
    assert_int_equal(r, b->held[i] ? AXP__PUT_REPLACED : AXP__PUT_NEW);
    if (b->held[i]) assert_int_equal(old, b->held[i] - 1);
    b->held[i] = value + 1;
}

static void take(struct book *b, uint64_t i)
{
    uint64_t value = 0;
    assert_int_equal(axp__shadow_take(&b->s, b->address(i), &value),
                     b->held[i] != 0);
    if (b->held[i]) assert_int_equal(value, b->held[i] - 1);
    b->held[i] = 0;
}

static void put_and_take(struct book *b, uint64_t rounds)
{
    uint64_t rng = 17;
    for (uint64_t r = 0; r < rounds; r++) {
        uint64_t i = ts_random(&rng) % b->n;
        if (ts_random(&rng) % 5 < 3)
            put(b, i,
                value_of(random_bytes(&rng),
                         (uint32_t)ts_random(&rng) % AXP__MAX_NAMES));
        else
            take(b, i);
    }
    for (uint64_t i = 0; i < b->n; i++)
        take(b, i);
    free_book(b);
}

/* ---- addresses ------------------------------------------------------------------ */

static uint64_t dense(uint64_t i)
{
    return 0x7f0000000000u + 64 * i;
}

/* Every one is within the one before, if that is larger than 16 bytes. */
static uint64_t nested(uint64_t i)
{
    return 0xaaaa00000000u - 4096 + 16 * i;
}

static uint64_t odd(uint64_t i)
{
    return 0x7f00007ff000u + 4 * i;
}

static uint64_t far_apart(uint64_t i)
{
    return i * 0x123456780u + 0x1000;
}

/* Regions that want the same place, more than there are. */
static uint64_t crowded(uint64_t i)
{
    return i % 32 * ((uint64_t)1 << 31) + i / 32 * 32;
}

static void ordinary_addresses(void **state)
{
    (void)state;
    put_and_take(new_book(50000, 1u << 28, dense), 500000);
}

static void blocks_within_blocks(void **state)
{
    (void)state;
    put_and_take(new_book(2000, 1u << 28, nested), 300000);
}

static void odd_addresses(void **state)
{
    (void)state;
    put_and_take(new_book(5000, 1u << 28, odd), 300000);
}

static void addresses_far_apart(void **state)
{
    (void)state;
    put_and_take(new_book(5000, 1u << 28, far_apart), 300000);
    put_and_take(new_book(5000, 1u << 28, crowded), 300000);
}

/* Some pages are refused; what is there is found all the same. */
static void little_memory(void **state)
{
    (void)state;
    put_and_take(new_book(50000, 300u << 10, dense), 300000);
    put_and_take(new_book(50000, 2u << 20, dense), 300000);
    put_and_take(new_book(5000, 1u << 20, far_apart), 300000);
    put_and_take(new_book(100, 1u << 10, dense), 10000); /* none at all */
}

/* One block far from others costs a page, however large it is. */
static void what_is_charged(void **state)
{
    (void)state;
    struct book *b = new_book(100, 1u << 28, far_apart);
    put(b, 0, value_of(1, 1));
    uint64_t before = b->budget.used_bytes;
    for (uint64_t i = 1; i < 100; i++)
        put(b, i, value_of((uint64_t)10 << 30, 1));
    assert_int_equal(b->budget.used_bytes - before, 99 * 4096);
    for (uint64_t i = 0; i < 100; i++)
        take(b, i);
    free_book(b);
    b = new_book(1u << 16, 1u << 28, dense);
    for (uint64_t i = 0; i < 1u << 16; i++)
        put(b, i, value_of(64, 2));
    assert_true(b->budget.used_bytes <= (1u << 20) + (512u << 10));
    free_book(b);
}

/* ---- threads ----------------------------------------------------------------------- */

struct party {
    struct axp__shadow *s;
    uint64_t first, n_wrong;
};

/* Blocks of its own, of all sizes that fit, between the others'. */
static void *use_blocks(void *arg)
{
    struct party *x = arg;
    uint64_t rng = x->first + 1, got, old;
    uint64_t *held = calloc(10000, sizeof *held);
    for (uint64_t r = 0; r < (TS_SLOW ? 50000 : 300000); r++) {
        uint64_t i = ts_random(&rng) % 10000;
        uint64_t key = 0x5500000fff00u + 16 * (i * 4 + x->first);
        if (held[i]) {
            if (!axp__shadow_take(x->s, key, &got) || got != held[i])
                x->n_wrong++;
            held[i] = 0;
        } else {
            held[i] = value_of(ts_random(&rng) % 17, (uint32_t)r & 0xfffff);
            if (axp__shadow_put(x->s, key, held[i], &old) != AXP__PUT_NEW)
                x->n_wrong++;
            if (!held[i]) (void)axp__shadow_take(x->s, key, &got);
        }
    }
    free(held);
    return NULL;
}

static void four_threads(void **state)
{
    (void)state;
    struct axp__budget budget = {.limit_bytes = 1u << 28};
    struct axp__shadow s = {.rest = {.budget = &budget}};
    struct party x[4];
    pthread_t t[4];
    for (uint64_t i = 0; i < 4; i++) {
        x[i] = (struct party){&s, i, 0};
        t[i] = ts_spawn(use_blocks, &x[i]);
    }
    for (int i = 0; i < 4; i++) {
        ts_join(t[i]);
        assert_int_equal(x[i].n_wrong, 0);
    }
    axp__shadow_clear(&s);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_addresses),
        cmocka_unit_test(blocks_within_blocks),
        cmocka_unit_test(odd_addresses),
        cmocka_unit_test(addresses_far_apart),
        cmocka_unit_test(little_memory),
        cmocka_unit_test(what_is_charged),
        cmocka_unit_test(four_threads),
    };
    return TS_RUN(tests);
}
