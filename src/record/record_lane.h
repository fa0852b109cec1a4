/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A lane: one writer's row in one profiler. It owns a chunk of words and a
 * tally; nobody else writes to either, so nothing here is locked.
 *
 *   thread ──┬── lane (profiler A) ── chunk, tally
 *            ├── lane (profiler B) ── …
 *            └── lane (a track of B that this thread feeds) ── …
 *
 * Life     taken by a thread's first event in a profiler; ENDED with the
 *          thread; merged into the profiler's `merged` lane when more than
 *          a few have ended; then FREE for the next thread. Its memory is
 *          never unmapped, so a stale pointer to it finds a lane, sees by
 *          its owner and profiler that it is not its own, and lets go.
 * Mail     another thread that ends a scope of this lane (a stop by name, a
 *          fiber that moved) cannot touch its frames: it marks the slot or
 *          leaves the token here, sets go to 0, and the owner puts its
 *          frames right at its next event.
 */
#ifndef AXP_RECORD_LANE_H
#define AXP_RECORD_LANE_H
#include "record/record_name.h"
#include "record/record_process.h"
#include "record/record_profiler.h"
#include "record/record_thread.h"
#include "tally/tally_scope.h"
#include "wire/wire_word.h"

enum axp__lane_state {
    AXP__LANE_FREE,
    AXP__LANE_TAKEN, /* being made ready */
    AXP__LANE_ACTIVE,
    AXP__LANE_ENDED,
    AXP__LANE_KEPT,   /* a profiler's merged one */
    AXP__LANE_LEAVING /* ENDED, being merged */
};

#define AXP__SINK_WORDS 64u
#define AXP__MAIL_SLOTS 16u
#define AXP__NEAR_NAMED 8u

/* An open named scope, claimed by whoever stops it. */
struct axp__named {
    uint64_t state; /* 0 free; serial << 1 | 1 open; serial << 1 claimed */
    uint64_t begin_ticks;
    uint32_t name; /* 0: its owner is about to end it */
    uint32_t reserved;
    struct axp__named *next_free;
};

#define AXP__NAMED_PAGE 127u
struct axp__named_page {
    struct axp__named_page *next;
    uint64_t reserved[3];
    struct axp__named slot[AXP__NAMED_PAGE];
};

struct axp__lane { /* what a scope touches lies in its first lines */
    uint64_t *lim; /* where the hot path must stop: the end of the chunk, or
                      NULL: ask (see go) */
    uint64_t base_ticks;
    /* 1: recording needs no question. Others set it to 0, and lim with it,
     * after they have changed what there is to ask about. */
    uint32_t go;
    uint32_t reserved;
    struct axp__thread *owner;
    /* These, and tally.top, are in one block of 32 bytes: see
     * axp__tally_open. */
    uint64_t n_extra; /* words of this chunk that are not events */
    uint64_t *cur;    /* the next word */
    uint64_t last_ticks;
    struct axp__tally tally;
    struct axp__prof *p;
    const axp_profiler *handle; /* p's */
    uint64_t serial; /* of the last token or named slot; never repeats */

    uint32_t index; /* in the process, from 1; for ever */
    uint32_t row;   /* in the profiler: the thread or track it stands for */
    uint32_t row_in_file; /* the drain's: this row is in the trace */
    uint32_t state;       /* enum axp__lane_state */
    uint32_t track;       /* 0: a thread */
    uint32_t name;        /* of the thread or track; 0: its comm below */
    uint64_t epoch;       /* of the profiler */
    uint64_t tid;
    uint64_t first_ticks;
    uint64_t cpu_begin_ns;  /* the thread's CPU time when the lane began … */
    uint64_t cpu_ns;        /* … and since then, when it ended */
    struct axp__lane *next; /* in the profiler */
    struct axp__lane *next_in_track;
    uint64_t first_ns, last_ns; /* of a track's spans */
    uint32_t has_span;
    uint32_t left_below; /* among those that were left: record_lane.c */
    uint32_t device;     /* of a track's; 0: the host's */
    uint32_t reserved_too;
    uint64_t process_id;        /* of a track's; 0: this one */
    struct axp__memory *memory; /* what it allocates in; NULL: none yet … */
    struct axp__purse *purse;   /* … its part of all live bytes; likewise */
    struct axp__memo *memos;    /* names of allocations: record_memory.h … */
    struct axp__memo *guess;    /* … and the last of them */
    struct axp__node *alloc_node;  /* where something was last allocated … */
    uint64_t *allocated_bytes;     /* … and where that is counted */
    struct axp__purse *heap_purse; /* of the allocator's: record_heap.h … */
    struct axp__heap_memo *heap_memos;
    uint64_t heap_last;     /* … and the block that it gave last */
    uint64_t ended_address; /* of the last block with a name that the allocator
                             * got back unsaid: record_memory.h … */
    uint64_t ended_value;   /* … what it was; 0: none */
    uint64_t heap_era;      /* part of the memos' keys */
    struct axp__heap_told heap_told;
    uint64_t heap_noted_from; /* blocks of so many bytes are known … */
    uint32_t heap_weight;     /* … what the next one stands for … */
    uint32_t heap_when;       /* … and the time: record_heap_time.c */

