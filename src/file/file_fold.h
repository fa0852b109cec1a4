/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A timeline folded again: its words added to accumulators as the recorder
 * added them, by the same functions (src/tally).
 *
 *   blocks by time ─► a row's words ─► its tally
 *                                  └► allocations, frees ─► merged by time
 *                                                            ─► live memory
 *
 * Place      `axprof check`, which compares the result with what is stored;
 *            axp_open of a file that has no accumulators, because its process
 *            was killed and its spool is gone.
 * Order      of one row that of its words. What rows share is live memory:
 *            blocks are taken in the order of their beginnings, and what
 *            they say of memory waits until no block that is still to come
 *            can say something earlier.
 * Memory     a tally a row, one block, and what waits. Rows that came to their
 *            end are added up where there are many (file_fold_merge.c). All
 *            call trees together take 72 MiB, half as much again as a recorder
 *            gives them unless it is told otherwise; past that new places fold
 *            into "(other)". What makes numbers right has more, in proportion to
 *            what is read; past that they are not right, and counted as lost.
 * Input      untrusted: an end without a beginning and the like are counted
 *            and passed over. A stop that is not the innermost's searches and
 *            moves frames: so many for each byte that is read, and where they
 *            are used up, it counts as one without a beginning.
 * Cost       bench/bench_file.c: with decoding under 1.5 floors a scope on
 *            examples/gpt's timeline.
 */
#ifndef AXP_FILE_FOLD_H
#define AXP_FILE_FOLD_H
#include "os/os_clock.h"
#include "tally/tally_capture.h"
#include "tally/tally_domain.h"

#define AXP__FOLD_LOOKS_FREE ((uint64_t)1 << 22)
#define AXP__FOLD_LOOKS_A_BYTE 8u
#define AXP__FOLD_APART                                                        \
    64u /* rows that came to their end and are not added up */

struct axp__mem_word { /* waits in its row */
    uint64_t ticks;    /* of the word, which is the order */
    uint64_t now;      /* of the event: on tracks another one */
    uint64_t bytes;
    uint32_t name;
    uint8_t what; /* enum axp__mem_what */
    uint8_t kind; /* axp_mem */
};

enum axp__mem_what { AXP__MEM_ALLOC, AXP__MEM_FREE, AXP__MEM_FIRST_STEP };

struct axp__fold_row {
    uint32_t id;
    bool is_track;
    bool is_merged;  /* and has neither tally nor seed any more */
    bool has_memory; /* it said something of it */
    struct axp__tally tally;
    struct axp__tally_seed *seed;
    uint64_t n_events;                 /* as the blocks claim */
    uint64_t first_ticks;              /* UINT64_MAX: no event */
    uint64_t last_ticks;               /* of events that are no begins */
    uint64_t first_ns, last_ns;        /* of a track */
    uint64_t process_id;               /* of a track; 0: the recording's */
    uint64_t n_unmatched;              /* ends without a beginning */
    uint64_t busy_ticks, waited_ticks; /* of a merged one */
    struct axp__mem_word *waiting;     /* from at_waiting to n_waiting */
    size_t at_waiting, n_waiting, cap_waiting;
};

struct axp__fold_stop { /* a scope that another thread has ended */
    uint64_t begin_ticks;
    uint64_t row; /* where it began */
};

struct axp__fold {
    const struct axp__capture *capture; /* that is folded */
    struct axp__budget budget;
    struct axp__memory memory; /* of the host */
    struct axp__domain *domains;
    struct axp__memory *memory_of[AXP__DEVICES]; /* theirs, at hand */
    uint64_t start_ticks, end_ticks;             /* the latest event */
    struct axp__rate rate;
    struct axp__fold_row **row; /* by id; NULL: not met yet */
    uint32_t *row_id;           /* beside them */
    uint32_t *n_turns;          /* and what is still to come of them;
                                   UINT32_MAX: never merged */
    size_t n_rows;
    size_t n_whole;                  /* that have a tally of their own */
    struct axp__fold_row *merged;    /* the others' sum; NULL: none */
    struct axp__fold_row **finished; /* that may be merged */
    size_t n_finished, merge_at;
    struct axp__fold_row **heap; /* rows with memory that waits */
    size_t n_heap;
    uint64_t n_steps;            /* of the run, up to the last that is there */
    uint64_t largest_block;      /* that was allocated */
    struct axp__digest *digest;  /* of the templates of a pack */
    uint64_t n_lost;             /* scopes without a place, of merged rows */
    uint64_t n_with_memory;      /* rows */
    uint64_t n_damaged;          /* blocks that could not be read */
    uint64_t n_looks;            /* frames that may still be searched, moved */
    struct axp__fold_stop *stop; /* of other threads' scopes */
    size_t n_stops, cap_stops;
    bool has_first_step;
    bool is_out_of_memory;
};

