/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Packing and unpacking: the very words come back, whatever they are; what the
 * recorder does not write is not packed. */
#include "test_support.h"

#include "file/file_pack.h"
#include "file/file_bits.h"
#include "wire/wire_decode.h"

#define CAP ((size_t)AXP__PACK_CHUNKS * AXP__CHUNK_BYTES)

struct pool {
    struct axp__chunk *chunk;
    size_t n;
    uint64_t now, rng;
    struct axp__packer *packer;
    uint8_t *out;
};

static struct pool make_pool(uint64_t seed)
{
    struct pool p = {.now = 1000, .rng = seed};
    p.chunk = calloc(AXP__PACK_CHUNKS, sizeof *p.chunk);
    p.packer = axp__packer_create();
    p.out = malloc(CAP);
    assert_true(p.chunk && p.packer && p.out);
    return p;
}

static void free_pool(struct pool *p)
{
    axp__packer_destroy(p->packer);
    free(p->chunk);
    free(p->out);
}

/* Room for n words; a new chunk where there is none. False: all are full. */
static struct axp__chunk *room(struct pool *p, uint64_t n)
{
    struct axp__chunk *c = p->n ? &p->chunk[p->n - 1] : NULL;
    if (c && c->n_words + n <= AXP__CHUNK_WORDS) return c;
    if (p->n == AXP__PACK_CHUNKS) return NULL;
    c = &p->chunk[p->n++];
    *c = (struct axp__chunk){
        .seq = p->n + 5, .row = 3, .epoch = 2, .base_ticks = p->now};
    return c;
}

static bool put(struct pool *p, enum axp__word_kind kind, uint32_t name,
                const uint64_t *payload, uint64_t n)
{
    struct axp__chunk *c = room(p, 1 + n);
    if (!c) return false;
    uint64_t *w = c->words + c->n_words;
    w[0] = axp__word(kind, name, p->now - c->base_ticks);
    for (uint64_t i = 0; i < n; i++)
        w[1 + i] = payload[i];
    c->n_words += 1 + n;
    c->n_events += 1;
    return true;
}

/* Returns the bytes, having compared what comes back; 0: not packed. */
static size_t there_and_back(struct pool *p)
{
    const struct axp__chunk *list[AXP__PACK_CHUNKS];
    struct axp__unpacked u;
    struct axp__block head;
    for (size_t i = 0; i < p->n; i++)
        list[i] = &p->chunk[i];
    size_t bytes = axp__packer_pack(p->packer, list, p->n, p->out, CAP);
    if (!bytes) return 0;
    axp__block_of_pack(&head, list, p->n);
    head.body_bytes = bytes;
    assert_int_equal(axp__file_unpack(&head, p->out, &u), AXP__UNPACK_OK);
    assert_int_equal(u.n_chunks, p->n);
    for (size_t i = 0; i < p->n; i++) {
        assert_int_equal(u.chunk[i].seq, list[i]->seq);
        assert_int_equal(u.chunk[i].base_ticks, list[i]->base_ticks);
        assert_int_equal(u.chunk[i].n_words, list[i]->n_words);
        assert_int_equal(u.chunk[i].n_events, list[i]->n_events);
        assert_memory_equal(u.words + u.chunk[i].first, list[i]->words,
                            list[i]->n_words * 8);
    }
    /* and as one they read as one */
    struct axp__decoder d;
    struct axp__wire_event e;
    uint64_t n = 0, want = 0;
    axp__decoder_init(&d, u.words, u.n_words, u.chunk[0].base_ticks);
    while (axp__decoder_next(&d, &e))
        n++;
    assert_false(d.is_damaged);
    for (size_t i = 0; i < p->n; i++) {
        axp__decoder_init(&d, list[i]->words, list[i]->n_words,
                          list[i]->base_ticks);
        while (axp__decoder_next(&d, &e))
            want++;
    }
    assert_int_equal(n, want);
    /* any shorter body is refused */
    for (size_t k = 1; k < 40 && k < bytes; k++) {
        struct axp__unpacked v;
        head.body_bytes = bytes - k;
        assert_int_equal(axp__file_unpack(&head, p->out, &v),
                         AXP__UNPACK_DAMAGED);
        axp__unpacked_fini(&v);
    }
    axp__unpacked_fini(&u);
    return bytes;
}

