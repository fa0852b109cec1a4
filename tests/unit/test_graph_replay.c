/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Replays beside a simulation: random programs of threads, barriers and locks
 * are run by a few lines of their own, once as they are, which makes a timeline,
 * and once with an operation's time changed, which is what the replay of that
 * timeline must say. And what no replay may depend on. */
#include <math.h>

#include "graph_script.h"

#define MOST_THREADS 5u
#define MOST_ITEMS 200u
#define OPS 6u
#define LAG 10u /* until who was waited for is awake */

enum what { WORK, BARRIER, LOCK, UNLOCK, END };

struct item {
    enum what what;
    uint32_t op;
    uint64_t ns;
};

struct program {
    struct item items[MOST_THREADS][MOST_ITEMS];
    uint32_t n_threads;
};

/* ---- random programs ------------------------------------------------------------ */

static struct program random_program(uint64_t *seed, bool has_locks)
{
    struct program p = {.n_threads = 2 + ts_random(seed) % 4};
    uint32_t n_rounds = 1 + ts_random(seed) % 12;
    for (uint32_t t = 0; t < p.n_threads; t++) {
        size_t n = 0;
        for (uint32_t r = 0; r < n_rounds; r++) {
            for (uint64_t k = ts_random(seed) % 5; k--;) {
                struct item work = {WORK, ts_random(seed) % OPS,
                                    1000 + ts_random(seed) % 100000};
                bool is_locked = has_locks && ts_random(seed) % 2;
                if (is_locked) p.items[t][n++] = (struct item){LOCK, 0, 0};
                p.items[t][n++] = work;
                if (is_locked) p.items[t][n++] = (struct item){UNLOCK, 0, 0};
            }
            p.items[t][n++] = (struct item){BARRIER, 0, 0};
        }
        p.items[t][n] = (struct item){END, 0, 0};
    }
    return p;
}

/* ---- run by hand ------------------------------------------------------------------ */

struct changes {
    double scale[OPS];
    uint64_t times; /* all of it so many times as long */
    bool is_split;  /* each operation is two, one after the other */
};

struct sim {
    const struct program *p;
    const struct changes *c;
    struct script *s; /* NULL: nothing is written down */
    uint64_t now[MOST_THREADS], wants[MOST_THREADS];
    size_t at[MOST_THREADS];
    bool is_blocked[MOST_THREADS];
    uint32_t queue[MOST_THREADS], n_queue, n_arrived, owner;
    uint64_t arrived[MOST_THREADS], round;
    uint64_t orders; /* of who had the lock, and whether he waited */
};

static void do_work(struct sim *x, uint32_t t, const struct item *i)
{
    uint64_t ns = (uint64_t)((double)i->ns * x->c->scale[i->op]) * x->c->times;
    if (x->s && x->c->is_split) {
        script_op(x->s, t, x->now[t], ns / 2, i->op);
        script_op(x->s, t, x->now[t] + ns / 2, ns - ns / 2, i->op + OPS);
    } else if (x->s) {
        script_op(x->s, t, x->now[t], ns, i->op);
    }
    x->now[t] += ns;
}

/* Who comes last lets all others go. */
static void come(struct sim *x, uint32_t t)
{
    uint64_t last = x->now[t];
    if (!x->n_arrived++) x->round++;
    x->arrived[t] = last;
    if (x->s) script_gave(x->s, t, last, AXP_SYNC_BARRIER, 1, x->round);
    x->is_blocked[t] = true;
    if (x->n_arrived < x->p->n_threads) return;
    x->n_arrived = 0;
    for (uint32_t i = 0; i < x->p->n_threads; i++) {
        x->is_blocked[i] = false;
        if (i == t) continue;
        x->now[i] = last + LAG * x->c->times;
        if (x->s)
            script_waited(x->s, i, x->now[i],
                          (struct script_wait){AXP_SYNC_BARRIER, 1, x->round,
                                               x->arrived[i], last, (int)t, 0,
                                               true});
    }
}

static void own(struct sim *x, uint32_t t, bool has_waited)
{
    x->owner = t + 1;
    x->orders = x->orders * 31 + 2 * t + has_waited;
}