/* The whole timeline of a capture; NULL: no memory. is_apart: each row has a
 * lane of its own, however many there are; else those that have one in c. */
struct axp__fold *axp__fold_create(const struct axp__capture *c, bool is_apart);
void axp__fold_destroy(struct axp__fold *f);
/* Whether the scope that began in a row at a time was ended elsewhere. */
bool axp__fold_is_stopped(const struct axp__fold *f, uint32_t row,
                          uint64_t begin_ticks);
/* What was refused for want of room: scopes without a place of their own, and
 * numbers that are not right. */
uint64_t axp__fold_lost(const struct axp__fold *f);

/* Rows, lanes and memory of c from a fold. c has none of these yet; rows that
 * it should know of by name are given. False: no memory. */
struct axp__row_record;
bool axp__fold_to_capture(struct axp__fold *f, struct axp__capture *c,
                          const struct axp__row_record *rows, size_t n_rows);

/* ---- what its files share ------------------------------------------------------ */
struct axp__symbols;
struct axp__fold_row *axp__fold_row(struct axp__fold *f, uint32_t id);
struct axp__fold_row *axp__fold_make_row(struct axp__fold *f, uint32_t id);
/* Gives back all but the row itself. */
void axp__fold_release(struct axp__fold_row *r);
/* Rows that have a lane in c are never merged. */
void axp__fold_keep_rows(struct axp__fold *f, const struct axp__capture *c);
/* One of a row's chunks was read, and what it said of memory waits. */
void axp__fold_turn_done(struct axp__fold *f, uint32_t row_id);
void axp__fold_words(struct axp__fold *f, struct axp__fold_row *r,
                     const uint64_t *words, size_t n, uint64_t base_ticks);
/* What a WORK record says. */
struct axp__work axp__fold_work(const uint64_t *words);
/* What a scope that begins under that name does, if the name tells. */
bool axp__fold_told(const struct axp__fold *f, uint32_t name,
                    struct axp__work *out);
/* The end of a scope that is no usual one. abandoned: the name in an ABANDON
 * word, else 0. */
void axp__fold_end(struct axp__fold *fold, struct axp__fold_row *r,
                   uint64_t now, uint32_t abandoned);
/* Of the innermost scope. */
void axp__fold_set_category(struct axp__fold_row *r, uint64_t category);
struct axp__wire_event;
void axp__fold_put_memory(struct axp__fold *f, struct axp__fold_row *r,
                          const struct axp__wire_event *e,
                          uint64_t bytes_and_kind, bool is_alloc);
/* The same for a pack. Not if it holds stops: which scope a stop ends is a
 * matter of its name, which a symbol does not have. Nor if it has records that
 * are no template, because there are too many of those. */
bool axp__fold_can_do(struct axp__fold *f, const struct axp__symbols *s);
/* False: it is damaged, and what follows was left out. */
bool axp__fold_symbols(struct axp__fold *f, struct axp__fold_row *r,
                       struct axp__symbols *s);
/* What was said of memory before a moment. */
void axp__fold_memory(struct axp__fold *f, uint64_t before_ticks);
/* Where the next such word goes, NULL without memory; and that it is there. */
struct axp__mem_word *axp__fold_room(struct axp__fold *f,
                                     struct axp__fold_row *r);
void axp__fold_wait(struct axp__fold *f, struct axp__fold_row *r);

#endif
