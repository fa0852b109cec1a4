/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A timeline folded by its words and by the symbols of its packs: the same
 * statistics, field by field. */
#include "test_support.h"

#include <unistd.h>

#include "file/file_compare.h"
#include "file/file_fold.h"
#include "file/file_open.h"
#include "file/file_walk.h"
#include "file/file_write.h"
#include "wire/wire_word.h"

#define FIRST 10u
#define MOST_NAMES 2000u
#define DEPTH 300u

struct timeline {
    struct axp__chunk *chunks;
    struct axp__cap_chunk *list;
    size_t n, cap;
    uint64_t now, rng, n_steps;
    uint32_t n_names, depth, open[DEPTH];
};

static uint64_t draw(struct timeline *t, uint64_t n)
{
    return ts_random(&t->rng) % n;
}

static void put(struct timeline *t, enum axp__word_kind kind, uint32_t name,
                const uint64_t *payload, uint64_t n)
{
    struct axp__chunk *c = t->n ? &t->chunks[t->n - 1] : NULL;
    if (!c || c->n_words + 1 + n > AXP__CHUNK_WORDS) {
        assert_true(t->n < t->cap);
        c = &t->chunks[t->n++];
        *c = (struct axp__chunk){
            .seq = t->n, .row = 1, .epoch = 1, .base_ticks = t->now};
    }
    c->words[c->n_words] = axp__word(kind, name, t->now - c->base_ticks);
    for (uint64_t i = 0; i < n; i++)
        c->words[c->n_words + 1 + i] = payload[i];
    c->n_words += 1 + n;
    c->n_events += axp__word_events(
        kind, kind == AXP__W_EXT ? (enum axp__ext_kind)(payload[0] & 255)
                                 : (enum axp__ext_kind)0);
}

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, 8);
    return bits;
}

/* A scope begins, and most say more: category, work, sizes. */
static void begin(struct timeline *t)
{
    uint32_t name = FIRST + (uint32_t)draw(t, t->n_names);
    uint64_t how = name * 7 % 8; /* the same each time, but for sizes */
    t->open[t->depth++] = name;
    put(t, AXP__W_BEGIN, name, NULL, 0);
    if (how == 1 || how == 5) {
        uint64_t category[] = {axp__ext_word(AXP__X_CATEGORY, 1, how)};
        if (how == 5) t->now++;
        put(t, AXP__W_EXT, name, category, 1);
    }
    if (how >= 2) {
        uint64_t work[] = {bits_of(how % 3 ? 128. * (double)name : 0),
                           bits_of(how % 2 ? 64 : 0)};
        put(t, AXP__W_WORK, (uint32_t)how, work, 2);
    }
    if (how >= 3) {
        uint64_t sizes[] = {axp__ext_word(AXP__X_DIMS, 4, 0),
                            (draw(t, 3) + 1) |
                                (how & 1 ? (uint64_t)9 << 32 : 0),
                            how == 7 ? 8 : 0, 0};
        put(t, AXP__W_EXT, name, sizes, 4);
    }
}

static void put_one(struct timeline *t)
{
    uint64_t what = draw(t, 40);
    uint32_t name = FIRST + (uint32_t)draw(t, t->n_names);
    t->now += draw(t, 8) ? 20 + draw(t, 100) : draw(t, 1000000);
    if (what < 3) {
        uint64_t bytes[] = {draw(t, 4096), draw(t, 1 << 20)};
        put(t, what ? AXP__W_ALLOC : AXP__W_FREE, name, bytes, 2);
    } else if (what == 3) {
        uint64_t value[] = {bits_of((double)draw(t, 1000))};
        put(t, AXP__W_COUNTER, name, value, 1);
    } else if (what == 4) {
        uint64_t step[] = {t->n_steps++, 5, t->now - 10};
        put(t, AXP__W_STEP, 0, step, 3);
    } else if (!t->depth || (t->depth < 6 + what % 3 && draw(t, 2))) {
        begin(t);
    } else {
        put(t, draw(t, 50) ? AXP__W_END : AXP__W_ABANDON, t->open[t->depth - 1],
            NULL, 0);
        t->depth--;
    }
}

