/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Live bytes in purses: events of several lanes, one after the other, against
 * a model that knows everything; then threads that race. */
#include "test_support.h"

#include "tally/tally_memory.h"

#define LANES 5u
#define NAMES 4u

struct lane {
    struct axp__purse *all, *own[NAMES];
};

struct world {
    struct axp__budget budget;
    struct axp__memory m;
    struct axp__live_name *live[NAMES];
    struct lane lane[LANES];
};

static struct world *new_world(void)
{
    struct world *w = NULL;
    assert_int_equal(posix_memalign((void **)&w, 64, sizeof *w), 0);
    memset(w, 0, sizeof *w);
    w->budget.limit_bytes = (uint64_t)1 << 28;
    w->m.budget = &w->budget;
    for (uint32_t i = 0; i < NAMES; i++)
        w->live[i] = axp__memory_get(&w->m, 10 + 1000 * i);
    return w;
}

static void free_world(struct world *w)
{
    axp__memory_clear(&w->m);
    assert_int_equal(w->budget.used_bytes, 0);
    free(w);
}

static struct axp__purses purses(struct world *w, uint32_t lane, uint32_t name)
{
    struct lane *l = &w->lane[lane];
    if (!l->all) l->all = axp__memory_join(&w->m);
    if (!l->own[name])
        l->own[name] = axp__memory_join_name(&w->m, w->live[name]);
    assert_non_null(l->all);
    assert_non_null(l->own[name]);
    return (struct axp__purses){l->own[name], l->all};
}

static uint64_t current_of(const struct world *w, uint32_t name)
{
    return axp__live_bytes(
        axp__memory_read(&w->m, &w->live[name]->account).held);
}

/* ---- one after the other ------------------------------------------------------ */

struct model {
    uint64_t all, peak, held[NAMES], own_peak[NAMES], at_peak[NAMES];
};

static void model_alloc(struct model *x, uint32_t name, uint64_t bytes)
{
    x->held[name] += bytes;
    x->all += bytes;
    if (x->held[name] > x->own_peak[name]) x->own_peak[name] = x->held[name];
    if (x->all <= x->peak) return;
    x->peak = x->all;
    memcpy(x->at_peak, x->held, sizeof x->held);
}

static uint64_t model_free(struct model *x, uint32_t name, uint64_t bytes)
{
    uint64_t excess = bytes > x->held[name] ? bytes - x->held[name] : 0;
    x->held[name] -= bytes - excess;
    x->all -= bytes < x->all ? bytes : x->all;
    return excess;
}

static void compare(struct world *w, const struct model *x)
{
    assert_int_equal(axp__memory_current(&w->m), x->all);
    assert_int_equal(axp__memory_peak(&w->m), x->peak);
    for (uint32_t i = 0; i < NAMES; i++) {
        struct axp__live_state s =
            axp__memory_read(&w->m, &w->live[i]->account);
        assert_int_equal(axp__live_bytes(s.held), x->held[i]);
        assert_int_equal(axp__live_bytes(s.held_at_peak), x->at_peak[i]);
        assert_int_equal(w->live[i]->account.peak_bytes, x->own_peak[i]);
    }
}

/* The lane's thread ends; another one comes in its place. */
static void replace(struct world *w, uint32_t lane)
{
    struct lane *l = &w->lane[lane];
    axp__memory_release(&w->m, axp__purse_ref(l->all));
    for (uint32_t i = 0; i < NAMES; i++)
        axp__memory_release(&w->m, axp__purse_ref(l->own[i]));
    *l = (struct lane){0};
}

/* n_lanes 1: nobody else ever takes part. Frees may be of too much. */
static void against_the_model(uint32_t n_lanes, uint64_t frees_in_8)
{
    struct world *w = new_world();
    struct model x = {0};
    uint64_t rng = 11 + n_lanes;
    for (int r = 0; r < 30000; r++) {
        uint32_t lane = (uint32_t)(ts_random(&rng) % n_lanes);
        uint32_t name = (uint32_t)(ts_random(&rng) % NAMES);
        uint64_t bytes = ts_random(&rng) % 1000;
        struct axp__purses own = purses(w, lane, name);
        if (ts_random(&rng) % 8 < frees_in_8) {
            /* now and then as much as there is, and more */
            if (ts_random(&rng) % 16 == 0) bytes = x.held[name] + bytes % 2;
            assert_int_equal(axp__memory_free(&w->m, own, bytes),
                             model_free(&x, name, bytes));
        } else {
            axp__memory_alloc(&w->m, own, bytes, (uint64_t)r + 1, lane);
            model_alloc(&x, name, bytes);
        }
        compare(w, &x);
        if (n_lanes > 1 && ts_random(&rng) % 200 == 0) replace(w, lane);
    }
    assert_int_equal(!(w->m.stamp & AXP__STAMP_SHARED), n_lanes == 1);
    free_world(w);
}

