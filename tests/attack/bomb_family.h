/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files that are hard to read for their length, by name: each kind of event and
 * of block many times over, in the orders that make a reader search, move or
 * remember. n is about how many words there are.
 */
#ifndef BOMB_FAMILY_H
#define BOMB_FAMILY_H
#include "base/base_text.h"
#include "bomb_write.h"

typedef void (*bomb_fn)(struct bomb *b, size_t n);

/* ---- scopes of one row ------------------------------------------------------------ */

static void many_words(struct bomb *b, enum axp__word_kind kind, uint32_t name,
                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        bomb_word(b, kind, name);
}

static void starts_stops_of_another(struct bomb *b, size_t n)
{
    many_words(b, AXP__W_START, 5, n / 2);
    many_words(b, AXP__W_STOP, 6, n / 2);
}

static void starts_stops_of_the_oldest(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        bomb_word(b, AXP__W_START, 5 + (uint32_t)i);
    for (size_t i = 0; i < n / 2; i++)
        bomb_word(b, AXP__W_STOP, 5 + (uint32_t)i);
}

static void starts_stops_in_turn(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        bomb_word(b, AXP__W_START, 5 + (uint32_t)(i % 4000));
    for (size_t i = 0; i < n / 2; i++)
        bomb_word(b, AXP__W_STOP, 5 + (uint32_t)(i % 4000));
}

static void starts_under_begins(struct bomb *b, size_t n)
{
    many_words(b, AXP__W_START, 5, n / 3);
    many_words(b, AXP__W_BEGIN, 6, n / 3);
    many_words(b, AXP__W_STOP, 5, n / 3);
}

static void ends_of_another(struct bomb *b, size_t n)
{
    many_words(b, AXP__W_BEGIN, 5, n / 2);
    many_words(b, AXP__W_END, 6, n / 2);
}

static void ends_of_the_outermost(struct bomb *b, size_t n)
{
    bomb_word(b, AXP__W_BEGIN, 5);
    many_words(b, AXP__W_BEGIN, 6, n / 2);
    many_words(b, AXP__W_END, 5, n / 2);
}

static void only_begins(struct bomb *b, size_t n)
{
    many_words(b, AXP__W_BEGIN, 5, n);
}

static void only_ends(struct bomb *b, size_t n)
{
    many_words(b, AXP__W_END, 5, n / 2);
    many_words(b, AXP__W_STOP, 5, n / 2);
}

static void only_abandons(struct bomb *b, size_t n)
{
    many_words(b, AXP__W_BEGIN, 5, n / 2);
    many_words(b, AXP__W_ABANDON, 5, n / 2);
}

/* Every name was seen before, and none is open above: who asks that goes up
 * the whole path. */
static void deep_paths_of_known_names(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 3; i++) {
        bomb_word(b, AXP__W_BEGIN, 5 + (uint32_t)(i % 4000));
        bomb_word(b, AXP__W_END, 5 + (uint32_t)(i % 4000));
    }
    for (size_t i = 0; i < n / 3; i++)
        bomb_word(b, AXP__W_BEGIN, 5 + (uint32_t)(i % 4000));
}

static void deep_and_wide(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 4; i++)
        bomb_word(b, AXP__W_BEGIN, 5 + (uint32_t)(i % 300));
    for (size_t i = 0; i < n / 4; i++) {
        bomb_word(b, AXP__W_BEGIN, 400 + (uint32_t)(i % 3000));
        bomb_word(b, AXP__W_END, 400 + (uint32_t)(i % 3000));
    }
}

static void wide(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        bomb_word(b, AXP__W_BEGIN, 5 + (uint32_t)i);
        bomb_word(b, AXP__W_END, 5 + (uint32_t)i);
    }
}

static void up_and_down(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 2000; i++) {
        for (size_t k = 0; k < 1000; k++)
            bomb_word(b, AXP__W_BEGIN, 5 + (uint32_t)(k * i % 3001));
        for (size_t k = 1000; k--;)
            bomb_word(b, AXP__W_END, 5 + (uint32_t)(k * i % 3001));
    }
}