    struct axp__chunk *chunk; /* NULL: words go to the sink */
    uint64_t *words, *end;    /* where the present words begin and end */
    uint64_t n_chunks;
    uint64_t n_logged;   /* events in chunks before this one */
    uint64_t n_unlogged; /* events that went to the sink */

    uint32_t n_named; /* open named scopes */
    uint32_t has_mail;
    uint64_t n_started;             /* scopes by name, ever */
    uint64_t n_counted;             /* values of counters, ever */
    uint64_t mail[AXP__MAIL_SLOTS]; /* tokens ended elsewhere */
    struct axp__named *free_named;
    struct axp__named_page *named_pages;
    struct axp__named near_named[AXP__NEAR_NAMED];
    uint64_t sink[AXP__SINK_WORDS + 1];
    struct axp__tally_seed seed;
};

static inline uint64_t axp__lane_serial(struct axp__lane *lane)
{
    return ++lane->serial & (((uint64_t)1 << 43) - 1);
}

/* A scope's token. In the global profiler the address at which its frame was
 * made, with the low bits of its begin above: the usual end finds its frame
 * without a load, and an address that is used again is told by the time.
 * Elsewhere the lane and a number, and odd. */
_Static_assert(offsetof(struct axp__lane, n_extra) % 32 == 0 &&
                   offsetof(struct axp__lane, tally.top) % 32 == 24,
               "one block");

#define AXP__TOKEN_SHIFT 48
#define AXP__TOKEN_LANE ((uint64_t)1)

static inline uint64_t axp__token_of(const struct axp__frame *f, uint64_t begin)
{
    return (uint64_t)(uintptr_t)f | begin << AXP__TOKEN_SHIFT;
}

static inline struct axp__frame *axp__token_frame(uint64_t token)
{
    uint64_t mask = ((uint64_t)1 << AXP__TOKEN_SHIFT) - 1;
    return (struct axp__frame *)(uintptr_t)(token & mask);
}

static inline uint64_t axp__token_in_lane(struct axp__lane *lane)
{
    return (uint64_t)lane->index << 44 | axp__lane_serial(lane) << 1 |
           AXP__TOKEN_LANE;
}

static inline uint32_t axp__token_lane(uint64_t token)
{
    return (uint32_t)(token >> 44);
}

static inline bool axp__frame_is(const struct axp__frame *f, uint64_t token)
{
    return axp__get(&f->token) == token;
}

/* Whether others may look at it. */
static inline bool axp__lane_is_readable(const struct axp__lane *lane)
{
    uint32_t state = axp__get_acquire(&lane->state);
    return state == AXP__LANE_ACTIVE || state == AXP__LANE_ENDED;
}

struct axp__lane *axp__lane_at(uint32_t index); /* NULL: none */
/* A lane for this thread in p, or in a track of it; NULL without memory. */
struct axp__lane *axp__lane_take(struct axp__thread *t, struct axp__prof *p,
                                 const struct axp_track *track);
/* Its thread has ended; on the way into its profiler, which is not shut. */
void axp__lane_end(struct axp__lane *lane);
void axp__lane_discard(struct axp__lane *lane); /* by mutex, nobody inside */
/* One that was discarded: for its profiler again, or for any, once its memory
 * is no spool's any more. */
