/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Scopes that a stream gives without a record each are those that it gives with
 * one, in each row in the same order, whatever the words are. */
#include "model/model_stream.h"

#include "unit/graph_script.h"

#define ROWS 3u
#define MOST 4000u

struct seen { /* of a row */
    struct axp__brief at[MOST];
    uint8_t kind[MOST];
    size_t n, n_brief;
};

static void keep(struct seen *row, struct axp__brief b, unsigned kind)
{
    assert_true(row->n < MOST);
    row->kind[row->n] = (uint8_t)kind;
    row->at[row->n++] = b;
}

static void keep_record(struct seen *row, const struct axp__record *r)
{
    bool is_scope = r->kind <= AXP__R_END;
    keep(row,
         (struct axp__brief){r->time_ns, is_scope ? r->name : 0,
                             is_scope ? r->category : 0, false},
         r->kind);
}

static void keep_run(struct seen *row, struct axp__stream *s,
                     const uint64_t *names)
{
    struct axp__brief briefs[5]; /* and so some end where others begin */
    size_t n = 5;
    while (n == 5) {
        n = axp__stream_run(s, names, briefs, 5);
        for (size_t i = 0; i < n; i++) {
            bool is_end = briefs[i].is_end;
            assert_int_not_equal(briefs[i].category, AXP_CAT_SYNC);
            assert_true(is_end || names[0] >> briefs[i].name & 1);
            briefs[i].is_end = false;
            keep(row, briefs[i], is_end ? AXP__R_END : AXP__R_BEGIN);
        }
        row->n_brief += n;
    }
}

static struct seen *read_all(const axp_view *v, const uint64_t *names)
{
    struct seen *rows = calloc(ROWS, sizeof *rows);
    struct axp__stream *s = NULL;
    const struct axp__record *r;
    unsigned options =
        AXP__STREAM_ONCE | AXP__STREAM_AHEAD | AXP__STREAM_SAMPLES;
    assert_non_null(rows);
    assert_int_equal(axp__stream_open(v, options, &s), AXP_OK);
    while ((r = axp__stream_next(s))) {
        assert_true(r->row < ROWS);
        struct seen *row = &rows[r->row];
        keep_record(row, r);
        if (names) keep_run(row, s, names);
    }
    assert_int_equal(axp__stream_status(s), AXP_OK);
    axp__stream_close(s);
    return rows;
}

static void say(struct script *s, uint32_t row, uint64_t at, uint64_t *seed)
{
    uint64_t category = ts_random(seed) % (AXP_CAT_IO + 1);
    script_ext(s, row, at,
               (uint64_t[]){axp__ext_word(AXP__X_CATEGORY, 1, category)}, 1);
}

/* Mostly scopes that nest, and now and then something else. */
static void put_any(struct script *s, uint32_t row, uint64_t at, uint64_t *seed)
{
    static uint32_t open[ROWS][64];
    static size_t n[ROWS];
    uint32_t name = SCRIPT_WAIT + (uint32_t)(ts_random(seed) % 5);
    uint64_t what = ts_random(seed) % 24;
    if (at < 64) n[row] = 0;
    if (what < 11 && n[row] < 60) {
        open[row][n[row]++] = name;
        script_word(s, row, at, AXP__W_BEGIN, name);
        if (ts_random(seed) % 8 == 0) say(s, row, at, seed);
    } else if (what < 20 && n[row]) {
        script_word(s, row, at, AXP__W_END, open[row][--n[row]]);
    } else if (what == 20) {
        script_word(s, row, at, AXP__W_END, name);
    } else if (what == 21) {
        script_word(s, row, at, AXP__W_INSTANT, name);
    } else if (what == 22) {
        script_gave(s, row, at, AXP_SYNC_LOCK, 1, 1);
    } else if (ts_random(seed) % 8 == 0) {
        script_word(s, row, at,
                    ts_random(seed) % 2 ? AXP__W_START : AXP__W_STOP, name);
    }
}

static struct axp__cap_sample samples[20];

static bool load_samples(const struct axp__cap_samples *from,
                         struct axp__cap_sample *out)
{
    memcpy(out, samples, from->n * sizeof *out);
    return true;
}

static axp_view *random_view(uint64_t seed)
{
    static struct axp__cap_samples block = {.load = load_samples, .n = 20};
    struct script *s = script_create();
    uint64_t at = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        uint64_t back = ts_random(&seed) % 50 ? 0 : ts_random(&seed) % 20;
        at += ts_random(&seed) % 10;
        put_any(s, (uint32_t)(ts_random(&seed) % ROWS),
                at > back ? at - back : 0, &seed);
    }
    for (uint32_t row = 0; row < ROWS; row++) /* there in any case */
        script_word(s, row, at, AXP__W_INSTANT, SCRIPT_FIRST);
    for (uint64_t i = 0; i < 20; i++)
        samples[i] = (struct axp__cap_sample){.ticks = at * i / 20,
                                              .tid = 100 + (uint32_t)i % ROWS,
                                              .weight = 5,
                                              .kind = AXP_SAMPLE_CPU,
                                              .process = 100};
    s->c.samples = &block;
    s->c.n_samples = seed % 2;
    return script_view(s);
}

static void a_run_is_its_records(void **state)
{
    (void)state;
    size_t n_brief = 0, n_views = TS_SLOW ? 30 : 300;
    uint64_t *names = calloc(AXP__MAX_NAMES / 64, 8);
    assert_non_null(names);
    for (uint64_t seed = 1; seed <= n_views; seed++) {
        axp_view *v = random_view(seed);
        names[0] = seed % 3 ? UINT64_MAX : ~((uint64_t)1 << SCRIPT_FIRST);
        struct seen *by_record = read_all(v, NULL);
        struct seen *by_run = read_all(v, names);
        for (uint32_t i = 0; i < ROWS; i++) {
            assert_int_equal(by_run[i].n, by_record[i].n);
            n_brief += by_run[i].n_brief;
            for (size_t k = 0; k < by_run[i].n; k++) {
                const struct axp__brief *x = &by_run[i].at[k];
                const struct axp__brief *y = &by_record[i].at[k];
                assert_int_equal(by_run[i].kind[k], by_record[i].kind[k]);
                assert_int_equal(x->time_ns, y->time_ns);
                assert_int_equal(x->name, y->name);
                assert_int_equal(x->category, y->category);
            }
        }
        free(by_record);
        free(by_run);
        axp_view_destroy(v);
    }
    assert_true(n_brief > 30 * n_views); /* or nothing was tried */
    free(names);
}

/* Without it nothing may come early. */
static void none_without_ahead(void **state)
{
    (void)state;
    struct axp__brief brief;
    uint64_t *names = calloc(AXP__MAX_NAMES / 64, 8);
    axp_view *v = random_view(2);
    struct axp__stream *s = NULL;
    assert_non_null(names);
    names[0] = UINT64_MAX;
    assert_int_equal(axp__stream_open(v, AXP__STREAM_ONCE, &s), AXP_OK);
    while (axp__stream_next(s))
        assert_int_equal(axp__stream_run(s, names, &brief, 1), 0);
    axp__stream_close(s);
    axp_view_destroy(v);
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_its_records),
        cmocka_unit_test(none_without_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