static void drops(struct bomb *b, size_t n)
{
    uint64_t first = b->now;
    many_words(b, AXP__W_START, 5, n / 4);
    for (size_t i = 0; i < n / 4; i++)
        bomb_ext(b, AXP__X_DROP, 5, &(uint64_t){first + i}, 1);
}

static void drops_of_none(struct bomb *b, size_t n)
{
    many_words(b, AXP__W_START, 5, n / 4);
    for (size_t i = 0; i < n / 4; i++)
        bomb_ext(b, AXP__X_DROP, 5, &(uint64_t){7}, 1);
}

/* Scopes that may overlap lie above those that end. */
static void stops_under_overlaps(struct bomb *b, size_t n)
{
    uint64_t payload[2] = {b->now, 9};
    bomb_ext(b, AXP__X_CROSS_STOP, 6, payload, 2);
    many_words(b, AXP__W_START, 5, n / 4);
    many_words(b, AXP__W_START, 6, n / 4);
    many_words(b, AXP__W_STOP, 5, n / 4);
}

/* ---- other events of one row --------------------------------------------------------- */

static void works(struct bomb *b, size_t n)
{
    uint64_t payload[2] = {axp__f64_bits(1e6), axp__f64_bits(1e3)};
    uint64_t dims[3] = {64 | (uint64_t)64 << 32, 3, 0};
    for (size_t i = 0; i < n / 10; i++) {
        bomb_word(b, AXP__W_BEGIN, 5);
        bomb_record(b, AXP__W_WORK, 3, payload, 2);
        bomb_ext(b, AXP__X_DIMS, 5, dims, 3);
        bomb_ext(b, AXP__X_CATEGORY, 5, NULL, 0);
    }
}

static void counters(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        bomb_record(b, AXP__W_COUNTER, 5 + (uint32_t)i,
                    &(uint64_t){axp__f64_bits((double)i)}, 1);
}

static void one_counter(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 2; i++)
        bomb_record(b, AXP__W_COUNTER, 5, &(uint64_t){i << 40}, 1);
}

static void steps(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 4; i++)
        bomb_record(b, AXP__W_STEP, 5, (uint64_t[]){i, i, b->now - 1}, 3);
}

static void first_steps(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 14; i++)
        bomb_record(b, AXP__W_ALLOC, 5 + (uint32_t)i,
                    (uint64_t[]){64, 4096 + 16 * i}, 2);
    for (size_t i = 0; i < n / 7; i++)
        bomb_record(b, AXP__W_STEP, 5, (uint64_t[]){0, 0, b->now - 1}, 3);
}

static void async_begins(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 3; i++)
        bomb_ext(b, AXP__X_ASYNC_BEGIN, 5, &(uint64_t){i}, 1);
}

static void async_pairs(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 7; i++)
        bomb_ext(b, AXP__X_ASYNC_BEGIN, 5, &(uint64_t){7}, 1);
    for (size_t i = 0; i < n / 7; i++)
        bomb_ext(b, AXP__X_ASYNC_END, 5, (uint64_t[]){7, b->now - 9}, 2);
}

/* The oldest of each id ends first, and ids are alike in their low bits. */
static void async_in_turn(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 7; i++)
        bomb_ext(b, AXP__X_ASYNC_BEGIN, 5, &(uint64_t){(i % 5000) << 40}, 1);
    for (size_t i = 0; i < n / 7; i++)
        bomb_ext(b, AXP__X_ASYNC_END, 5,
                 (uint64_t[]){(i % 5000) << 40, 2000 + i}, 2);
}

static void flows_of_one(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 6; i++)
        bomb_ext(b, AXP__X_FLOW_OUT, 5, &(uint64_t){7}, 1);
    for (size_t i = 0; i < n / 6; i++)
        bomb_ext(b, AXP__X_FLOW_IN, 5, &(uint64_t){7}, 1);
}

static void async_ends(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 4; i++)
        bomb_ext(b, AXP__X_ASYNC_END, 5, (uint64_t[]){i, 0}, 2);
}

