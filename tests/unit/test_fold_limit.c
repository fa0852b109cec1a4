/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A timeline with more places in its call tree than a fold has room for: every
 * call counts, the memory is bounded, and it is said how many lost their
 * place. */
#include "test_support.h"

#include "file/file_fold.h"
#include "wire/wire_word.h"

#define FIRST 10u
#define WIDTH 900u /* names, each under each */
#define MOST_BYTES ((uint64_t)128 << 20)

/* Its words, in chunks of one begin below the root. */
struct timeline {
    uint64_t *words;
    struct axp__cap_chunk *chunks;
    struct axp__capture capture;
};

static struct axp__cap_name name_at(const struct axp__capture *c, uint32_t id)
{
    (void)c;
    return axp__cap_special(id);
}

static void make_timeline(struct timeline *t, uint32_t width)
{
    const size_t n = 2 + 2 * (size_t)width;
    uint64_t *w = t->words = calloc(n * width, 8);
    t->chunks = calloc(width, sizeof *t->chunks);
    assert_true(t->words && t->chunks);
    for (uint32_t i = 0; i < width; i++) {
        uint64_t now = 0;
        t->chunks[i] = (struct axp__cap_chunk){.row = 1,
                                               .seq = i + 1,
                                               .base_ticks = 5000000ull * i,
                                               .words = w,
                                               .n_words = n,
                                               .n_events = n};
        *w++ = axp__word(AXP__W_BEGIN, FIRST + i, now);
        for (uint32_t k = 0; k < width; k++) {
            *w++ = axp__word(AXP__W_BEGIN, FIRST + k, now += 10);
            *w++ = axp__word(AXP__W_END, FIRST + k, now += 100);
        }
        *w++ = axp__word(AXP__W_END, FIRST + i, now += 10);
    }
    t->capture = (struct axp__capture){.name_at = name_at,
                                       .rate_mult = (uint64_t)1 << 32,
                                       .chunks = t->chunks,
                                       .n_chunks = width};
}

static void free_timeline(struct timeline *t)
{
    free(t->words);
    free(t->chunks);
}

/* Of all nodes, and of those with a name. */
static uint64_t count_calls(struct axp__tally *t, uint32_t name)
{
    uint64_t calls = 0;
    for (axp__ref ref = t->first.nodes; ref;) {
        const struct axp__node *n = axp__arena_at(&t->arena, ref);
        if (!name || n->name == name) calls += n->calls;
        ref = n->next;
    }
    return calls;
}

static void there_is_room(void **state)
{
    (void)state;
    struct timeline t;
    make_timeline(&t, 60);
    struct axp__fold *f = axp__fold_create(&t.capture, false);
    assert_non_null(f);
    assert_int_equal(axp__fold_lost(f), 0);
    assert_int_equal(count_calls(&f->row[0]->tally, 0), 60 + 60 * 60);
    axp__fold_destroy(f);
    free_timeline(&t);
}

static void there_is_none(void **state)
{
    (void)state;
    struct timeline t;
    make_timeline(&t, WIDTH);
    struct axp__fold *f = axp__fold_create(&t.capture, false);
    assert_non_null(f);
    uint64_t lost = axp__fold_lost(f);
    assert_true(lost > 0 && lost < WIDTH * WIDTH / 2);
    assert_true(f->budget.used_bytes < MOST_BYTES);
    assert_int_equal(count_calls(&f->row[0]->tally, 0), WIDTH + WIDTH * WIDTH);
    assert_int_equal(count_calls(&f->row[0]->tally, FIRST + 7), WIDTH + 1);
    axp__fold_destroy(f);
    free_timeline(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_room),
        cmocka_unit_test(there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
