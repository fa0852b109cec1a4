/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A profiler, and the way into it.
 *
 * Handles   a slot is 64 KiB, aligned, in a slab that is never unmapped; the
 *           pointer that a client holds is the slot's address plus its
 *           generation (1…4095), so that a call with a handle of a profiler
 *           that is gone is told from one that is there and does no harm.
 * Gate      epoch << 8 | state bits. Epochs are unique in the process and
 *           change at reset, so a lane of another time never fits. Whoever
 *           changes the gate then clears `go` in every lane, so that a
 *           recording thread looks at its own lane alone.
 * Closing   reset, finish and destroy set the gate, pass a barrier through
 *           all threads, and wait until no thread of the profiler is inside
 *           an event (at most a second; then what it may still touch is left
 *           alone). Recording calls never wait for them: while the gate is
 *           shut an event counts as before the reset, or after the end.
 * Locks     axp__prof.mutex serialises readers with each other and with
 *           closing; axp__process.mutex guards the slab. In that order.
 */
#ifndef AXP_RECORD_PROFILER_H
#define AXP_RECORD_PROFILER_H

#include "axprof/axprof.h"
#include "os/os_clock.h"
#include "os/os_mutex.h"
#include "record/record_pool.h"
#include "tally/tally_capture.h"
#include "tally/tally_domain.h"
#include "tally/tally_heap.h"
#include "tally/tally_shadow.h"
#include "tally/tally_stacks.h"

#define AXP__PROF_BYTES 65536u /* the largest page: a slot may be mapped */
#define AXP__PROF_GENERATIONS 4095u

enum axp__gate_bit {
    AXP__GATE_ENABLED = 1,
    AXP__GATE_SHUT = 2, /* being reset, finished or destroyed */
    AXP__GATE_FINISHED = 4
};

enum axp__warning_id {
#define X(id, code, text) AXP__WARN_##id,
#include "record/record_warning.def"
#undef X
    AXP__N_WARNINGS
};

/* In the flags of a profiler, beside the public ones. */
#define AXP__FLAG_CHILD 0x10000u /* of a fork, since it was made */

struct axp__warning {
    uint64_t count;
    uint32_t name; /* of the last one */
};

/* A thread or track whose lane was merged. */
struct axp__row {
    uint32_t id;
    uint32_t track; /* 0: a thread */
    uint32_t name;
    uint32_t n_merged; /* further ones that this row stands for */
    uint64_t tid;
    uint64_t first_ticks, last_ticks, busy_ticks, wait_ticks;
    uint64_t cpu_ns;
    uint64_t n_events;
};
#define AXP__MAX_ROWS 8192u

struct axp__prof {
    /* The slot's own, for ever: a call with an old handle may look at these,
     * and even hold the mutex, while the slot is given to another profiler. */
    struct axp__mutex mutex;
    uint32_t generation;    /* 0: the slot is free */
    uint32_t index;         /* of the slot */
    uint32_t n_generations; /* that the slot has had */
    bool is_taken;          /* by the process's mutex */
    uint64_t gate;          /* shut while the slot changes hands */

    uint64_t start_ticks; /* from here on the profiler's */
    uint64_t end_ticks;   /* once finished */
    uint32_t flags;
    int32_t rank;      /* -1: none */
    bool was_disabled; /* ever, or inherited: unmatched stops are excused */
    struct axp__lane *lanes; /* newest first; pushed without the mutex */
    uint32_t n_rows;
    uint32_t n_ended;      /* lanes of threads that ended, not yet merged */
    uint32_t n_left_open;  /* of these, found with scopes open */
    uint32_t n_free_lanes; /* merged, and nobody's */
    uint64_t n_claims;     /* tries of threads to stop what others started */
    uint32_t has_claims;   /* whether there may be any */
    uint32_t is_claimable; /* 1: and every thread knows it */
    /* Of axp_step: n_steps are counted from the run's first, of which those
     * before first_step are not recorded. */
    uint64_t last_mark_ticks; /* 0: before what is recorded */
    uint64_t n_steps, first_step;
    uint64_t part_ticks; /* when the part of the run that is asked for began */
    uint64_t over_ticks; /* … and was over; 0: it is not */
    struct axp__tape *tape;    /* NULL: no file */
    struct axp__budget budget; /* of everything but the pool */
    struct axp__pool pool;
    struct axp__shadow blocks; /* live by address: bytes << 20 | name */
    struct axp__lookup asyncs; /* open async spans: begin ticks */
    struct axp__warning warning[AXP__N_WARNINGS];
    struct axp__trash *trash; /* what readers may still look at */