static void cross_stops(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 4; i++)
        bomb_ext(b, AXP__X_CROSS_STOP, 5, (uint64_t[]){0, i}, 2);
}

static void flows(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 6; i++) {
        bomb_ext(b, AXP__X_FLOW_OUT, 5, &(uint64_t){i}, 1);
        bomb_ext(b, AXP__X_FLOW_IN, 5, &(uint64_t){n - i}, 1);
    }
}

static void events(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 3; i++)
        bomb_ext(b, AXP__X_EVENT, 5,
                 &(uint64_t){0x6162636465660a1bu >> 8 * (i % 7)}, 1);
}

static void instants(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bomb_word(b, AXP__W_INSTANT, (uint32_t)i);
}

static void allocs(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 3; i++)
        bomb_record(b, AXP__W_ALLOC, 5 + (uint32_t)i,
                    (uint64_t[]){64, 4096 + 16 * i}, 2);
}

static void frees(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 3; i++)
        bomb_record(b, AXP__W_FREE, 5 + (uint32_t)i,
                    (uint64_t[]){64, 4096 + 16 * i}, 2);
}

static void allocs_at_one_place(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 8; i++) {
        bomb_record(b, AXP__W_ALLOC, 5, (uint64_t[]){1ull << 40, 4096}, 2);
        bomb_ext(b, AXP__X_N_KINDS, 5, (uint64_t[]){i, i, i}, 3);
    }
}

/* Addresses from the top down, each far from the one before. */
static void allocs_downwards(struct bomb *b, size_t n)
{
    for (size_t i = n / 3; i--;)
        bomb_record(b, AXP__W_ALLOC, 5, (uint64_t[]){64, (1 + i) << 28}, 2);
}

/* No two have the same scopes around them. */
static void allocs_deeper_and_deeper(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 4; i++) {
        bomb_word(b, AXP__W_BEGIN, 5 + (uint32_t)(i * i % 60000));
        bomb_record(b, AXP__W_ALLOC, 5, (uint64_t[]){64, 4096 + 16 * i}, 2);
    }
}

static void allocs_deep_down(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 4; i++)
        bomb_word(b, AXP__W_BEGIN, 5 + (uint32_t)(i % 300));
    for (size_t i = 0; i < n / 4; i++)
        bomb_record(b, AXP__W_ALLOC, 5, (uint64_t[]){64, 4096 + 16 * i}, 2);
}

static void samples_deep_down(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 4; i++)
        bomb_word(b, AXP__W_BEGIN, 5 + (uint32_t)(i % 300));
    for (size_t i = 0; i < n / 4; i++)
        bomb_ext(b, AXP__X_EVENT, 5, &(uint64_t){0}, 1);
}

static void times(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < n / 3; i++) {
        struct axp__chunk *c = bomb_room(b, 3);
        c->words[c->n_words++] = axp__word(AXP__W_TIME, 0, 0);
        c->words[c->n_words++] = b->now = i % 2 ? UINT64_MAX / 2 : 5000;
        c->words[c->n_words++] = axp__word(AXP__W_INSTANT, 5, 0);
        c->n_events++;
    }
}

/* ---- tracks ------------------------------------------------------------------------------ */

static void one_track(struct bomb *b, uint32_t row, uint32_t track)
{
    uint8_t body[64];
    struct axp__row_record r = {.id = row, .track = track, .name = 5};
    size_t n = axp__row_put(body, sizeof body, &r);
    bomb_block(b, (struct axp__block){.kind = AXP__B_ROWS, .n = 1}, body, n);
}

static void spans_at_once(struct bomb *b, size_t n)
{
    one_track(b, 1, 1);
    for (size_t i = 0; i < n / 7; i++)
        bomb_ext(b, AXP__X_SPAN, 5, (uint64_t[]){100, 1000000 + i, 0, 0, 0}, 5);
}

static void spans_backwards(struct bomb *b, size_t n)
{
    one_track(b, 1, 1);
    for (size_t i = 0; i < n / 7; i++)
        bomb_ext(b, AXP__X_SPAN, 5 + (uint32_t)(i % 5000),
                 (uint64_t[]){n - i, 2 * n - i, 0, 0, 0}, 5);
}