static void plain_scopes(void **state)
{
    (void)state;
    struct pool p = make_pool(3);
    for (int i = 0; i < 50000; i++) {
        uint32_t name = 10 + i % 7;
        put(&p, AXP__W_BEGIN, name, NULL, 0);
        p.now += 100 + ts_random(&p.rng) % 50;
        put(&p, AXP__W_END, name, NULL, 0);
        p.now += 20;
    }
    size_t bytes = there_and_back(&p);
    assert_true(bytes && bytes < 50000 * 2);
    free_pool(&p);
}

static void scopes_that_say_much(void **state)
{
    (void)state;
    struct pool p = make_pool(5);
    for (int i = 0; i < 5000; i++) {
        double flops = 1e6 + i % 4;
        uint64_t work[2], dims[4] = {axp__ext_word(AXP__X_DIMS, 4, 0), 5, 6, 7};
        memcpy(&work[0], &flops, 8);
        work[1] = 0;
        put(&p, AXP__W_BEGIN, 10, NULL, 0);
        put(&p, AXP__W_WORK, 2, work, 2);
        put(&p, AXP__W_EXT, 10, dims, 4);
        p.now += 1000 + ts_random(&p.rng) % 500;
        put(&p, AXP__W_END, 10, NULL, 0);
    }
    size_t bytes = there_and_back(&p);
    assert_true(bytes && bytes < 5000 * 3); /* of 80 raw */
    free_pool(&p);
}

/* An allocation, with its stack before it unless that is 0. */
static bool put_alloc(struct pool *p, uint32_t stack)
{
    uint64_t alloc[2] = {4096 + ts_random(&p->rng) % 3 * 4096,
                         0x7f0000000000u + ts_random(&p->rng) % 4096 * 4096};
    uint64_t ref = axp__ext_word(AXP__X_STACK_REF, 1, stack);
    if (!room(p, 5)) return false;
    if (stack && put(p, AXP__W_EXT, 7, &ref, 1)) p->chunk[p->n - 1].n_events--;
    return put(p, AXP__W_ALLOC, 7, alloc, 2);
}

static size_t pack_allocs(uint64_t n_stacks, uint64_t *n)
{
    struct pool p = make_pool(9);
    uint64_t rng = 77;
    for (*n = 0;; ++*n) {
        uint64_t stack = 2 + ts_random(&rng) % (n_stacks ? n_stacks : 1);
        if (*n == 50000 || !put_alloc(&p, n_stacks ? (uint32_t)stack : 0))
            break;
        p.now += 100 + ts_random(&p.rng) % 50;
    }
    size_t bytes = there_and_back(&p);
    free_pool(&p);
    return bytes;
}

static void a_reference_to_a_stack_takes_its_bits(void **state)
{
    (void)state;
    uint64_t n, n_with;
    size_t without = pack_allocs(0, &n), with = pack_allocs(100000, &n_with);
    assert_int_equal(n, n_with);
    double bytes = ((double)with - (double)without) / (double)n;
    ts_assert_between(2.0, bytes, 2.4); /* 17 bits are 2.1 bytes */
    with = pack_allocs(16, &n_with);
    bytes = ((double)with - (double)without) / (double)n;
    ts_assert_between(0.3, bytes, 0.8);
}

/* Not right before its allocation, with another name, in any order. */
static void references_may_stand_anywhere(void **state)
{
    (void)state;
    struct pool p = make_pool(21);
    for (int i = 0; i < 20000; i++) {
        uint64_t ref =
            axp__ext_word(AXP__X_STACK_REF, 1, (uint32_t)ts_random(&p.rng));
        uint64_t odd = axp__ext_word(AXP__X_STACK_REF, 3, 7);
        uint64_t odds[3] = {odd, 1, 2};
        switch (ts_random(&p.rng) % 5) {
        case 0: put_alloc(&p, (uint32_t)ts_random(&p.rng) | 1); break;
        case 1:
            if (put(&p, AXP__W_EXT, 8, &ref, 1)) p.chunk[p.n - 1].n_events--;
            break;
        case 2:
            if (put(&p, AXP__W_EXT, 8, odds, 3)) p.chunk[p.n - 1].n_events--;
            break;
        case 3:
            if (put(&p, AXP__W_EXT, 8, &ref, 1)) p.chunk[p.n - 1].n_events--;
            p.now += 5;
            put_alloc(&p, 0);
            break;
        default: put(&p, AXP__W_INSTANT, (uint32_t)(i % 5000), NULL, 0);
        }
        p.now += ts_random(&p.rng) % 9;
    }
    assert_true(there_and_back(&p));
    free_pool(&p);
}

