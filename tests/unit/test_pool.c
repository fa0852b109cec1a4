/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The pool of chunks: grows to its size, then gives the oldest full one. */
#include "test_support.h"

#include <signal.h>

#include "record/record_pool.h"

/* No words, as a reader sees it: a 0 where the first head should be. */
static bool is_clear(const struct axp__chunk *c)
{
    return c->words[0] == 0 && c->seq == 0;
}

static void fill(struct axp__chunk *c, uint64_t seq)
{
    c->seq = seq;
    memset(c->words, 0x55, sizeof c->words);
}

/* As a lane does whose words reached the chunk's end. */
static void seal(struct axp__pool *pool, struct axp__chunk *c, uint64_t n)
{
    axp__pool_seal(pool, c, AXP__CHUNK_WORDS, n);
}

static void the_oldest_full_chunk_comes_again(void **state)
{
    (void)state;
    struct axp__pool pool;
    struct axp__chunk *first[8];
    assert_true(axp__pool_init(&pool, 8 * AXP__CHUNK_BYTES, 0));
    for (uint64_t i = 0; i < 8; i++) {
        first[i] = axp__pool_take(&pool);
        assert_non_null(first[i]);
        assert_true(is_clear(first[i]));
        for (uint64_t k = 0; k < i; k++)
            assert_ptr_not_equal(first[i], first[k]);
        fill(first[i], i + 1);
        seal(&pool, first[i], 100);
    }
    for (uint64_t i = 0; i < 20; i++) {
        struct axp__chunk *c = axp__pool_take(&pool);
        assert_ptr_equal(c, first[i % 8]);
        assert_true(is_clear(c));
        fill(c, i + 9);
        seal(&pool, c, 100);
    }
    assert_int_equal(axp__pool_size(&pool), 8);
    axp__pool_fini(&pool);
}

/* Nobody waits: past its size it lends a little more, and then nothing. */
static void when_all_are_in_use_it_grows_and_ends(void **state)
{
    (void)state;
    struct axp__pool pool;
    uint64_t n = 0;
    assert_true(axp__pool_init(&pool, 4 * AXP__CHUNK_BYTES, 0));
    while (axp__pool_take(&pool))
        n++;
    assert_int_equal(n, 4 + AXP__POOL_SLACK);
    axp__pool_fini(&pool);
}

static void with_a_capacity_it_stays_small(void **state)
{
    (void)state;
    struct axp__pool pool;
    uint64_t bytes = axp__pool_bytes_for(1000);
    assert_true(axp__pool_init(&pool, 100 * bytes, 1000));
    for (uint64_t i = 0; i < 5000; i++) {
        struct axp__chunk *c = axp__pool_take(&pool);
        fill(c, i + 1);
        seal(&pool, c, AXP__CHUNK_WORDS);
    }
    assert_true(axp__pool_size(&pool) < 12);
    axp__pool_fini(&pool);
}

static void reset_frees_all(void **state)
{
    (void)state;
    struct axp__pool pool;
    assert_true(axp__pool_init(&pool, 4 * AXP__CHUNK_BYTES, 0));
    for (uint64_t i = 0; i < 4; i++)
        fill(axp__pool_take(&pool), i + 1); /* and never sealed */
    axp__pool_reset(&pool);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(axp__pool_at(&pool, i)->seq, 0);
    for (uint64_t i = 0; i < 4; i++)
        assert_true(is_clear(axp__pool_take(&pool)));
    assert_int_equal(axp__pool_size(&pool), 4);
    axp__pool_fini(&pool);
}

struct user {
    struct axp__pool *pool;
    uint64_t id, n_wrong;
};

static void *take_and_seal(void *arg)
{
    struct user *u = arg;
    for (uint64_t i = 0; i < 5000; i++) {
        struct axp__chunk *c = axp__pool_take(u->pool);
        if (!c) {
            u->n_wrong++;
            continue;
        }
        c->words[0] = c->words[AXP__CHUNK_WORDS - 1] = u->id;
        sched_yield(); /* somebody else would write here if they had it too */
        if (c->words[0] != u->id || c->words[AXP__CHUNK_WORDS - 1] != u->id)
            u->n_wrong++;
        __atomic_store_n(&c->seq, i + 1, __ATOMIC_RELEASE);
        seal(u->pool, c, 1);
    }
    return NULL;
}

static void a_chunk_has_one_owner(void **state)
{
    (void)state;
    struct axp__pool pool;
    struct user u[4];
    pthread_t t[4];
    assert_true(axp__pool_init(&pool, 6 * AXP__CHUNK_BYTES, 0));
    for (uint64_t i = 0; i < 4; i++) {
        u[i] = (struct user){&pool, i + 1, 0};
        t[i] = ts_spawn(take_and_seal, &u[i]);
    }
    for (int i = 0; i < 4; i++) {
        ts_join(t[i]);
        assert_int_equal(u[i].n_wrong, 0);
    }
    axp__pool_fini(&pool);
}

/* ---- a thread that is stopped ------------------------------------------------ */

#define STOPS (TS_SLOW ? 50 : 400)
#define TURNS_MEANWHILE 4000u /* more than the pool has chunks and cells */

static struct {
    struct axp__pool pool;
    uint64_t n_turns, n_none; /* of those that go on */
    uint32_t is_over, n_stops;
} stopped;

static uint64_t count(const uint64_t *n)
{
    return __atomic_load_n(n, __ATOMIC_RELAXED);
}

/* Wherever the thread is: the others go on for a while. */
static void stop_here(int sig)
{
    (void)sig;
    uint64_t until = count(&stopped.n_turns) + TURNS_MEANWHILE;
    while (count(&stopped.n_turns) < until)
        sched_yield();
    __atomic_add_fetch(&stopped.n_stops, 1, __ATOMIC_RELEASE);
}

static void *turn_over(void *is_stopped)
{
    while (!__atomic_load_n(&stopped.is_over, __ATOMIC_RELAXED)) {
        struct axp__chunk *c = axp__pool_take(&stopped.pool);
        if (c) seal(&stopped.pool, c, 1);
        if (is_stopped) continue;
        if (!c) __atomic_add_fetch(&stopped.n_none, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&stopped.n_turns, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void a_thread_that_is_stopped_stops_nobody(void **state)
{
    (void)state;
    struct sigaction act = {.sa_handler = stop_here, .sa_flags = SA_RESTART};
    pthread_t t[2];
    assert_true(axp__pool_init(&stopped.pool, 6 * AXP__CHUNK_BYTES, 0));
    assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
    t[0] = ts_spawn(turn_over, &stopped);
    t[1] = ts_spawn(turn_over, NULL);
    for (uint32_t i = 0; i < STOPS; i++) {
        assert_int_equal(pthread_kill(t[0], SIGUSR1), 0);
        while (__atomic_load_n(&stopped.n_stops, __ATOMIC_ACQUIRE) <= i)
            sched_yield();
    }
    __atomic_store_n(&stopped.is_over, 1, __ATOMIC_RELAXED);
    ts_join(t[0]);
    ts_join(t[1]);
    assert_int_equal(stopped.n_none, 0);
    assert_true(axp__pool_size(&stopped.pool) <= 6);
    axp__pool_fini(&stopped.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_full_chunk_comes_again),
        cmocka_unit_test(when_all_are_in_use_it_grows_and_ends),
        cmocka_unit_test(with_a_capacity_it_stays_small),
        cmocka_unit_test(reset_frees_all),
        cmocka_unit_test(a_chunk_has_one_owner),
        cmocka_unit_test(a_thread_that_is_stopped_stops_nobody),
    };
    return TS_RUN(tests);
}
