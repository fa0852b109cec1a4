/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Captures of words that no program wrote: what a damaged or hostile file may
 * hold. Two processes; a row that is a track, chunks of a row that is not
 * listed, one chunk that cannot be loaded. */
#ifndef MADE_CAPTURE_H
#define MADE_CAPTURE_H
#include "model/model_view.h"

#include "test_support.h"
#include "wire/wire_word.h"

#define MADE_WORDS 200u

struct made {
    struct axp__capture c;
    struct axp__cap_row rows[3];
    struct axp__cap_chunk chunks[12];
    uint64_t words[12][MADE_WORDS];
};

static inline struct axp__cap_name made_name(const struct axp__capture *c,
                                             uint32_t id)
{
    static const char *const texts[4] = {"plain", "", "not \xff utf-8",
                                         "\"<;\n,"};
    (void)c;
    return (struct axp__cap_name){texts[id & 3], id & 1 ? "file\xfe.c" : NULL,
                                  (int)id - 1, 0};
}

static inline void made_release(struct axp__capture *c)
{
    (void)c; /* the test's own */
}

static inline bool made_load(const struct axp__cap_source *c,
                             const struct axp__cap_chunk *at, uint32_t part,
                             struct axp__cap_words *out)
{
    (void)c, (void)at, (void)part, (void)out;
    return false;
}

/* Mostly words of the kinds that begin and end scopes, few names, few rows;
 * now and then anything at all. */
static inline uint64_t made_word(uint64_t *seed, uint64_t wild)
{
    static const uint8_t often[] = {AXP__W_BEGIN,   AXP__W_BEGIN, AXP__W_END,
                                    AXP__W_START,   AXP__W_STOP,  AXP__W_END,
                                    AXP__W_ABANDON, AXP__W_EXT};
    uint64_t x = ts_random(seed);
    if (x % 100 < wild) return ts_random(seed);
    enum axp__word_kind kind = often[x >> 8 & 7];
    return axp__word(kind, (uint32_t)(x >> 16 & 3), x >> 20 & 0xfff);
}

static inline void make_capture(struct made *m, uint64_t *seed, uint64_t wild)
{
    memset(m, 0, sizeof *m);
    m->c.title = "made";
    m->c.rank = -1;
    m->c.end_ticks = 5000;
    m->c.rate_mult = (uint64_t)1 << 32;
    m->c.name_at = made_name;
    m->c.release = made_release;
    m->c.rows = m->rows;
    m->c.n_rows = 3;
    m->c.chunks = m->chunks;
    m->c.n_chunks = 12;
    m->c.has_timeline = true;
    for (uint32_t i = 0; i < 3; i++)
        m->rows[i] =
            (struct axp__cap_row){.id = i + 1,
                                  .track = i == 2,
                                  .name = i,
                                  .tid = 7,
                                  .process_id = i == 1 ? UINT64_MAX : 1,
                                  .rank = (int32_t)i - 1};
    for (size_t i = 0; i < 12; i++) {
        for (size_t k = 0; k < MADE_WORDS; k++)
            m->words[i][k] = made_word(seed, wild);
        if (!(i & 1)) /* an EXT that is one, somewhere */
            m->words[i][11] = axp__ext_word(AXP__X_DROP, 1, 0);
        static struct axp__cap_source source = {.load = made_load};
        m->chunks[i] = (struct axp__cap_chunk){
            .source = &source,
            .row = (uint32_t)(i % 4) + 1, /* of 4 there is no row */
            .seq = i,
            .base_ticks = ts_random(seed) & 0xffff,
            .words = i == 5 ? NULL : m->words[i], /* cannot be loaded */
            .n_words = MADE_WORDS,
            .n_events = UINT64_MAX};
    }
}

#endif
