/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Timelines written by hand: rows of words as a recorder would leave them, at
 * times that the test chooses. A view is made of them as of any capture. */
#ifndef GRAPH_SCRIPT_H
#define GRAPH_SCRIPT_H
#include "axprof/axprof_adapter.h"
#include "axprof/axprof_whatif.h"
#include "model/model_view.h"
#include "test_support.h"
#include "wire/wire_kind.h"
#include "wire/wire_stack.h"
#include "wire/wire_word.h"

#define SCRIPT_ROWS 10u
#define SCRIPT_WORDS 120000u
#define SCRIPT_WAIT 3u  /* the name of every wait */
#define SCRIPT_FIRST 4u /* names from here on are "op0", "op1" … */
#define SCRIPT_OPS 40u
#define SCRIPT_FOLLOW (SCRIPT_FIRST + SCRIPT_OPS)
#define SCRIPT_START (SCRIPT_FOLLOW + 1)

struct script {
    struct axp__capture c;
    struct axp__cap_row rows[SCRIPT_ROWS];
    struct axp__cap_chunk chunks[SCRIPT_ROWS];
    uint64_t *words[SCRIPT_ROWS];
    size_t n[SCRIPT_ROWS];
    struct axp__cap_lane outside;
    struct axp__cap_counter took;
};

static inline struct axp__cap_name script_name(const struct axp__capture *c,
                                               uint32_t id)
{
    static char texts[SCRIPT_OPS][8];
    (void)c;
    if (id < AXP__CAP_SPECIALS) return axp__cap_special(id);
    if (id == SCRIPT_WAIT)
        return (struct axp__cap_name){.text = "wait",
                                      .flags = AXP__KIND_FLAGS(AXP__KIND_WAIT)};
    if (id == SCRIPT_FOLLOW || id == SCRIPT_START)
        return (struct axp__cap_name){.text = id == SCRIPT_FOLLOW
                                                  ? "axprof.follow_ns"
                                                  : "axprof.start_ns",
                                      .flags = AXP__KIND_FLAGS(AXP__KIND_COST)};
    if (id - SCRIPT_FIRST >= SCRIPT_OPS) return axp__cap_special(UINT32_MAX);
    char *text = texts[id - SCRIPT_FIRST];
    snprintf(text, sizeof texts[0], "op%u", id - SCRIPT_FIRST);
    return (struct axp__cap_name){.text = text};
}

static inline void script_release(struct axp__capture *c)
{
    struct script *s = (struct script *)c;
    for (size_t i = 0; i < SCRIPT_ROWS; i++)
        free(s->words[i]);
    free(s);
}

static inline struct script *script_create(void)
{
    struct script *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->c = (struct axp__capture){.title = "script",
                                 .rank = -1,
                                 .rate_mult = (uint64_t)1 << 32,
                                 .process_id = 100,
                                 .name_at = script_name,
                                 .release = script_release,
                                 .rows = s->rows,
                                 .chunks = s->chunks,
                                 .has_timeline = true};
    return s;
}

static inline void script_put(struct script *s, uint32_t row,
                              const uint64_t *words, size_t n)
{
    uint64_t at = words[0] >> AXP__TIME_SHIFT;
    struct axp__cap_row *r = &s->rows[row];
    if (!s->words[row]) {
        s->words[row] = calloc(SCRIPT_WORDS, 8);
        assert_non_null(s->words[row]);
        *r = (struct axp__cap_row){.id = row + 1,
                                   .tid = 100 + row,
                                   .process_id = 100,
                                   .rank = -1,
                                   .first = at,
                                   .is_ended = true};
    }
    if (at > r->last) r->last = at;
    assert_true(s->n[row] + n < SCRIPT_WORDS);
    memcpy(s->words[row] + s->n[row], words, n * 8);
    s->n[row] += n;
    r->n_events++;
    if (row >= s->c.n_rows) s->c.n_rows = row + 1;
    if (at > s->c.end_ticks) s->c.end_ticks = at;
}

static inline void script_word(struct script *s, uint32_t row, uint64_t at,
                               enum axp__word_kind kind, uint32_t name)
{
    script_put(s, row, (uint64_t[]){axp__word(kind, name, at)}, 1);
}

/* An operation from then on, for so long. */
static inline void script_op(struct script *s, uint32_t row, uint64_t at,
                             uint64_t ns, uint32_t op)
{
    script_word(s, row, at, AXP__W_BEGIN, SCRIPT_FIRST + op);
    script_word(s, row, at + ns, AXP__W_END, SCRIPT_FIRST + op);
}

static inline void script_ext(struct script *s, uint32_t row, uint64_t at,
                              const uint64_t *ext, size_t n)
{
    uint64_t words[8] = {axp__word(AXP__W_EXT, 0, at)};
    memcpy(words + 1, ext, n * 8);
    script_put(s, row, words, n + 1);
}

static inline uint32_t script_verb(axp_sync_verb verb, axp_sync_kind kind)
{
    return (uint32_t)verb | (uint32_t)kind << 8;
}

static inline void script_gave(struct script *s, uint32_t row, uint64_t at,
                               axp_sync_kind kind, uint64_t object,
                               uint64_t number)
{
    uint32_t what = script_verb(AXP_SYNC_GAVE, kind);
    script_ext(
        s, row, at,
        (uint64_t[]){axp__ext_word(AXP__X_SYNC, 3, what), object, number}, 3);
}