static void want(struct sim *x, uint32_t t)
{
    if (!x->owner) {
        own(x, t, false);
        return;
    }
    x->is_blocked[t] = true;
    x->wants[t] = x->now[t];
    x->queue[x->n_queue++] = t;
}

static void release(struct sim *x, uint32_t t)
{
    uint64_t at = x->now[t];
    x->owner = 0;
    if (!x->n_queue) return;
    uint32_t next = x->queue[0];
    memmove(x->queue, x->queue + 1, --x->n_queue * sizeof *x->queue);
    x->is_blocked[next] = false;
    x->now[next] = at + LAG * x->c->times;
    own(x, next, true);
    if (!x->s) return;
    script_gave(x->s, t, at, AXP_SYNC_LOCK, 2, 0);
    script_waited(x->s, next, x->now[next],
                  (struct script_wait){AXP_SYNC_LOCK, 2, 0, x->wants[next], at,
                                       (int)t, 0, true});
}

/* Whoever is earliest goes on; how long all of it takes. */
static uint64_t simulate(const struct program *p, const struct changes *c,
                         struct script *s, uint64_t *orders)
{
    struct sim x = {.p = p, .c = c, .s = s};
    uint64_t end = 0;
    for (;;) {
        uint32_t t = MOST_THREADS;
        for (uint32_t i = 0; i < p->n_threads; i++)
            if (!x.is_blocked[i] && p->items[i][x.at[i]].what != END &&
                (t == MOST_THREADS || x.now[i] < x.now[t]))
                t = i;
        if (t == MOST_THREADS) break;
        const struct item *i = &p->items[t][x.at[t]++];
        switch (i->what) {
        case WORK: do_work(&x, t, i); break;
        case BARRIER: come(&x, t); break;
        case LOCK: want(&x, t); break;
        case UNLOCK: release(&x, t); break;
        case END: break;
        }
    }
    for (uint32_t i = 0; i < p->n_threads; i++)
        if (x.now[i] > end) end = x.now[i];
    if (orders) *orders = x.orders;
    return end;
}

static struct changes no_changes(void)
{
    struct changes c = {.times = 1};
    for (uint32_t i = 0; i < OPS; i++)
        c.scale[i] = 1;
    return c;
}

/* Rows begin at 0, whatever comes first in them. */
static struct script *begin_script(const struct program *p)
{
    struct script *s = script_create();
    for (uint32_t i = 0; i < p->n_threads; i++)
        script_word(s, i, 0, AXP__W_INSTANT, SCRIPT_FIRST + SCRIPT_OPS - 1);
    return s;
}

static axp_view *record(const struct program *p, const struct changes *c)
{
    struct script *s = begin_script(p);
    simulate(p, c, s, NULL);
    return script_view(s);
}

/* ---- as it would be ----------------------------------------------------------------- */

/* How often a replay was compared. */
static unsigned compare(uint64_t seed, bool has_locks)
{
    static const double factors[] = {0, 0.25, 0.5, 0.9, 1, 2};
    struct program p = random_program(&seed, has_locks);
    struct changes c = no_changes();
    uint64_t before, after;
    unsigned n = 0;
    axp_view *v = record(&p, &c);
    axp_graph *g = axp_graph_create(v);
    uint64_t was = simulate(&p, &c, NULL, &before);
    assert_non_null(g);
    assert_int_equal(script_wall(g, NULL), axp_view_duration(v));
    assert_int_equal(axp_view_duration(v), was);
    for (uint32_t op = 0; op < OPS; op++)
        for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
            char change[32];
            c = no_changes();
            c.scale[op] = factors[k];
            uint64_t real = simulate(&p, &c, NULL, &after);
            snprintf(change, sizeof change, "op%u=%g", op, factors[k]);
            const char *text = change;
            axp_whatif_options o = {.scale = &text, .n_scale = 1};
            axp_replay *r = NULL;
            if (axp_whatif(g, &o, &r)) continue; /* it has no such */
            uint64_t said = axp_replay_total(r).wall_ns;
            script_check(g, r);
            axp_replay_destroy(r);
            if (before != after) continue; /* others had the lock first */
            n++;
            uint64_t off = said > real ? said - real : real - said;
            if (off > MOST_ITEMS * LAG)
                fail_msg("seed %llu, %s: %llu, not %llu",
                         (unsigned long long)seed, change,
                         (unsigned long long)said, (unsigned long long)real);
        }
    axp_graph_destroy(g);
    axp_view_destroy(v);
    return n;
}

