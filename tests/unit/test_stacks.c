/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of stacks: each once, whatever comes at once; its limit; what its
 * bytes say. */
#include "test_support.h"

#include "base/base_budget.h"
#include "tally/tally_stacks.h"
#include "wire/wire_stack.h"

static struct axp__budget budget = {.limit_bytes = (uint64_t)1 << 30};
static struct axp__stacks stacks;

static uint32_t intern(const uint64_t *frames, size_t n)
{
    uint8_t bytes[AXP__STACK_BYTES(AXP__STACK_RECORDED)];
    size_t len = axp__stack_put(bytes, frames, n);
    return axp__stacks_intern(&stacks, &budget, bytes, (uint32_t)len);
}

static size_t get(uint32_t id, uint64_t *out, size_t cap)
{
    const struct axp__stack_bytes *s = axp__stacks_at(&stacks, id);
    if (!s) return 0;
    struct axp__bytes b = {s->bytes, s->bytes + s->n, false};
    size_t n = axp__stack_get(&b, out, cap);
    assert_false(b.is_bad);
    assert_ptr_equal(b.at, b.end);
    return n;
}

/* A stack that its number determines. */
static size_t make(uint64_t number, uint64_t *out)
{
    size_t n = 1 + number % 40;
    for (size_t i = 0; i < n; i++)
        out[i] = 0x7f0000000000u + (number << 12) + i * 0x123;
    return n;
}

static int clear(void **state)
{
    (void)state;
    axp__stacks_clear(&stacks, &budget);
    assert_int_equal(budget.used_bytes, 0);
    budget.limit_bytes = (uint64_t)1 << 30;
    return 0;
}

static void bytes_are_what_was_put(void **state)
{
    (void)state;
    uint64_t frames[AXP__STACK_RECORDED], out[AXP__STACK_RECORDED];
    uint8_t bytes[AXP__STACK_BYTES(AXP__STACK_RECORDED)];
    for (size_t i = 0; i < AXP__STACK_RECORDED; i++)
        frames[i] = i % 2 ? UINT64_MAX - i : i;
    size_t len = axp__stack_put(bytes, frames, AXP__STACK_RECORDED);
    struct axp__bytes b = {bytes, bytes + len, false};
    assert_int_equal(axp__stack_get(&b, out, AXP__STACK_RECORDED),
                     AXP__STACK_RECORDED);
    assert_memory_equal(frames, out, sizeof frames);
    for (size_t cut = 0; cut < len; cut++) { /* never past the end */
        b = (struct axp__bytes){bytes, bytes + cut, false};
        assert_int_equal(axp__stack_get(&b, out, AXP__STACK_RECORDED), 0);
        assert_true(b.is_bad);
    }
    uint8_t many[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
    b = (struct axp__bytes){many, many + sizeof many, false};
    assert_int_equal(axp__stack_get(&b, out, 1), 0);
    assert_true(b.is_bad);
}

static void each_is_stored_once(void **state)
{
    (void)state;
    uint64_t frames[64], out[64];
    enum { N = 20000 };
    static uint32_t ids[N];
    assert_int_equal(axp__stacks_end(&stacks), AXP__STACK_FIRST);
    for (uint64_t i = 0; i < N; i++) {
        size_t n = make(i, frames);
        ids[i] = intern(frames, n);
        assert_int_equal(ids[i], AXP__STACK_FIRST + i);
    }
    for (uint64_t i = 0; i < N; i++) {
        size_t n = make(i, frames);
        assert_int_equal(intern(frames, n), ids[i]);
        assert_int_equal(get(ids[i], out, 64), n);
        assert_memory_equal(frames, out, n * 8);
    }
    assert_int_equal(axp__stacks_end(&stacks), AXP__STACK_FIRST + N);
}

static void past_the_limit_there_is_no_room(void **state)
{
    (void)state;
    uint64_t frames[64], out[64];
    uint32_t id = 0, last = 0, n_full = 0;
    budget.limit_bytes = 4u << 20;
    for (uint64_t i = 0; i < 100000; i++) {
        size_t n = make(i, frames);
        id = intern(frames, n);
        if (id == AXP__STACK_NO_ROOM)
            n_full++;
        else
            last = id;
    }
    assert_true(n_full > 10000);
    assert_true(last > 1000);
    assert_true(budget.used_bytes <= budget.limit_bytes / 4);
    /* What was there is found still. */
    size_t n = make(17, frames);
    assert_int_equal(intern(frames, n), AXP__STACK_FIRST + 17);
    assert_int_equal(get(AXP__STACK_FIRST + 17, out, 64), n);
    assert_int_equal(axp__stacks_end(&stacks), last + 1);
}

/* ---- threads ------------------------------------------------------------------------ */

enum { THREADS = 4, STACKS = TS_SLOW ? 2000 : 20000 };
static uint32_t seen[THREADS][STACKS];
static pthread_barrier_t start;

static void *intern_all(void *arg)
{
    uint64_t frames[64];
    size_t who = (size_t)arg;
    pthread_barrier_wait(&start);
    for (uint64_t i = 0; i < STACKS; i++) {
        size_t n = make(i, frames);
        seen[who][i] = intern(frames, n);
    }
    return NULL;
}

static void threads_that_meet_get_one_id(void **state)
{
    (void)state;
    pthread_t t[THREADS];
    uint64_t frames[64], out[64];
    pthread_barrier_init(&start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, intern_all, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    uint32_t n_whole = 0;
    for (uint64_t i = 0; i < STACKS; i++) {
        for (size_t k = 1; k < THREADS; k++)
            assert_int_equal(seen[k][i], seen[0][i]);
        size_t n = make(i, frames);
        assert_int_equal(get(seen[0][i], out, 64), n);
        assert_memory_equal(frames, out, n * 8);
    }
    for (uint32_t id = AXP__STACK_FIRST; id < axp__stacks_end(&stacks); id++)
        n_whole += axp__stacks_at(&stacks, id) != NULL;
    assert_int_equal(n_whole, STACKS); /* the others are void */
    pthread_barrier_destroy(&start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(bytes_are_what_was_put, clear),
        cmocka_unit_test_teardown(each_is_stored_once, clear),
        cmocka_unit_test_teardown(past_the_limit_there_is_no_room, clear),
        cmocka_unit_test_teardown(threads_that_meet_get_one_id, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
