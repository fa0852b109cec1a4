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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire_events.def"

enum axp__word_kind {
    AXP__W_NONE,
#define AXP__ONE(kind, number, ...) AXP__W_##kind = (number),
    AXP__WORD_KINDS(AXP__ONE)
#undef AXP__ONE
        AXP__W_N_KINDS
};

/* What follows the first payload word of an AXP__W_EXT. */
enum axp__ext_kind {
    AXP__X_NONE,
#define AXP__ONE(kind, number, ...) AXP__X_##kind = (number),
    AXP__EXT_KINDS(AXP__ONE)
#undef AXP__ONE
        AXP__X_N_KINDS
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

/* Of a thread that lived for an event or two: not worth packing. */
#define AXP__TINY_WORDS 17u
static inline bool axp__chunk_is_tiny(const struct axp__chunk *chunk)
{
    return chunk->n_words <= AXP__TINY_WORDS;
}

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
#define AXP__ONE(kind, number, events, field, payload)                         \
    [number] = sizeof(payload) - 1,
        AXP__WORD_KINDS(AXP__ONE)
#undef AXP__ONE
    };
    return n[kind & 15];
}

/* Kinds of one word, as bits. */
#define AXP__IS_PLAIN(kind, number, events, field, payload)                    \
    | (uint32_t)(sizeof(payload) == 1) << (number)
#define AXP__PLAIN_KINDS (0u AXP__WORD_KINDS(AXP__IS_PLAIN))

/* Words of payload of an EXT, its first included, which says so. */
static inline size_t axp__ext_words(uint64_t first)
{
    return first >> 8 & 0xffff;
}

/* Words of the record that begins with the head at `at`, of which `left` are
 * there; 0: it is none, or does not end. */
static inline size_t axp__record_words(const uint64_t *at, size_t left)
{
    enum axp__word_kind kind = (enum axp__word_kind)(at[0] & 15);
    size_t n = axp__payload_words(kind);
    if (kind == AXP__W_NONE || kind >= AXP__W_N_KINDS || n >= left) return 0;
    if (kind != AXP__W_EXT) return n + 1;
    n = axp__ext_words(at[1]);
    return n && n < left ? n + 1 : 0;
}

static inline uint64_t axp__ext_word(enum axp__ext_kind kind, uint32_t n_words,
                                     uint32_t argument)
{
    return (uint64_t)kind | (uint64_t)n_words << 8 | (uint64_t)argument << 32;
}

/* What is to be known of an EXT; of one that is not known, nothing. */
struct axp__ext_shape {
    uint8_t events, is_on_track, least;
    const char *payload;
};

static inline struct axp__ext_shape axp__ext_shape(enum axp__ext_kind ext)
{
    enum { thread, track };
    static const struct axp__ext_shape shapes[] = {{0, 0, 0, ""},
#define AXP__EXT(kind, number, events, place, least, payload)                  \
    [number] = {events, place == track, least, payload},
                                                   AXP__EXT_KINDS(AXP__EXT)
#undef AXP__EXT
    };
    bool is_known = (unsigned)ext < AXP__X_N_KINDS && shapes[ext].payload;
    return shapes[is_known ? ext : 0];
}

/* How many events of the timeline a record stands for. */
static inline unsigned axp__word_events(enum axp__word_kind kind,
                                        enum axp__ext_kind ext)
{
    static const uint8_t n[16] = {
#define AXP__EVENTS(kind, number, events, ...) [number] = events,
        AXP__WORD_KINDS(AXP__EVENTS)
#undef AXP__EVENTS
    };
    return kind == AXP__W_EXT ? axp__ext_shape(ext).events : n[kind & 15];
}

/* Whether the head's field for a name holds one. */
static inline int axp__has_name(enum axp__word_kind kind)
{
    enum { other, name };
    static const uint8_t is[16] = {
#define AXP__FIELD(kind, number, events, field, ...) [number] = field == name,
        AXP__WORD_KINDS(AXP__FIELD)
#undef AXP__FIELD
    };
    return is[kind & 15];
}

/* The payload of a kind that is no EXT, a letter a word. */
static inline const char *axp__payload_of(enum axp__word_kind kind)
{
    static const char *const payloads[16] = {
#define AXP__PAYLOAD(kind, number, events, field, payload) [number] = payload,
        AXP__WORD_KINDS(AXP__PAYLOAD)
#undef AXP__PAYLOAD
    };
    return payloads[kind & 15] ? payloads[kind & 15] : "";
}

#endif