static struct axp__cap_name name_at(const struct axp__capture *c, uint32_t id)
{
    (void)c;
    (void)id;
    return (struct axp__cap_name){.text = "a name"};
}

static struct axp__capture make_capture(struct timeline *t,
                                        struct axp__cap_row *row)
{
    t->list = calloc(t->n, sizeof *t->list);
    assert_non_null(t->list);
    for (size_t i = 0; i < t->n; i++)
        t->list[i] =
            (struct axp__cap_chunk){.row = 1,
                                    .seq = t->chunks[i].seq,
                                    .base_ticks = t->chunks[i].base_ticks,
                                    .words = t->chunks[i].words,
                                    .n_words = t->chunks[i].n_words,
                                    .n_events = t->chunks[i].n_events};
    *row = (struct axp__cap_row){.id = 1, .tid = 1, .rank = -1};
    return (struct axp__capture){.title = "test",
                                 .rank = -1,
                                 .rate_mult = (uint64_t)1 << 32,
                                 .has_timeline = true,
                                 .n_names = FIRST + MOST_NAMES,
                                 .name_at = name_at,
                                 .rows = row,
                                 .n_rows = 1,
                                 .chunks = t->list,
                                 .n_chunks = t->n};
}

/* The packs of a file, which has no statistics: opening folds them. */
static void open_packed(const struct axp__capture *c, struct axp__opened *o)
{
    char path[] = "/tmp/axp-fold-XXXXXX";
    struct axp__file_head head = {.version = AXP__FILE_VERSION, .rank = -1};
    struct axp__to_write what = {
        .capture = c, .head = &head, .epoch = 1, .is_stateless = true};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(axp__file_write(path, true, &what), AXP_OK);
    assert_int_equal(axp__trace_open(path, o), AXP_OK);
    unlink(path);
}

static void compare(struct timeline *t)
{
    struct axp__cap_row row;
    struct axp__capture c = make_capture(t, &row), folded = {.rank = -1};
    struct axp__opened o;
    open_packed(&c, &o);
    size_t n_packs = 0;
    struct axp__file_walk w;
    axp__file_walk_begin(&w, o.file);
    while (axp__file_walk_next(&w))
        n_packs += w.entry.block.kind == AXP__B_PACK;
    assert_true(n_packs > 0);
    struct axp__fold *f = axp__fold_create(&c, false);
    assert_non_null(f);
    assert_true(axp__fold_to_capture(f, &folded, NULL, 0));
    struct axp__comparison x = {
        .stored = o.capture, .folded = &folded, .to = stderr};
    axp__compare(&x);
    assert_true(x.n_compared > 100);
    assert_int_equal(x.n_different, 0);
    axp__fold_destroy(f);
    axp__cap_free(&folded);
    o.capture->release(o.capture);
    free(t->list);
}

static void run(uint64_t seed, uint32_t n_names, int n)
{
    struct timeline t = {.rng = seed, .n_names = n_names, .now = 1000};
    t.cap = (size_t)n * 10 / AXP__CHUNK_WORDS + 2;
    t.chunks = calloc(t.cap, sizeof *t.chunks);
    assert_non_null(t.chunks);
    while (n--)
        put_one(&t);
    compare(&t);
    free(t.chunks);
}

static void few_names(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        run(seed * 31, 20, TS_SLOW ? 5000 : 40000);
}

/* Symbols of two bytes; and then more than there are templates for. */
static void many_names(void **state)
{
    (void)state;
    run(5, 150, TS_SLOW ? 20000 : 60000);
    run(6, MOST_NAMES, TS_SLOW ? 20000 : 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_names),
        cmocka_unit_test(many_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