static void track_allocs(struct bomb *b, size_t n)
{
    one_track(b, 1, 1);
    for (size_t i = 0; i < n / 5; i++)
        bomb_ext(b, i % 3 ? AXP__X_TRACK_ALLOC : AXP__X_TRACK_FREE, 5,
                 (uint64_t[]){i, 64, i / 3}, 3);
}

/* ---- one row after the other -------------------------------------------------------------- */

static void rows_with(struct bomb *b, size_t n,
                      void (*put)(struct bomb *b, uint32_t i))
{
    for (uint32_t i = 0; i < n / 11; i++) {
        put(b, i);
        bomb_row_end(b, 1 + i, false);
    }
}

static void put_alloc(struct bomb *b, uint32_t i)
{
    bomb_record(b, AXP__W_ALLOC, 5, (uint64_t[]){64, 4096 + 16 * i}, 2);
}
static void put_alloc_of_its_own(struct bomb *b, uint32_t i)
{
    bomb_record(b, AXP__W_ALLOC, 5 + i, (uint64_t[]){64, 4096 + 16 * i}, 2);
}
static void put_free(struct bomb *b, uint32_t i)
{
    enum axp__word_kind kind = i % 2 ? AXP__W_FREE : AXP__W_ALLOC;
    bomb_record(b, kind, 5, (uint64_t[]){64, 4096}, 2);
}
static void put_begin(struct bomb *b, uint32_t i)
{
    bomb_word(b, AXP__W_BEGIN, 5 + i % 7);
}
static void put_step(struct bomb *b, uint32_t i)
{
    bomb_record(b, AXP__W_STEP, 5, (uint64_t[]){i, 0, b->now - 1}, 3);
}
static void put_counter(struct bomb *b, uint32_t i)
{
    bomb_record(b, AXP__W_COUNTER, 5 + i, &(uint64_t){i}, 1);
}
static void put_async(struct bomb *b, uint32_t i)
{
    bomb_ext(b, AXP__X_ASYNC_BEGIN, 5, &(uint64_t){i}, 1);
}
static void put_drop(struct bomb *b, uint32_t i)
{
    bomb_word(b, AXP__W_START, 5);
    bomb_ext(b, AXP__X_CROSS_STOP, 5, (uint64_t[]){0, i}, 2);
}
static void put_span(struct bomb *b, uint32_t i)
{
    bomb_ext(b, AXP__X_SPAN, 5, (uint64_t[]){i, i + 100, 0, 0, 0}, 5);
}

static void rows_allocs(struct bomb *b, size_t n)
{
    rows_with(b, n, put_alloc);
}
static void rows_own_allocs(struct bomb *b, size_t n)
{
    rows_with(b, n, put_alloc_of_its_own);
}
static void rows_frees(struct bomb *b, size_t n)
{
    rows_with(b, n, put_free);
}
static void rows_begins(struct bomb *b, size_t n)
{
    rows_with(b, n, put_begin);
}
static void rows_steps(struct bomb *b, size_t n)
{
    rows_with(b, n, put_step);
}
static void rows_counters(struct bomb *b, size_t n)
{
    rows_with(b, n, put_counter);
}
static void rows_async(struct bomb *b, size_t n)
{
    rows_with(b, n, put_async);
}
static void rows_cross(struct bomb *b, size_t n)
{
    rows_with(b, n, put_drop);
}

static void tracks(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 25; i++)
        one_track(b, 1 + i, 1 + i);
    rows_with(b, n / 2, put_span);
}

static void feeders_of_a_track(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 25; i++)
        one_track(b, 1 + i, 1);
    rows_with(b, n / 2, put_span);
}

/* ---- rows that go on at once --------------------------------------------------------------- */

/* Each is read at the same time as all others. */
static void rows_at_once(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 110; i++) {
        b->now = 2000;
        for (uint32_t k = 0; k < 100; k++)
            bomb_word(b, AXP__W_INSTANT, 5);
        bomb_row_end(b, 1 + i, true);
    }
}

