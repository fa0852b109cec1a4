/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One row's words, in order, chunk after chunk; and a track's, sorted.
 *
 * Place      below model_stream.c, which merges sources and matches scopes.
 * Memory     one loaded chunk. Of a track also what was recorded out of
 *            order: an event may leave once no later chunk holds an earlier
 *            one, which a first pass over the chunks finds out.
 * Failure    chunks that cannot be loaded count as empty; what is damaged
 *            ends its chunk.
 */
#ifndef AXP_MODEL_SOURCE_H
#define AXP_MODEL_SOURCE_H
#include "model/model_scopes.h"
#include "wire/wire_decode.h"

/* ---- words of a row ---------------------------------------------------------------- */
struct axp__words {
    const struct axp__capture *capture;
    const struct axp__cap_chunk *first, *chunk, *end; /* by seq */
    struct axp__cap_words loaded;                     /* a part of chunk */
    struct axp__decoder decoder;
    uint32_t part;
    bool is_begun;
};

/* Begins again at the first chunk; loads nothing yet. */
void axp__words_rewind(struct axp__words *w);
void axp__words_fini(struct axp__words *w);
/* The next part of a chunk, loaded; one that cannot be read is empty. False:
 * there is none. */
bool axp__words_next_chunk(struct axp__words *w);

static inline bool axp__words_next(struct axp__words *w,
                                   struct axp__wire_event *out)
{
    while (!axp__decoder_next(&w->decoder, out))
        if (!axp__words_next_chunk(w)) return false;
    return true;
}

/* ---- a track ------------------------------------------------------------------------ */
struct axp__track_item {
    axp_ns time_ns, end_ns; /* begin and end of a span */
    uint64_t order;
    uint64_t address, bytes; /* of a span: its flow, 1 + its step */
    struct axp__scope_work work;
    uint32_t name;
    uint8_t kind; /* AXP__R_SPAN, _ALLOC, _FREE */
    uint8_t mem, category, has_work, is_cut;
};

struct axp__track_heap {
    struct axp__track_item *at;
    size_t n, cap;
};

struct axp__track {
    struct axp__words words;
    axp_ns *earliest;               /* of a chunk and all after it */
    struct axp__track_heap waiting; /* not yet given */
    struct axp__track_heap open;    /* spans given, not yet ended */
    uint64_t n_read, n_given;
    struct axp__track_item current;
};

/* False: no memory. */
bool axp__track_begin(struct axp__track *t);
void axp__track_fini(struct axp__track *t);
/* What was given so far is cut off: spans still open are given once more,
 * marked so. */
bool axp__track_cut(struct axp__track *t);
enum axp__track_next { AXP__TRACK_NEXT, AXP__TRACK_DONE, AXP__TRACK_NO_MEMORY };
/* Fills what the record of an event on a track holds. */
enum axp__track_next axp__track_next(struct axp__track *t,
                                     struct axp__record *out);

#endif