static void replays_are_what_a_simulation_says(void **state)
{
    unsigned n = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++)
        n += compare(seed * 77, false);
    assert_true(n > 1000);
}

static void with_locks_too_while_their_order_stays(void **state)
{
    unsigned n = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++)
        n += compare(seed * 99, true);
    assert_true(n > 500);
}

/* ---- what changes nothing -------------------------------------------------------------- */

struct shares {
    axp_path_part parts[64];
    size_t n;
    axp_ns wall;
};

static struct shares shares_of(axp_view *v)
{
    struct shares s;
    axp_graph *g = axp_graph_create(v);
    axp_replay *r = NULL;
    assert_non_null(g);
    assert_int_equal(axp_whatif(g, NULL, &r), AXP_OK);
    s.n = axp_replay_parts(r, s.parts, 64);
    s.wall = axp_replay_total(r).wall_ns;
    script_check(g, r);
    axp_replay_destroy(r);
    axp_graph_destroy(g);
    axp_view_destroy(v);
    return s;
}

static double share(const struct shares *s, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->parts[i].name, name)) sum += s->parts[i].share;
    return sum;
}

static void assert_same_shares(const struct shares *a, const struct shares *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->parts[i].share > 1e-6)
            assert_true(fabs(share(b, a->parts[i].name) -
                             share(a, a->parts[i].name)) < 1e-5);
}

static void all_times_ten_times_as_long_change_no_share(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t from = seed;
        struct program p = random_program(&from, true);
        struct changes c = no_changes();
        struct shares once = shares_of(record(&p, &c));
        c.times = 10;
        struct shares ten = shares_of(record(&p, &c));
        assert_int_equal(ten.wall, 10 * once.wall);
        assert_same_shares(&once, &ten);
        assert_same_shares(&ten, &once);
    }
}

static void an_idle_thread_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t from = seed;
        struct program p = random_program(&from, true);
        struct changes c = no_changes();
        struct shares without = shares_of(record(&p, &c));
        struct script *s = begin_script(&p);
        uint64_t end = simulate(&p, &c, s, NULL);
        script_word(s, 7, 0, AXP__W_INSTANT, SCRIPT_FIRST + SCRIPT_OPS - 1);
        script_waited(
            s, 7, end,
            (struct script_wait){AXP_SYNC_CONDITION, 9, 0, 0, 0, -1, 0, true});
        struct shares with = shares_of(script_view(s));
        assert_int_equal(with.wall, without.wall);
        assert_same_shares(&with, &without);
    }
}

static void an_operation_of_two_names_is_two_halves(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t from = seed;
        struct program p = random_program(&from, false);
        struct changes c = no_changes();
        struct shares whole = shares_of(record(&p, &c));
        c.is_split = true;
        struct shares split = shares_of(record(&p, &c));
        for (uint32_t op = 0; op < OPS; op++) {
            char a[8], b[8];
            snprintf(a, sizeof a, "op%u", op);
            snprintf(b, sizeof b, "op%u", op + OPS);
            assert_true(fabs(share(&split, a) - share(&whole, a) / 2) < 1e-4);
            assert_true(fabs(share(&split, b) - share(&whole, a) / 2) < 1e-4);
        }
    }
}

static void two_replays_are_one(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t from = seed;
        struct program p = random_program(&from, true);
        struct changes c = no_changes();
        struct shares a = shares_of(record(&p, &c));
        struct shares b = shares_of(record(&p, &c));
        assert_int_equal(a.n, b.n);
        for (size_t i = 0; i < a.n; i++) {
            assert_string_equal(a.parts[i].name, b.parts[i].name);
            assert_int_equal(a.parts[i].ns, b.parts[i].ns);
        }
    }
}