/* Every row begins what the next one ends. */
static void stops_of_other_rows(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 24; i++) {
        uint64_t began = b->now;
        for (uint32_t k = 0; k < 4; k++)
            bomb_word(b, AXP__W_START, 5 + k);
        for (uint32_t k = 0; k < 4; k++)
            bomb_ext(b, AXP__X_CROSS_STOP, 5 + k,
                     (uint64_t[]){began - 16 + k, i}, 2);
        bomb_row_end(b, 1 + i, false);
    }
}

/* All that one row began is ended by another, and it finds out later. */
static void starts_stopped_elsewhere(struct bomb *b, size_t n)
{
    uint64_t first = b->now;
    many_words(b, AXP__W_START, 5, n / 8);
    uint64_t next = b->now;
    bomb_row_end(b, 1, true);
    for (size_t i = 0; i < n / 8; i++)
        bomb_ext(b, AXP__X_CROSS_STOP, 5, (uint64_t[]){first + i, 1}, 2);
    bomb_row_end(b, 2, true);
    b->now = next;
    for (size_t i = n / 8; i--;)
        bomb_ext(b, AXP__X_DROP, 5, &(uint64_t){first + i}, 1);
}

static void tracks_allocs(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 25; i++)
        one_track(b, 1 + i, 1 + i);
    for (uint32_t i = 0; i < n / 25; i++) {
        for (uint32_t k = 0; k < 2; k++)
            bomb_ext(b, k ? AXP__X_TRACK_FREE : AXP__X_TRACK_ALLOC, 5,
                     (uint64_t[]){i, 64, i / 3}, 3);
        bomb_row_end(b, 1 + i, false);
    }
}

/* ---- what is large when it is read ---------------------------------------------------------- */

/* As many words a byte as readers believe (AXP__WORDS_A_BYTE): what repeats
 * packs more tightly, and a packer then leaves it as it is. So some noise is
 * among it. */
static void noise(struct bomb *b, size_t i)
{
    if (i % 110) return;
    bomb_record(b, AXP__W_COUNTER, 6,
                &(uint64_t){axp__mix64(i) | axp__mix64(i + 1) << 32}, 1);
}

static void pairs_again(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < 32 * n; i += 2) {
        bomb_word(b, AXP__W_BEGIN, 5);
        bomb_word(b, AXP__W_END, 5);
        noise(b, i);
    }
    bomb_row_end(b, 1, true);
}

static void instants_again(struct bomb *b, size_t n)
{
    for (size_t i = 0; i < 32 * n; i++) {
        bomb_word(b, AXP__W_INSTANT, 5);
        noise(b, i);
    }
    bomb_row_end(b, 1, true);
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* As many as fit a block of 60 KB: each takes a few bytes. */
static void rows_in_a_block(struct bomb *b, size_t n)
{
    uint8_t body[61000];
    uint32_t id = 0;
    while (id < n / 2) {
        size_t len = 0, k = 0;
        for (; len + 64 < sizeof body && id < n / 2; k++, id++) {
            struct axp__row_record r = {.id = 1 + id, .track = 1 + id};
            len += axp__row_put(body + len, sizeof body - len, &r);
        }
        bomb_block(b, (struct axp__block){.kind = AXP__B_ROWS, .n = k}, body,
                   len);
    }
    put_span(b, 1);
}

static void names_in_a_block(struct bomb *b, size_t n)
{
    uint8_t body[61000];
    uint32_t id = 3;
    while (id < n) {
        size_t len = 0, k = 0;
        uint32_t first = id;
        for (; len + 64 < sizeof body && id < n; k++, id++) {
            struct axp__name_record name = {.text = {"x", 1}};
            len += axp__name_put(body + len, sizeof body - len, &name);
        }
        bomb_block(
            b, (struct axp__block){.kind = AXP__B_NAMES, .seq = first, .n = k},
            body, len);
    }
    wide(b, n / 8);
}

/* One file, many recordings. */
static void recordings(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 60; i++) {
        put_alloc(b, i);
        put_begin(b, i);
        bomb_row_end(b, 1, false);
        bomb_head(b, 2 + i % 100);
    }
    put_alloc(b, 0);
}

