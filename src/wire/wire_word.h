/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The 8-byte words of the timeline, and the chunks that hold them.
 *
 *    63                      24 23            4 3      0
 *   +--------------------------+---------------+--------+
 *   | ticks since chunk's base |    name id    |  kind  |   head word
 *   +--------------------------+---------------+--------+
 *   | payload, a number of words that the kind fixes ...|
 *
 * A chunk's words end with a 0 where a head should be: each event is written
 * together with the 0 after it, over the 0 that the event before it left, so
 * that a chunk needs no clearing when it is used again (clearing cost 0.4 ns
 * a scope) and a process that dies at any moment leaves whole events. An
 * event with payload writes the 0 and the payload first and its head last.
 *
 * Place    written by src/record, read by src/model (and by file readers).
 * Threads  one writer a chunk. Someone who reads while it writes takes the
 *          words before the writer's cursor, which he reads behind a barrier
 *          through all threads: the order in which words appear to others is
 *          not defined. `seq` must be the same before and after: it is 0
 *          while a chunk changes hands.
 */
#ifndef AXP_WIRE_WORD_H
#define AXP_WIRE_WORD_H
#include <stdint.h>

enum axp__word_kind {
    AXP__W_NONE,
    AXP__W_BEGIN,   /* a scope opens */
    AXP__W_END,     /* the innermost scope that is not named closes */
    AXP__W_START,   /* a named scope opens */
    AXP__W_STOP,    /* the newest open named scope of that name closes */
    AXP__W_ABANDON, /* likewise, unwound without an end */
    AXP__W_TIME,    /* payload: the base of all words after it */
    AXP__W_WORK,    /* of the innermost scope; name: dtype. flops, bytes */
    AXP__W_ALLOC,   /* bytes | kind << 56, address */
    AXP__W_FREE,    /* bytes, address */
    AXP__W_INSTANT,
    AXP__W_COUNTER, /* the double's bits */
    AXP__W_STEP,    /* index, live bytes, begin ticks */
    AXP__W_EXT,     /* enum axp__ext_kind | words << 8 | argument << 32, … */
    AXP__W_N_KINDS
};

/* What follows the first payload word of an AXP__W_EXT. */
enum axp__ext_kind {
    AXP__X_EVENT = 1,   /* argument: axp_event_type. metadata bytes, 0 */
    AXP__X_ASYNC_BEGIN, /* id */
    AXP__X_ASYNC_END,   /* id, begin ticks */
    AXP__X_CROSS_STOP,  /* a scope begun on another thread. begin, its row */
    AXP__X_DROP,        /* a scope of this row that another ended. begin */
    AXP__X_FLOW_OUT,    /* id */
    AXP__X_FLOW_IN,     /* id */
    AXP__X_CATEGORY,    /* argument: axp_cat, of the innermost scope */
    AXP__X_DIMS,        /* of the work before. 6 × 32 bits */
    AXP__X_SPAN,        /* on a track. begin ns, end ns, flops, bytes, dtype */
    AXP__X_STACK,       /* of the allocation before. return addresses */
    AXP__X_TRACK_ALLOC, /* ns, bytes | kind << 56, address */
    AXP__X_TRACK_FREE   /* ns, bytes, address */
};

#define AXP__NAME_BITS 20
#define AXP__MAX_NAMES (1u << AXP__NAME_BITS)
#define AXP__TIME_BITS 40
#define AXP__TIME_SHIFT (4 + AXP__NAME_BITS)

#define AXP__CHUNK_BYTES 16384u
#define AXP__CHUNK_WORDS (AXP__CHUNK_BYTES / 8 - 9)

/* Whose a chunk of a spool is. A chunk that is being drained may be in the file
 * already: who finds both knows them by row and seq. */
enum axp__chunk_state {
    AXP__CHUNK_NEW, /* as memory comes: still its maker's */
    AXP__CHUNK_FREE,
    AXP__CHUNK_WRITING,
    AXP__CHUNK_FULL,
    AXP__CHUNK_DRAINING
};

struct axp__chunk {
    uint64_t seq;        /* of the row's chunks, from 1; 0: not readable */
    uint64_t base_ticks; /* of the first words */
    uint32_t row;        /* which thread or track */
    uint32_t epoch;      /* of the profiler; another one: forgotten */
    uint64_t n_words;    /* once full; 0: still written to */
    uint64_t n_events;   /* likewise */
    uint64_t state;      /* enum axp__chunk_state; in a spool */
    uint64_t number;     /* in its pool; without a spool */
    uint64_t reserved;
    uint64_t words[AXP__CHUNK_WORDS + 1]; /* and the last 0 */
};
_Static_assert(sizeof(struct axp__chunk) == AXP__CHUNK_BYTES, "chunk size");

static inline uint64_t axp__word(enum axp__word_kind kind, uint32_t name,
                                 uint64_t delta_ticks)
{
    return delta_ticks << AXP__TIME_SHIFT | (uint64_t)name << 4 |
           (uint64_t)kind;
}

static inline enum axp__word_kind axp__word_kind(uint64_t word)
{
    return (enum axp__word_kind)(word & 15);
}

static inline uint32_t axp__word_name(uint64_t word)
{
    return (uint32_t)(word >> 4) & (AXP__MAX_NAMES - 1);
}

static inline uint64_t axp__word_delta(uint64_t word)
{
    return word >> AXP__TIME_SHIFT;
}

/* Words of payload that a kind fixes; an EXT says the rest in its first. */
static inline unsigned axp__payload_words(enum axp__word_kind kind)
{
    static const uint8_t n[16] = {
        [AXP__W_TIME] = 1,    [AXP__W_WORK] = 2, [AXP__W_ALLOC] = 2,
        [AXP__W_FREE] = 2,    [AXP__W_STEP] = 3, [AXP__W_EXT] = 1,
        [AXP__W_COUNTER] = 1,
    };
    return n[kind & 15];
}

static inline uint64_t axp__ext_word(enum axp__ext_kind kind, uint32_t n_words,
                                     uint32_t argument)
{
    return (uint64_t)kind | (uint64_t)n_words << 8 | (uint64_t)argument << 32;
}

/* How many events of the timeline a record stands for. */
static inline unsigned axp__word_events(enum axp__word_kind kind,
                                        enum axp__ext_kind ext)
{
    if (kind == AXP__W_TIME || kind == AXP__W_WORK) return 0;
    if (kind != AXP__W_EXT) return 1;
    if (ext == AXP__X_SPAN) return 2;
    return ext == AXP__X_EVENT || ext == AXP__X_ASYNC_BEGIN ||
           ext == AXP__X_ASYNC_END || ext == AXP__X_CROSS_STOP ||
           ext == AXP__X_TRACK_ALLOC || ext == AXP__X_TRACK_FREE;
}

#endif