/* ---- recordings that claim anything ----------------------------------------------------- */

static uint64_t wild_time(uint64_t *seed, uint64_t at)
{
    switch (ts_random(seed) % 4) {
    case 0: return at;
    case 1: return at - ts_random(seed) % 500;
    case 2: return at + ts_random(seed) % 500;
    default: return ts_random(seed) >> (ts_random(seed) % 64);
    }
}

static void wild_record(struct script *s, uint64_t *seed, uint32_t row,
                        uint64_t at)
{
    uint32_t name = SCRIPT_WAIT + (uint32_t)(ts_random(seed) % 4);
    struct script_wait w = {(axp_sync_kind)(ts_random(seed) % 10),
                            ts_random(seed) % 3,
                            ts_random(seed) % 3,
                            wild_time(seed, at),
                            wild_time(seed, at),
                            (int)(ts_random(seed) % 12) - 1,
                            (axp_sync_verb)(ts_random(seed) % 5),
                            false};
    uint64_t id = ts_random(seed) % 3;
    switch (ts_random(seed) % 8) {
    case 0: script_word(s, row, at, AXP__W_BEGIN, name); break;
    case 1: script_word(s, row, at, AXP__W_END, name); break;
    case 2: script_word(s, row, at, AXP__W_START, name); break;
    case 3: script_word(s, row, at, AXP__W_STOP, name); break;
    case 4: script_gave(s, row, at, w.kind, w.object, w.number); break;
    case 5:
        script_ext(s, row, at,
                   (uint64_t[]){
                       axp__ext_word(
                           (enum axp__ext_kind)(2 + ts_random(seed) % 6), 4, 0),
                       id, wild_time(seed, at), ts_random(seed) % 9},
                   4);
        break;
    case 6:
        script_put(s, row,
                   (uint64_t[]){axp__word(AXP__W_STEP, 0, at), 1, 0,
                                wild_time(seed, at)},
                   4);
        break;
    default: script_waited(s, row, at, w);
    }
}

static void anything_is_survived(void **state)
{
    (void)state;
    for (uint64_t k = 1; k <= (TS_SLOW ? 100 : 600); k++) {
        uint64_t seed = k;
        struct script *s = script_create();
        for (uint64_t n = ts_random(&seed) % 2000, at = 0; n--;) {
            at = ts_random(&seed) % 8 ? at + ts_random(&seed) % 100
                                      : ts_random(&seed) % 50000;
            wild_record(s, &seed, (uint32_t)(ts_random(&seed) % 6), at);
        }
        if (k % 3 == 0) s->rows[4].track = 1;
        for (uint32_t i = 0; k % 5 == 0 && i < s->c.n_rows; i++)
            s->rows[i].last = ts_random(&seed) % 60000;
        if (!s->c.n_rows) script_word(s, 0, 5, AXP__W_INSTANT, 4);
        axp_view *v = script_view(s);
        axp_graph *g = axp_graph_create(v);
        assert_non_null(g);
        for (int even = 0; even < 2; even++) {
            axp_replay *r = NULL;
            const char *const huge[] = {"op1=1e6", "op1=1e6", "op1=1e6"};
            axp_whatif_options o = {.even_threads = even};
            assert_int_equal(axp_whatif(g, &o, &r), AXP_OK);
            script_check(g, r);
            axp_replay_destroy(r);
            r = NULL;
            o.scale = huge;
            o.n_scale = 3;
            (void)axp_whatif(g, &o, &r);
            axp_replay_destroy(r);
        }
        axp_graph_destroy(g);
        axp_view_destroy(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_are_what_a_simulation_says),
        cmocka_unit_test(with_locks_too_while_their_order_stays),
        cmocka_unit_test(all_times_ten_times_as_long_change_no_share),
        cmocka_unit_test(an_idle_thread_changes_nothing),
        cmocka_unit_test(an_operation_of_two_names_is_two_halves),
        cmocka_unit_test(two_replays_are_one),
        cmocka_unit_test(anything_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