static void empty_blocks(struct bomb *b, size_t n)
{
    static const enum axp__block_kind kinds[] = {AXP__B_ABOUT,
                                                 AXP__B_NAMES,
                                                 AXP__B_ROWS,
                                                 AXP__B_CHUNK,
                                                 AXP__B_PACK,
                                                 AXP__B_STATE,
                                                 7,
                                                 8,
                                                 AXP__B_INDEX,
                                                 77};
    for (uint32_t i = 0; i < n / 8; i++)
        bomb_block(b,
                   (struct axp__block){.kind = kinds[i % 10], .n = 1, .seq = i},
                   "", 0);
}

static void cuts(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 8; i++)
        bomb_block(b,
                   (struct axp__block){.kind = 7, .row = i, .n = 1, .seq = i},
                   "", 0);
}

static void states(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 9; i++)
        bomb_block(b, (struct axp__block){.kind = AXP__B_STATE}, "\1\1\1\1\1\1",
                   6);
}

static void one_chunk_again(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 11; i++) {
        put_alloc(b, i);
        bomb_row_end(b, 1, false);
    }
}

static void chunks_backwards(struct bomb *b, size_t n)
{
    for (uint32_t i = (uint32_t)n / 11; i; i--) {
        b->seq = i;
        put_alloc(b, i);
        bomb_row_end(b, i % 2 + 1, false);
    }
}

static void names(struct bomb *b, size_t n)
{
    char text[16];
    for (uint32_t i = 0; i < n / 10; i++) {
        snprintf(text, sizeof text, "%x", i * 2654435761u);
        bomb_name(b, 3 + i, text, i % 2 ? "/dev/zero" : NULL);
    }
    wide(b, n / 8);
}

static void same_names(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 10; i++)
        bomb_name(b, 3 + i, "the same", "/the/same");
    wide(b, n / 8);
}

static void names_of_one(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 10; i++)
        bomb_name(b, 5, "once more", NULL);
    wide(b, n / 8);
}

static void long_names(struct bomb *b, size_t n)
{
    static char text[8000];
    memset(text, 'x', sizeof text - 1);
    for (uint32_t i = 0; i < n / 1000; i++) {
        snprintf(text, 10, "%08x", i);
        text[8] = 'x';
        bomb_name(b, 3 + i, text, text);
    }
    for (size_t i = 0; i < n / 8; i++) {
        bomb_word(b, AXP__W_BEGIN, 3 + (uint32_t)(i % (n / 1000 + 1)));
        bomb_word(b, AXP__W_INSTANT, 3 + (uint32_t)(i % (n / 1000 + 1)));
    }
}

static void abouts(struct bomb *b, size_t n)
{
    uint8_t body[256];
    char key[32];
    for (uint32_t i = 0; i < n / 16; i++) {
        snprintf(key, sizeof key, i % 2 ? "map.%u" : "env.%u", i);
        size_t len = axp__about_put(body, sizeof body, key,
                                    (struct axp__slice){"0 0 0 00 /bin/x", 15});
        bomb_block(b, (struct axp__block){.kind = AXP__B_ABOUT}, body, len);
    }
}

static void rows_again(struct bomb *b, size_t n)
{
    for (uint32_t i = 0; i < n / 10; i++)
        one_track(b, 1 + i % 5, i % 2);
    rows_with(b, n / 8, put_span);
}

/* ---- accumulators ------------------------------------------------------------------------- */

struct image {
    uint8_t *bytes;
    size_t n, cap;
};

static void image_number(struct image *i, uint64_t v)
{
    if (i->n + 16 > i->cap) {
        i->cap = 2 * i->cap + 4096;
        i->bytes = realloc(i->bytes, i->cap);
        if (!i->bytes) abort();
    }
    i->n = (size_t)(axp__put_varint(i->bytes + i->n, v) - i->bytes);
}

static void image_table(struct image *i, unsigned number, uint64_t n,
                        unsigned fields)
{
    image_number(i, number);
    image_number(i, n);
    image_number(i, fields);
}

