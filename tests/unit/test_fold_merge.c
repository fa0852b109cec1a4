/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A timeline of thousands of threads, folded with a lane for each row and with
 * those that came to their end added up: the same numbers, and rows that say
 * the same of themselves. */
#include "test_support.h"

#include "file/file_fold.h"
#include "wire/wire_word.h"

#define ROWS 4000u
#define WORDS 40u
#define FIRST 10u
#define NAMES 9u

static uint64_t words[ROWS][WORDS];
static struct axp__cap_chunk chunks[ROWS];

/* Every 50th row leaves a scope open. */
static bool is_open(uint32_t row)
{
    return row % 50 == 7;
}

static void make_row(uint32_t i)
{
    uint64_t *w = words[i], now = 0;
    uint32_t name = FIRST + i % NAMES, inner = FIRST + (i + 3) % NAMES;
    *w++ = axp__word(AXP__W_BEGIN, name, now += 5);
    for (unsigned k = 0; k < 3; k++) {
        *w++ = axp__word(AXP__W_BEGIN, inner, now += 7);
        *w++ = axp__word(AXP__W_EXT, inner, now);
        *w++ = axp__ext_word(AXP__X_CATEGORY, 1, AXP_CAT_SYNC);
        *w++ = axp__word(AXP__W_END, inner, now += 20 + i % 13);
    }
    *w++ = axp__word(AXP__W_ALLOC, name, now += 3);
    *w++ = 64 + i % 5;
    *w++ = 4096 + 16 * (uint64_t)i;
    *w++ = axp__word(AXP__W_FREE, name, now += 3);
    *w++ = 64 + i % 5;
    *w++ = 4096 + 16 * (uint64_t)i;
    if (i % 10 == 0) { /* those take 19 KB a row */
        *w++ = axp__word(AXP__W_STEP, 0, now += 2);
        *w++ = i;
        *w++ = 0;
        *w++ = 1000ull * i;
    }
    *w++ = axp__word(AXP__W_COUNTER, name, now += 1);
    *w++ = 0x4000000000000000u; /* 2.0 */
    if (!is_open(i)) *w++ = axp__word(AXP__W_END, name, now += 11);
    chunks[i] = (struct axp__cap_chunk){.row = i + 1,
                                        .seq = 1,
                                        .base_ticks = 1000ull * i + 1,
                                        .words = words[i],
                                        .n_words = (size_t)(w - words[i]),
                                        .n_events = 12};
}

static struct axp__cap_name name_at(const struct axp__capture *c, uint32_t id)
{
    (void)c;
    return axp__cap_special(id);
}

static void make_timeline(struct axp__capture *c)
{
    for (uint32_t i = 0; i < ROWS; i++)
        make_row(i);
    *c = (struct axp__capture){.name_at = name_at,
                               .rate_mult = (uint64_t)1 << 32,
                               .chunks = chunks,
                               .n_chunks = ROWS};
}

struct sums {
    uint64_t calls, total, self, n_hist, n_allocs, freed, n_counted, n_steps;
    uint64_t n_open;
};

static struct sums sum_up(const struct axp__capture *c)
{
    struct sums s = {0};
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__cap_lane *l = &c->lanes[i];
        for (uint32_t k = 0; k < l->n_nodes; k++) {
            uint64_t weight = l->nodes[k].name; /* which name it is matters */
            s.calls += weight * l->nodes[k].calls;
            s.total += weight * l->nodes[k].total_ticks;
            s.self += weight * l->nodes[k].self_ticks;
        }
        for (uint32_t k = 0; k < l->n_hists; k++)
            for (uint32_t b = 0; b < AXP__HIST_BUCKETS; b++)
                s.n_hist += (b + 1) * l->hists[k].count[b];
        for (uint32_t k = 0; k < l->n_traffic; k++) {
            s.n_allocs += l->traffic[k].name * l->traffic[k].n_allocs;
            s.freed += l->traffic[k].name * l->traffic[k].freed_bytes;
        }
        for (uint32_t k = 0; k < l->n_counters; k++)
            s.n_counted += l->counters[k].name * l->counters[k].n;
        if (l->steps) s.n_steps += l->steps->stats.loose_calls;
        s.n_open += l->n_frames;
    }
    return s;
}