static void events_of_one_lane(void **state)
{
    (void)state;
    against_the_model(1, 3);
    against_the_model(1, 5);
}

static void events_of_lanes_in_turn(void **state)
{
    (void)state;
    against_the_model(2, 3);
    against_the_model(LANES, 3);
    against_the_model(LANES, 4);
    against_the_model(LANES, 5);
}

/* Room that one lane has is found by another, whoever offers it. */
static void room_moves_between_lanes(void **state)
{
    (void)state;
    struct world *w = new_world();
    for (uint32_t i = 0; i < LANES; i++) {
        axp__memory_alloc(&w->m, purses(w, i, 0), 100, 1, i);
        axp__memory_free(&w->m, purses(w, i, 0), 100);
    }
    assert_int_equal(axp__memory_peak(&w->m), 100);
    for (uint32_t i = 0; i < LANES; i++)
        axp__memory_alloc(&w->m, purses(w, i, 0), 20, 1, i);
    assert_int_equal(axp__memory_peak(&w->m), 100); /* five times 20 */
    assert_int_equal(axp__memory_free(&w->m, purses(w, 0, 0), 100), 0);
    axp__memory_alloc(&w->m, purses(w, 3, 1), 101, 1, 3);
    assert_int_equal(axp__memory_peak(&w->m), 101);
    assert_int_equal(w->live[0]->account.peak_bytes, 100);
    free_world(w);
}

static void since_the_oldest_that_is_held(void **state)
{
    (void)state;
    struct world *w = new_world();
    axp__memory_alloc(&w->m, purses(w, 0, 0), 10, 5, 70);
    axp__memory_alloc(&w->m, purses(w, 1, 0), 10, 6, 71);
    axp__memory_alloc(&w->m, purses(w, 0, 0), 10, 7, 70);
    struct axp__live_state s = axp__memory_read(&w->m, &w->live[0]->account);
    assert_int_equal(s.since_ticks, 5);
    assert_int_equal(s.since_row, 70);
    axp__memory_free(&w->m, purses(w, 0, 0), 20);
    axp__memory_free(&w->m, purses(w, 1, 0), 10);
    axp__memory_alloc(&w->m, purses(w, 1, 0), 1, 9, 71);
    s = axp__memory_read(&w->m, &w->live[0]->account);
    assert_int_equal(s.since_ticks, 9);
    assert_int_equal(s.since_row, 71);
    free_world(w);
}

/* ---- threads that race --------------------------------------------------------- */

#define THREADS 4u
#define BLOCK 16u

struct racer {
    struct world *w;
    pthread_barrier_t *barrier;
    uint32_t lane;
    uint64_t n_rounds, excess;
    uint64_t *target; /* of all threads, for this round */
};

static void go_to(struct racer *x, uint64_t *held, uint64_t target)
{
    struct axp__purses own = purses(x->w, x->lane, 0);
    while (*held < target) {
        axp__memory_alloc(&x->w->m, own, BLOCK, 1, x->lane);
        *held += BLOCK;
    }
    while (*held > target) {
        x->excess += axp__memory_free(&x->w->m, own, BLOCK);
        *held -= BLOCK;
    }
}

static void *race(void *arg)
{
    struct racer *x = arg;
    uint64_t held = 0;
    for (uint64_t r = 0; r < x->n_rounds; r++) {
        pthread_barrier_wait(x->barrier);
        go_to(x, &held, x->target[x->lane]);
        pthread_barrier_wait(x->barrier);
    }
    return NULL;
}

/* Each round every thread goes to a new level. Between rounds what is live is
 * known; while threads only rose or only fell, so is the peak, give or take a
 * block a thread. */