    struct axp__lane *merged; /* ended threads; by mutex */
    struct axp__row *rows;    /* theirs; by mutex */
    uint32_t n_merged_rows, cap_rows;
    uint64_t n_merged_unlogged;
    uint32_t n_tracks;
    struct axp_track *tracks; /* newest first */
    axp_log_fn log;
    void *log_ctx;
    uint64_t timeline_capacity;
    char title[256];
    struct axp__memory memory;   /* of the host */
    struct axp__domain *domains; /* of devices */
    struct axp__stacks stacks;   /* ids stay when it is reset, as names' do */
    struct axp__heap heap;       /* what an allocator was seen to hand out */
};
_Static_assert(sizeof(struct axp__prof) <= AXP__PROF_BYTES, "slot size");

static inline struct axp__prof *axp__prof_of(const axp_profiler *handle)
{
    return (struct axp__prof *)((uintptr_t)handle &
                                ~(uintptr_t)(AXP__PROF_BYTES - 1));
}

/* The end of what is recorded: until now, unless it is over. */
static inline uint64_t axp__prof_end(const struct axp__prof *p)
{
    uint64_t over = axp__get(&p->gate) & AXP__GATE_FINISHED
                        ? axp__get(&p->end_ticks)
                        : axp__get(&p->over_ticks);
    return over ? over : axp__clock_ticks();
}

static inline axp_profiler *axp__prof_handle(struct axp__prof *p)
{
    return (axp_profiler *)((char *)p + axp__get(&p->generation));
}

static inline uint32_t axp__generation_of(const axp_profiler *handle)
{
    return (uint32_t)((uintptr_t)handle & (AXP__PROF_BYTES - 1));
}

/* NULL: not a profiler that is there. */
struct axp__prof *axp__prof_check(const axp_profiler *handle);

void axp__warn(struct axp__prof *p, enum axp__warning_id id, uint32_t name);

/* The gate shut and nobody inside; false: somebody was, after a second. */
bool axp__prof_quiesce(struct axp__prof *p);
/* Bits of the gate; a gate of a new epoch; and every lane asks at its next
 * event, after the gate has changed. */
void axp__prof_set_gate(struct axp__prof *p, uint64_t set, uint64_t clear);
uint64_t axp__prof_new_gate(uint64_t bits);
void axp__prof_stop_lanes(struct axp__prof *p);
void axp__prof_free_slot(struct axp__prof *p); /* of one that is gone */

/* Memory that a reader may still look at, freed under the mutex. */
void axp__trash_add(struct axp__prof *p, void *memory, size_t bytes);
void axp__trash_empty(struct axp__prof *p); /* by mutex */

/* What a scope costs, measured once a process. */
struct axp__own_cost axp__own_cost_get(void);
/* The same where it must not be measured, as in a recording call; 0: nobody
 * has. Who opens a file, or has one in sight, measures before. */
struct axp__own_cost axp__own_cost_known(void);
/* What a start and stop by name takes more than that, in ns; 0: not known. */
double axp__own_cost_by_name(void);
/* What a value of a counter takes more than half a scope; likewise. */
double axp__own_cost_of_counter(void);
#define AXP__TOLD_AT_ONCE 4096u /* so many of those, now and then */
/* Adds to what recording took beside scopes, on this thread. */
void axp__count_cost(axp_profiler *p, const char *of, double took_ns);

#endif