void axp__lane_keep(struct axp__lane *lane);
void axp__lane_leave(struct axp__lane *lane);
/* For the next thread; it holds nothing any more. */
void axp__lane_free(struct axp__lane *lane);
/* Forgets what was recorded; nobody inside. */
void axp__lane_clear(struct axp__lane *lane);
/* Merges the lanes of ended threads if they are many; by mutex. The other one
 * tries that, for whoever does not have it. (record_lane_merge.c) */
void axp__lane_merge_many(struct axp__prof *p);
void axp__lane_merge_some(struct axp__prof *p);
/* Pages of named slots; words go to the sink from now on. */
void axp__lane_free_named(struct axp__lane *lane);
void axp__lane_to_sink(struct axp__lane *lane);
uint64_t axp__lane_busy_ticks(const struct axp__lane *lane);
/* By the profiler's mutex, nobody inside: what will be known of the threads
 * that go on. Or when a part of the run is over, beside them. */
void axp__lanes_finish(struct axp__prof *p);
/* A part of the run begins: their processor time counts from now on. */
void axp__lanes_begin_cpu(struct axp__prof *p);
/* CPU time of its thread since it began; 0: not known. */
uint64_t axp__lane_cpu_ns(const struct axp__lane *lane);
/* Events in the timeline and not in it, since the beginning. */
uint64_t axp__lane_logged(const struct axp__lane *lane);
uint64_t axp__lane_unlogged(const struct axp__lane *lane);

/* ---- entering and leaving an event --------------------------------------- */
enum axp__enter_flag {
    AXP__ENTER_DISABLED = 1, /* even while disabled … */
    AXP__ENTER_NEW = 2       /* … and by who has no lane yet */
};

struct axp__lane *axp__enter_slow(const axp_profiler *handle, unsigned flags);

/* Relaxed: whoever closes a profiler passes a barrier through this thread
 * after it has seen the mark gone. The race detector does not know that. */
static inline void axp__thread_leave(struct axp__thread *t)
{
    struct axp__frame *hot = t->global ? axp__get(&t->global->tally.top) : NULL;
    axp__signal_fence();
#ifdef AXP__TSAN
    axp__put_release(&t->hot, hot);
    axp__put_release(&t->busy, 0);
#else
    axp__put(&t->hot, hot);
    axp__put(&t->busy, 0);
#endif
}

/* The same where no question is to be asked; NULL: ask axp__enter_slow. A lane
 * with this handle may go with this handle: it is stopped before that. HOT */
static inline struct axp__lane *axp__enter_quick(struct axp__thread *t,
                                                 const axp_profiler *handle)
{
    struct axp__prof *p = axp__prof_of(handle);
    /* Before n_lanes, which is 0 in a block that a fork has just wiped. */
    struct axp__lane **lanes = axp__get(&t->lanes);
    if (axp__unlikely(!handle || axp__thread_is_inside(t) ||
                      p->index >= axp__get(&t->n_lanes)))
        return NULL;
    struct axp__lane *lane = lanes[p->index];
    if (axp__unlikely(!lane)) return NULL;
    axp__thread_enter(t);
    if (axp__likely(axp__get(&lane->go) && axp__get(&lane->owner) == t &&
                    axp__get(&lane->handle) == handle))
        return lane;
    axp__thread_leave(t);
    return NULL;
}

/* The calling thread's lane in a profiler, marked busy; NULL: not to be
 * recorded. Each enter that gave a lane needs its leave. HOT */
static inline struct axp__lane *axp__enter_as(const axp_profiler *handle,
                                              unsigned flags)
{
    struct axp__lane *lane = axp__enter_quick(axp__tls, handle);
    return axp__likely(lane != NULL) ? lane : axp__enter_slow(handle, flags);
}

static inline struct axp__lane *axp__enter(const axp_profiler *handle)
{
    return axp__enter_as(handle, 0);
}

static inline void axp__leave(struct axp__lane *lane)
{
    axp__thread_leave(lane->owner);
}

/* Makes the owner ask at its next event. */
static inline void axp__lane_stop(struct axp__lane *lane)
{
    axp__put(&lane->go, 0);
    axp__put(&lane->lim, NULL);
}

/* ---- writing words --------------------------------------------------------- */
/* A new chunk, or the base moved, so that n words at `now` fit; returns now,
 * or the base where the clock went back. */
uint64_t axp__lane_make_room(struct axp__lane *lane, uint64_t now, unsigned n);
/* Gives the present chunk back as full. */
void axp__lane_seal(struct axp__lane *lane);