static void image_head(struct image *i)
{
    image_table(i, 1, 1, 11);
    for (uint64_t v = 0; v < 11; v++)
        image_number(i, v == 4 ? (uint64_t)1 << 32 : v == 10);
}

static void image_end(struct bomb *b, struct image *i)
{
    bomb_block(b, (struct axp__block){.kind = AXP__B_STATE}, i->bytes, i->n);
    free(i->bytes);
}

/* Rows and lanes with as little as can be; each lane has an op and a node. */
static void state_lanes(struct bomb *b, size_t n)
{
    struct image i = {0};
    size_t n_lanes = n / 3;
    image_head(&i);
    image_table(&i, 2, n_lanes, 1);
    for (size_t k = 0; k < n_lanes; k++)
        image_number(&i, k + 1);
    image_table(&i, 3, n_lanes, 5);
    for (size_t k = 0; k < n_lanes; k++) {
        image_number(&i, 2 * k);
        image_number(&i, 0);
        image_number(&i, 1);
        image_number(&i, 2);
        image_number(&i, 0);
    }
    image_table(&i, 4, n_lanes, 1);
    for (size_t k = 0; k < n_lanes; k++)
        image_number(&i, k % 100);
    image_table(&i, 5, 2 * n_lanes, 2);
    for (size_t k = 0; k < n_lanes; k++) {
        image_number(&i, 0);
        image_number(&i, 1); /* zigzag: -1, the root */
        image_number(&i, k % 100);
        image_number(&i, 0);
    }
    image_end(b, &i);
}

/* A path of n nodes, each below the one before; and all of them open. */
static void state_path(struct bomb *b, size_t n)
{
    struct image i = {0};
    size_t n_nodes = n / 2;
    image_head(&i);
    image_table(&i, 2, 1, 1);
    image_number(&i, 1);
    image_table(&i, 3, 1, 6);
    image_number(&i, 0);
    image_number(&i, 0);
    image_number(&i, 1);
    image_number(&i, n_nodes);
    image_number(&i, 0);
    image_number(&i, n_nodes);
    image_table(&i, 4, 1, 1);
    image_number(&i, 5);
    image_table(&i, 5, n_nodes, 2);
    for (size_t k = 0; k < n_nodes; k++) {
        image_number(&i, k ? 5 : 0);
        image_number(&i, k ? 2 * (k - 1) : 1);
    }
    image_table(&i, 8, n_nodes, 1);
    for (size_t k = 0; k < n_nodes; k++)
        image_number(&i, 2 * k);
    image_end(b, &i);
}

static void state_star(struct bomb *b, size_t n)
{
    struct image i = {0};
    size_t n_nodes = n;
    image_head(&i);
    image_table(&i, 2, 1, 1);
    image_number(&i, 1);
    image_table(&i, 3, 1, 4);
    image_number(&i, 0);
    image_number(&i, 0);
    image_number(&i, 1);
    image_number(&i, n_nodes);
    image_table(&i, 4, 1, 1);
    image_number(&i, 5);
    image_table(&i, 5, n_nodes, 2);
    for (size_t k = 0; k < n_nodes; k++) {
        image_number(&i, k ? 5 : 0);
        image_number(&i, k ? 0 : 1);
    }
    image_end(b, &i);
}

static void state_small(struct bomb *b, size_t n)
{
    struct image i = {0};
    image_head(&i);
    image_table(&i, 13, n, 1);
    for (size_t k = 0; k < n; k++)
        image_number(&i, k % 1000);
    image_table(&i, 14, 2 * n, 0);
    for (size_t k = 0; k < 2 * n; k++)
        image_number(&i, 0);
    image_table(&i, 15, n, 1);
    for (size_t k = 0; k < n; k++)
        image_number(&i, 1);
    image_end(b, &i);
}