static void the_peak_of_racing_threads(void **state)
{
    (void)state;
    const uint64_t rounds = TS_SLOW ? 200 : 2000;
    struct world *w = new_world();
    pthread_barrier_t barrier;
    uint64_t target[THREADS] = {0}, rng = 3, most = 0, before = 0;
    struct racer x[THREADS];
    pthread_t t[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (uint32_t i = 0; i < THREADS; i++) {
        x[i] = (struct racer){w, &barrier, i, rounds, 0, target};
        t[i] = ts_spawn(race, &x[i]);
    }
    for (uint64_t r = 0; r < rounds; r++) {
        uint64_t all = 0, bound = 0, peak;
        for (uint32_t i = 0; i < THREADS; i++) {
            uint64_t old = target[i];
            target[i] = BLOCK * (ts_random(&rng) % 100);
            all += target[i];
            bound += target[i] > old ? target[i] : old;
        }
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        peak = axp__memory_peak(&w->m);
        if (all > most) most = all;
        if (bound + BLOCK * THREADS > before) before = bound + BLOCK * THREADS;
        assert_int_equal(axp__memory_current(&w->m), all);
        assert_int_equal(current_of(w, 0), all);
        assert_true(peak >= most);
        assert_true(peak <= before);
        /* Name and total are two accounts: a thread may be between them. */
        assert_in_range(w->live[0]->account.peak_bytes + BLOCK * THREADS, peak,
                        peak + 2 * BLOCK * THREADS);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        ts_join(t[i]);
        assert_int_equal(x[i].excess, 0);
    }
    pthread_barrier_destroy(&barrier);
    free_world(w);
}

/* From nothing, together, up: the peak is the sum. */
static void the_peak_of_threads_that_grow(void **state)
{
    (void)state;
    for (int r = 0; r < (TS_SLOW ? 20 : 300); r++) {
        struct world *w = new_world();
        pthread_barrier_t barrier;
        uint64_t target[THREADS] = {160, 1600, 800, 320};
        struct racer x[THREADS];
        pthread_t t[THREADS];
        pthread_barrier_init(&barrier, NULL, THREADS);
        for (uint32_t i = 0; i < THREADS; i++) {
            x[i] = (struct racer){w, &barrier, i, 1, 0, target};
            t[i] = ts_spawn(race, &x[i]);
        }
        for (uint32_t i = 0; i < THREADS; i++)
            ts_join(t[i]);
        assert_int_equal(axp__memory_peak(&w->m), 2880);
        assert_int_equal(axp__memory_current(&w->m), 2880);
        assert_int_equal(w->live[0]->account.peak_bytes, 2880);
        pthread_barrier_destroy(&barrier);
        free_world(w);
    }
}

#define RING 64u
struct belt { /* from one thread to another */
    struct world *w;
    uint64_t put, taken; /* blocks */
    uint32_t lane;
    uint64_t n, excess;
};

static void *produce(void *arg)
{
    struct belt *x = arg;
    struct axp__purses own = purses(x->w, x->lane, 1);
    for (uint64_t i = 0; i < x->n; i++) {
        while (i - axp__get_acquire(&x->taken) >= RING)
            sched_yield();
        axp__memory_alloc(&x->w->m, own, i % 100, 1, x->lane);
        axp__put_release(&x->put, i + 1);
    }
    return NULL;
}

static void *consume(void *arg)
{
    struct belt *x = arg;
    struct axp__purses own = purses(x->w, x->lane + 1, 1);
    for (uint64_t i = 0; i < x->n; i++) {
        while (axp__get_acquire(&x->put) <= i)
            sched_yield();
        x->excess += axp__memory_free(&x->w->m, own, i % 100);
        axp__put_release(&x->taken, i + 1);
    }
    return NULL;
}

/* Two pairs with one name: each frees what the other allocated, or what the
 * other pair did, and nothing is ever missing. */
static void freed_by_others(void **state)
{
    (void)state;
    struct world *w = new_world();
    struct belt x[2];
    pthread_t t[4];
    for (uint32_t i = 0; i < 2; i++) {
        x[i] = (struct belt){.w = w, .lane = 2 * i};
        x[i].n = TS_SLOW ? 20000 : 300000;
        t[2 * i] = ts_spawn(produce, &x[i]);
        t[2 * i + 1] = ts_spawn(consume, &x[i]);
    }
    for (int i = 0; i < 4; i++)
        ts_join(t[i]);
    assert_int_equal(x[0].excess + x[1].excess, 0);
    assert_int_equal(axp__memory_current(&w->m), 0);
    assert_int_equal(current_of(w, 1), 0);
    assert_true(axp__memory_peak(&w->m) <= 2 * (RING + 2) * 100);
    free_world(w);
}

/* ---- memory ------------------------------------------------------------------------ */

static void many_names_and_no_memory(void **state)
{
    (void)state;
    struct world *w = new_world();
    w->budget.limit_bytes = 4u << 20;
    uint32_t n = 0;
    for (;; n++) {
        struct axp__live_name *live = axp__memory_get(&w->m, 3 + 2 * n);
        struct axp__purse *own =
            live ? axp__memory_join_name(&w->m, live) : NULL;
        if (!own) break;
        assert_int_equal(own->name, 3 + 2 * n);
    }
    assert_in_range(n, 20000, 33000); /* 128 bytes each, and some tables */
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(axp__memory_find(&w->m, 3 + 2 * i)->name, 3 + 2 * i);
    assert_null(axp__memory_find(&w->m, 4));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_one_lane),
        cmocka_unit_test(events_of_lanes_in_turn),
        cmocka_unit_test(room_moves_between_lanes),
        cmocka_unit_test(since_the_oldest_that_is_held),
        cmocka_unit_test(the_peak_of_racing_threads),
        cmocka_unit_test(the_peak_of_threads_that_grow),
        cmocka_unit_test(freed_by_others),
        cmocka_unit_test(many_names_and_no_memory),
    };
    return TS_RUN(tests);
}
