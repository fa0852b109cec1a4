/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A row of the stream: its words turned into records, its scopes matched.
 *
 * Place      between model_source.c (words) and model_stream.c (the merge).
 * Twice      matching needs to know, when a scope begins, what shows when it
 *            ends: which names overlap, and which scopes were open before the
 *            first word. axp__reader_prepare reads the words once for that.
 */
#ifndef AXP_MODEL_MATCH_H
#define AXP_MODEL_MATCH_H
#include "model/model_source.h"

/* A scope that was open before the window. */
struct axp__matched {
    axp_ns begin_ns; /* UINT64_MAX: unknown */
    uint32_t name;
    uint8_t flags;
};

struct axp__row_reader {
    const axp_view *v;
    struct axp__rate rate; /* the capture's, at hand */
    uint64_t start_ticks;
    const struct axp__cap_row *cap; /* NULL: unknown */
    struct axp__words words;        /* of a thread */
    struct axp__track *track;       /* NULL: a thread */
    uint64_t n_skip;                /* events before the window */
    uint64_t *overlaps; /* names that overlap, a bit each; the stream's */
    axp_ns end_ns;      /* where open scopes end */
    uint32_t n_frames;  /* of the lane, that are no later than what ends */

    struct axp__scopes scopes;
    struct axp__matched *opening; /* outermost first */
    size_t n_opening, cap_opening, at_opening;
    struct axp__scope_work work;           /* of the END that is given */
    axp_ns last_ns;                        /* times do not go back */
    const uint64_t *stack_before;          /* the head whose … */
    uint32_t stack;                        /* … stack this is */
    struct axp__wire_event held;           /* read, and not done with */
    const struct axp__cap_sample *samples; /* of the row, by time */
    size_t n_samples, at_sample;
    bool is_held, is_raw, is_once, has_failed;
    struct axp__record next;
};

/* ---- model_scan.c -------------------------------------------------------------- */
/* To the first word after n_skip events. */
void axp__reader_skip(struct axp__row_reader *r);
/* Before the first next, unless is_raw. False: no memory. */
bool axp__reader_prepare(struct axp__row_reader *r);

/* ---- model_match.c ------------------------------------------------------------- */
/* To the first record after n_skip events. */
bool axp__reader_begin(struct axp__row_reader *r);
/* Moves `next` on. False: there is none, or has_failed. */
bool axp__reader_next(struct axp__row_reader *r);
void axp__reader_fini(struct axp__row_reader *r);

/* ---- model_run.c --------------------------------------------------------------- */
/* As axp__stream_run. */
size_t axp__reader_run(struct axp__row_reader *r, const uint64_t *names,
                       struct axp__brief *out, size_t cap);

static inline void axp__reader_mark(struct axp__row_reader *r, uint32_t name)
{
    r->overlaps[name >> 6] |= (uint64_t)1 << (name & 63);
}

static inline bool axp__reader_overlaps(const struct axp__row_reader *r,
                                        uint32_t name)
{
    return r->overlaps[name >> 6] >> (name & 63) & 1;
}

#endif