static void state_ops(struct bomb *b, size_t n)
{
    struct image i = {0};
    size_t n_ops = n;
    image_head(&i);
    image_table(&i, 2, 1, 1);
    image_number(&i, 1);
    image_table(&i, 3, 1, 8);
    for (unsigned k = 0; k < 8; k++)
        image_number(&i, k == 2 || k >= 6 ? n_ops : 0);
    image_table(&i, 4, n_ops, 2);
    for (size_t k = 0; k < n_ops; k++) {
        image_number(&i, k % 900000);
        image_number(&i, 1);
    }
    image_table(&i, 9, n_ops, 1);
    for (size_t k = 0; k < n_ops; k++)
        image_number(&i, k % 900000);
    image_table(&i, 10, n_ops, 1);
    for (size_t k = 0; k < n_ops; k++)
        image_number(&i, k % 900000);
    image_end(b, &i);
}

static void state_steps(struct bomb *b, size_t n)
{
    struct image i = {0};
    size_t n_lanes = n / 3;
    image_head(&i);
    image_table(&i, 2, n_lanes, 1);
    for (size_t k = 0; k < n_lanes; k++)
        image_number(&i, k + 1);
    image_table(&i, 3, n_lanes, 1);
    for (size_t k = 0; k < n_lanes; k++)
        image_number(&i, 2 * k);
    image_table(&i, 11, n_lanes, 2);
    for (size_t k = 0; k < n_lanes; k++) {
        image_number(&i, k);
        image_number(&i, 1);
    }
    image_end(b, &i);
}

struct bomb_case {
    const char *name;
    bomb_fn fill;
};

#define BOMB(name)                                                             \
    {                                                                          \
#name, name                                                            \
    }
static const struct bomb_case bomb_cases[] = {
    BOMB(starts_stops_of_another),
    BOMB(starts_stops_of_the_oldest),
    BOMB(starts_stops_in_turn),
    BOMB(starts_under_begins),
    BOMB(ends_of_another),
    BOMB(ends_of_the_outermost),
    BOMB(only_begins),
    BOMB(only_ends),
    BOMB(only_abandons),
    BOMB(deep_paths_of_known_names),
    BOMB(deep_and_wide),
    BOMB(wide),
    BOMB(up_and_down),
    BOMB(drops),
    BOMB(drops_of_none),
    BOMB(stops_under_overlaps),
    BOMB(works),
    BOMB(counters),
    BOMB(one_counter),
    BOMB(steps),
    BOMB(first_steps),
    BOMB(async_begins),
    BOMB(async_pairs),
    BOMB(async_in_turn),
    BOMB(async_ends),
    BOMB(cross_stops),
    BOMB(flows),
    BOMB(flows_of_one),
    BOMB(events),
    BOMB(instants),
    BOMB(allocs),
    BOMB(frees),
    BOMB(allocs_at_one_place),
    BOMB(allocs_downwards),
    BOMB(allocs_deeper_and_deeper),
    BOMB(allocs_deep_down),
    BOMB(samples_deep_down),
    BOMB(times),
    BOMB(spans_at_once),
    BOMB(spans_backwards),
    BOMB(track_allocs),
    BOMB(rows_allocs),
    BOMB(rows_own_allocs),
    BOMB(rows_frees),
    BOMB(rows_begins),
    BOMB(rows_steps),
    BOMB(rows_counters),
    BOMB(rows_async),
    BOMB(rows_cross),
    BOMB(tracks),
    BOMB(feeders_of_a_track),
    BOMB(rows_at_once),
    BOMB(stops_of_other_rows),
    BOMB(starts_stopped_elsewhere),
    BOMB(tracks_allocs),
    BOMB(pairs_again),
    BOMB(instants_again),
    BOMB(rows_in_a_block),
    BOMB(names_in_a_block),
    BOMB(recordings),
    BOMB(empty_blocks),
    BOMB(cuts),
    BOMB(states),
    BOMB(one_chunk_again),
    BOMB(chunks_backwards),
    BOMB(names),
    BOMB(same_names),
    BOMB(names_of_one),
    BOMB(long_names),
    BOMB(abouts),
    BOMB(rows_again),
    BOMB(state_lanes),
    BOMB(state_path),
    BOMB(state_star),
    BOMB(state_small),
    BOMB(state_ops),
    BOMB(state_steps),
};
#undef BOMB

#define N_BOMBS (sizeof bomb_cases / sizeof *bomb_cases)

#endif