/* A fold as a capture. */
struct folded {
    struct axp__fold *fold;
    struct axp__capture *c;
};

static struct folded fold(const struct axp__capture *from, bool is_apart)
{
    struct axp__capture empty = {0};
    struct folded f = {.fold = axp__fold_create(from, is_apart)};
    assert_non_null(f.fold);
    assert_int_equal(axp__fold_lost(f.fold), 0);
    f.c = axp__cap_take(&empty, 1, sizeof *f.c);
    *f.c = (struct axp__capture){.memory = empty.memory};
    assert_true(axp__fold_to_capture(f.fold, f.c, NULL, 0));
    return f;
}

static void done(struct folded *f)
{
    axp__cap_free(f->c);
    axp__fold_destroy(f->fold);
}

static void assert_same(const struct axp__capture *a,
                        const struct axp__capture *b)
{
    struct sums x = sum_up(a), y = sum_up(b);
    assert_memory_equal(&x, &y, sizeof x);
    assert_true(x.calls > 0 && x.n_hist > 0 && x.n_allocs > 0 && x.freed > 0);
    assert_int_equal(x.n_steps, ROWS / 10);
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->n_events, b->n_events);
    assert_int_equal(a->n_steps, b->n_steps);
    assert_int_equal(a->peak_bytes, b->peak_bytes);
    assert_int_equal(a->current_bytes, b->current_bytes);
    for (size_t i = 0; i < a->n_rows; i++) {
        assert_int_equal(a->rows[i].id, b->rows[i].id);
        assert_int_equal(a->rows[i].first, b->rows[i].first);
        assert_int_equal(a->rows[i].last, b->rows[i].last);
        assert_int_equal(a->rows[i].n_events, b->rows[i].n_events);
    }
}

static void rows_are_added_up(void **state)
{
    (void)state;
    struct axp__capture c;
    make_timeline(&c);
    struct folded apart = fold(&c, true), merged = fold(&c, false);
    assert_same(apart.c, merged.c);
    assert_int_equal(apart.c->n_lanes, ROWS);
    assert_true(merged.c->n_lanes < ROWS / 2);
    assert_int_equal(merged.fold->n_with_memory, ROWS);
    uint32_t i = 1; /* merged before others; its outermost is all there is */
    assert_true(merged.fold->row[i]->is_merged);
    assert_int_equal(merged.c->rows[i].busy,
                     apart.c->lanes[i].nodes[2].total_ticks);
    assert_int_equal(merged.c->rows[i].waited, 3 * (20 + i % 13));
    done(&apart);
    done(&merged);
}

/* Those with a lane in what they are compared with, and those with something
 * open, stay. */
static void some_stay_apart(void **state)
{
    (void)state;
    struct axp__capture c;
    struct axp__cap_row rows[2] = {{.id = 3}, {.id = 90}};
    struct axp__cap_lane lanes[3] = {{.row = 0}, {.row = 1}, {.row = -1}};
    make_timeline(&c);
    c.rows = rows;
    c.n_rows = 2;
    c.lanes = lanes;
    c.n_lanes = 3;
    struct folded merged = fold(&c, false);
    assert_false(merged.fold->row[2]->is_merged);
    assert_false(merged.fold->row[89]->is_merged);
    for (uint32_t i = 0; i < ROWS; i++)
        if (is_open(i)) assert_false(merged.fold->row[i]->is_merged);
    c.rows = NULL;
    c.n_rows = c.n_lanes = 0;
    struct folded apart = fold(&c, true);
    assert_same(apart.c, merged.c);
    done(&apart);
    done(&merged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_added_up),
        cmocka_unit_test(some_stay_apart),
    };
    return TS_RUN(tests);
}