static uint64_t pause_of(struct pool *p, unsigned how)
{
    switch (how % 6) {
    case 0: return 0;
    case 1: return ts_random(&p->rng) % 100;
    case 2: return ts_random(&p->rng) % 100000;
    case 3: return ts_random(&p->rng) % 3 ? 7 : 1u << 31;
    case 4: return (uint64_t)UINT32_MAX - 1 + ts_random(&p->rng) % 3;
    default: return ts_random(&p->rng) % ((uint64_t)1 << 36);
    }
}

/* One record of any kind, with payload that differs each time. */
static bool put_any(struct pool *p, unsigned n_names)
{
    uint64_t payload[40];
    enum axp__word_kind kind =
        (enum axp__word_kind)(1 + ts_random(&p->rng) % (AXP__W_N_KINDS - 1));
    uint32_t name = (uint32_t)(ts_random(&p->rng) % n_names);
    uint64_t n = axp__payload_words(kind);
    for (size_t i = 0; i < 40; i++)
        payload[i] = ts_random(&p->rng) >> ts_random(&p->rng) % 64;
    if (kind == AXP__W_EXT) {
        n = 1 + ts_random(&p->rng) % 39;
        payload[0] =
            axp__ext_word((enum axp__ext_kind)(ts_random(&p->rng) % 20),
                          (uint32_t)n, (uint32_t)ts_random(&p->rng) % 9);
    }
    if (kind != AXP__W_TIME) return put(p, kind, name, payload, n);
    struct axp__chunk *c = room(p, 2);
    if (!c) return false;
    c->words[c->n_words++] = axp__word(AXP__W_TIME, 0, 0);
    c->words[c->n_words++] = p->now;
    /* what follows counts from here: deltas are taken from the base, so a
     * chunk after a TIME word begins anew for this test */
    return true;
}

static void anything_that_is_a_record(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (TS_SLOW ? 6 : 24); seed++) {
        struct pool p = make_pool(seed * 7919);
        unsigned n_names = seed % 3 ? 20 : 100000; /* many templates */
        for (int i = 0; i < 3000 + (seed % 4 ? 0 : 60000); i++) {
            p.now += pause_of(&p, (unsigned)(seed + (uint64_t)i % 7));
            if (p.n && (p.now - p.chunk[p.n - 1].base_ticks) >> 40) {
                /* a word cannot say that: the recorder takes a new chunk */
                if (p.n == AXP__PACK_CHUNKS) break;
                struct axp__chunk *c = &p.chunk[p.n++];
                *c = (struct axp__chunk){
                    .seq = p.n + 5, .row = 3, .epoch = 2, .base_ticks = p.now};
            }
            if (!put_any(&p, n_names)) break;
        }
        (void)there_and_back(&p);
        free_pool(&p);
    }
}

/* Time may go back between words, and ends may have no begin. */
static void odd_orders(void **state)
{
    (void)state;
    struct pool p = make_pool(11);
    p.now = 5000;
    for (int i = 0; i < 300; i++)
        put(&p, AXP__W_END, (uint32_t)i % 9, NULL, 0);
    for (int i = 0; i < 600; i++) {
        p.now += 50;
        put(&p, AXP__W_BEGIN, (uint32_t)i, NULL, 0);
        p.now -= 20;
        put(&p, i % 3 ? AXP__W_STOP : AXP__W_ABANDON, (uint32_t)i, NULL, 0);
    }
    for (int i = 0; i < 700; i++) /* deeper than is remembered */
        put(&p, AXP__W_BEGIN, 40 + (uint32_t)i % 3, NULL, 0);
    for (int i = 0; i < 700; i++)
        put(&p, AXP__W_END, 40 + (uint32_t)(699 - i) % 3, NULL, 0);
    assert_true(there_and_back(&p) > 0);
    free_pool(&p);
}