struct script_wait {
    axp_sync_kind kind;
    uint64_t object, number, begin, given;
    int by; /* a row; -1: not known */
    axp_sync_verb verb;
    bool is_scope;
};

/* … that ends then. */
static inline void script_waited(struct script *s, uint32_t row, uint64_t at,
                                 struct script_wait w)
{
    uint32_t n = w.by < 0 ? 4 : 6;
    uint32_t what = script_verb(w.verb ? w.verb : AXP_SYNC_WAITED, w.kind);
    uint64_t words[] = {axp__word(AXP__W_EXT, SCRIPT_WAIT, at),
                        axp__ext_word(AXP__X_SYNC, n, what),
                        w.object,
                        w.number,
                        w.begin,
                        w.given,
                        (uint64_t)(w.by + 1)};
    if (w.is_scope) script_word(s, row, w.begin, AXP__W_BEGIN, SCRIPT_WAIT);
    script_put(s, row, words, n + 1);
    if (w.is_scope) script_word(s, row, at, AXP__W_END, SCRIPT_WAIT);
}

/* The stack, of a sample, of a function that has no name: 0 is at 0x1000, 1 at
 * 0x2000. */
static inline uint32_t script_function(struct script *s, uint32_t i)
{
    static uint8_t bytes[2][AXP__STACK_BYTES(AXP__STACK_MOST)];
    static const uint8_t *at[2] = {bytes[0], bytes[1]};
    for (uint32_t k = 0; k < 2; k++)
        axp__stack_put(bytes[k], (uint64_t[]){(k + 1) * 0x1000}, 1);
    s->c.stacks[AXP__STACKS_OF_OTHERS] = (struct axp__cap_stacks){at, 2};
    return AXP__STACKS_OUTSIDE + i;
}

/* The script is the view's. */
/* So much longer it took to start threads that were to be sampled. */
static inline void script_took(struct script *s, uint32_t what, double ns)
{
    s->took = (struct axp__cap_counter){
        .name = what, .n = 1, .sum = ns, .min = ns, .max = ns};
    s->outside = (struct axp__cap_lane){
        .row = -1, .counters = &s->took, .n_counters = 1};
    s->c.lanes = &s->outside;
    s->c.n_lanes = 1;
}

static inline void script_follow(struct script *s, double ns)
{
    script_took(s, SCRIPT_FOLLOW, ns);
}

static inline axp_view *script_view(struct script *s)
{
    for (uint32_t i = 0; i < s->c.n_rows; i++) {
        if (!s->words[i]) continue;
        s->chunks[s->c.n_chunks++] =
            (struct axp__cap_chunk){.row = i + 1,
                                    .seq = 1,
                                    .words = s->words[i],
                                    .n_words = s->n[i],
                                    .n_events = s->rows[i].n_events};
    }
    axp_view *v = axp__view_make(&s->c);
    assert_non_null(v);
    return v;
}

/* ---- questions ------------------------------------------------------------ */

/* "op1=0.5" or "even" or NULL: how long the run takes then. */
static inline axp_ns script_wall(const axp_graph *g, const char *change)
{
    bool is_even = change && !strcmp(change, "even");
    axp_whatif_options o = {.scale = &change,
                            .n_scale = change && !is_even,
                            .even_threads = is_even};
    axp_replay *r = NULL;
    assert_int_equal(axp_whatif(g, &o, &r), AXP_OK);
    axp_ns wall = axp_replay_total(r).wall_ns;
    axp_replay_destroy(r);
    return wall;
}

/* What of the path is of that name. */
static inline axp_ns script_path(const axp_graph *g, const char *name)
{
    axp_path_part parts[64];
    axp_replay *r = NULL;
    axp_ns ns = 0;
    assert_int_equal(axp_whatif(g, NULL, &r), AXP_OK);
    size_t n = axp_replay_parts(r, parts, 64);
    assert_true(n <= 64);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(parts[i].name, name)) ns += parts[i].ns;
    axp_replay_destroy(r);
    return ns;
}

/* The parts are the run, to 0.1 %, and so are the segments, without gaps. */
static inline void script_check(const axp_graph *g, const axp_replay *r)
{
    size_t n = axp_replay_parts(r, NULL, 0);
    size_t n_segments = axp_replay_segments(r, NULL, 0);
    axp_path_part *parts = calloc(n + 1, sizeof *parts);
    axp_path_segment *segments = calloc(n_segments + 1, sizeof *segments);
    axp_ns wall = axp_replay_total(r).wall_ns;
    double sum = 0;
    (void)g;
    assert_non_null(parts);
    assert_non_null(segments);
    axp_replay_parts(r, parts, n);
    axp_replay_segments(r, segments, n_segments);
    for (size_t i = 0; i < n; i++)
        sum += (double)parts[i].ns;
    if (sum < 0.999 * (double)wall - (double)n ||
        sum > 1.001 * (double)wall + (double)n)
        fail_msg("parts are %.0f of %llu ns", sum, (unsigned long long)wall);
    for (size_t i = 1; i < n_segments; i++)
        assert_int_equal(segments[i].begin, segments[i - 1].end);
    if (n_segments)
        assert_int_equal(segments[n_segments - 1].end - segments[0].begin,
                         wall);
    free(parts);
    free(segments);
}

#endif