/* `now`, with room for n words. HOT */
static inline uint64_t axp__lane_room(struct axp__lane *lane, uint64_t now,
                                      unsigned n)
{
    if (axp__unlikely((uint64_t)(lane->end - lane->cur) < n ||
                      (now - lane->base_ticks) >> AXP__TIME_BITS))
        now = axp__lane_make_room(lane, now, n);
    axp__put(&lane->last_ticks, now);
    return now;
}

/* What is open when the part of the run that is recorded is over ends there,
 * or with what this thread recorded since. */
static inline uint64_t axp__lane_until(const struct axp__lane *lane,
                                       uint64_t now)
{
    uint64_t over = axp__get(&lane->p->over_ticks);
    if (axp__likely(!over) || now <= over) return now;
    return over > lane->last_ticks ? over : lane->last_ticks;
}

/* Writes a word and the 0 after it, which is there no later: who is killed between
 * them leaves what the chunk held before. (On x86-64 one store of both would
 * straddle a cache line every eighth time: measured slower.) HOT */
static inline void axp__lane_write(struct axp__lane *lane, uint64_t *w,
                                   uint64_t word)
{
#if defined(__aarch64__) && !defined(AXP__TSAN)
    struct axp__two {
        uint64_t word, end;
    } *two = (struct axp__two *)(void *)w;
    __asm__ volatile("stp %1, xzr, %0" : "=Q"(*two) : "r"(word));
#else
    axp__put(&w[1], 0);
    axp__put(&w[0], word);
#endif
    axp__put(&lane->cur, w + 1);
}

/* An event of one word; room was made. HOT */
static inline void axp__lane_put(struct axp__lane *lane,
                                 enum axp__word_kind kind, uint32_t name,
                                 uint64_t now)
{
    axp__lane_write(lane, lane->cur,
                    axp__word(kind, name, now - lane->base_ticks));
}

/* An event with payload; makes room. is_event: it counts in the timeline. */
void axp__lane_put_payload(struct axp__lane *lane, enum axp__word_kind kind,
                           uint32_t name, uint64_t now, const uint64_t *payload,
                           unsigned n_payload);

/* The same for two words of payload, in line. HOT */
static inline void axp__lane_put_two(struct axp__lane *lane,
                                     enum axp__word_kind kind, uint32_t name,
                                     uint64_t now, uint64_t a, uint64_t b)
{
    now = axp__lane_room(lane, now, 3);
    uint64_t *w = lane->cur;
    axp__put(&w[3], 0);
    axp__put(&w[1], a);
    axp__put(&w[2], b);
    axp__put(&w[0], axp__word(kind, name, now - lane->base_ticks));
    axp__put(&lane->n_extra,
             lane->n_extra + 3 - axp__word_events(kind, (enum axp__ext_kind)0));
    axp__put(&lane->cur, w + 3);
}

/* An ALLOC with its stack before it: both, or, of a process that is killed,
 * neither. */
void axp__lane_put_with_stack(struct axp__lane *lane, uint32_t stack,
                              uint32_t name, uint64_t now, uint64_t bytes,
                              uint64_t address);

void axp__lane_put_ext(struct axp__lane *lane, enum axp__ext_kind kind,
                       uint32_t argument, uint32_t name, uint64_t now,
                       const uint64_t *payload, unsigned n_payload);

/* Counts a name that is none, or that came too late. */
void axp__lane_warn_name(struct axp__lane *lane, uint32_t id);

/* The name for an event of this lane. HOT */
static inline uint32_t axp__lane_name(struct axp__lane *lane, const char *name)
{
    uint32_t id = axp__thread_name_id(lane->owner, name);
    if (axp__unlikely(id <= AXP__NAME_UNNAMED)) axp__lane_warn_name(lane, id);
    return id;
}

/* The same for a name that is not the program's. */
static inline uint32_t axp__lane_name_as(struct axp__lane *lane,
                                         enum axp__name_kind kind,
                                         const char *name)
{
    if (kind == AXP__KIND_PLAIN || !name || !*name)
        return axp__lane_name(lane, name);
    uint32_t id = axp__name_register_as(kind, name, NULL);
    if (id == AXP__NAME_OTHER) axp__lane_warn_name(lane, id);
    return id;
}

#endif