/* One name within itself, far below and far above where the pack began, with
 * times that differ by name and by begin and end: who takes one scope for
 * another reads other times. */
static void deep_walks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (TS_SLOW ? 4 : 16); seed++) {
        struct pool p = make_pool(seed * 104729);
        int depth = 0, target = 0;
        uint32_t name[2048];
        for (size_t i = 0; i < 2048; i++)
            name[i] = 40 + (uint32_t)(i % (1 + seed % 3));
        for (int i = 0; i < 30000; i++) {
            if (i % 1500 == 0) target = (int)(ts_random(&p.rng) % 1000) - 400;
            int noise = (int)(ts_random(&p.rng) % 64) - 32;
            bool is_begin = depth + noise < target;
            uint32_t *at = &name[1024 + depth - !is_begin];
            if (is_begin && depth > 0)
                *at = 40 + (uint32_t)(ts_random(&p.rng) % (1 + seed % 3));
            p.now += (1 + *at % 40) * (is_begin ? 100 : 3000) +
                     ts_random(&p.rng) % 16;
            put(&p, is_begin ? AXP__W_BEGIN : AXP__W_END, *at, NULL, 0);
            depth += is_begin ? 1 : -1;
        }
        assert_true(there_and_back(&p) > 0);
        free_pool(&p);
    }
}

static void what_is_not_ours_is_not_packed(void **state)
{
    (void)state;
    struct pool p = make_pool(13);
    for (int i = 0; i < 100; i++)
        put(&p, AXP__W_BEGIN, 4, NULL, 0);
    struct axp__chunk *c = &p.chunk[0];
    uint64_t keep = c->words[50];
    c->words[50] = 0; /* an end in the middle */
    assert_int_equal(there_and_back(&p), 0);
    c->words[50] = 15; /* no kind */
    assert_int_equal(there_and_back(&p), 0);
    c->words[50] = axp__word(AXP__W_TIME, 3, 9); /* not as it is written */
    assert_int_equal(there_and_back(&p), 0);
    c->words[50] = keep;
    c->words[99] = axp__word(AXP__W_ALLOC, 3, 9); /* without its payload */
    assert_int_equal(there_and_back(&p), 0);
    c->words[99] = keep;
    assert_true(there_and_back(&p) > 0);
    const struct axp__chunk *list[1] = {c};
    assert_int_equal(axp__packer_pack(p.packer, list, 0, p.out, CAP), 0);
    assert_int_equal(axp__packer_pack(p.packer, list, 1, p.out, 8), 0);
    free_pool(&p);
}

static void windows_hold_what_they_should(void **state)
{
    (void)state;
    uint64_t rng = 17;
    for (int round = 0; round < 500; round++) {
        struct axp__bit_window_counts counts = {0};
        uint32_t values[400], shift = (uint32_t)(ts_random(&rng) % 32);
        uint32_t from = (uint32_t)ts_random(&rng) >> shift;
        for (int i = 0; i < 400; i++) {
            uint32_t v = (uint32_t)ts_random(&rng) >> (shift + i % 3) % 32;
            values[i] = from > UINT32_MAX - v ? from : from + v;
            counts.n++;
            counts.count[axp__bit_window_bucket(values[i])]++;
        }
        struct axp__bit_window w = axp__bit_window_choose(&counts);
        assert_true(w.bits[0] <= w.bits[1] && w.bits[1] <= 32);
        unsigned n_out = 0;
        for (int i = 0; i < 400; i++) {
            assert_true(values[i] >= w.begin[1]); /* the second holds … */
            n_out += values[i] - w.begin[1] >=
                     ((uint64_t)1 << w.bits[1]) - 1; /* … nearly all */
        }
        assert_true(n_out < 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_scopes),
        cmocka_unit_test(scopes_that_say_much),
        cmocka_unit_test(a_reference_to_a_stack_takes_its_bits),
        cmocka_unit_test(references_may_stand_anywhere),
        cmocka_unit_test(anything_that_is_a_record),
        cmocka_unit_test(odd_orders),
        cmocka_unit_test(deep_walks),
        cmocka_unit_test(what_is_not_ours_is_not_packed),
        cmocka_unit_test(windows_hold_what_they_should),
    };
    return TS_RUN(tests);
}
