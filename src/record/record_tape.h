/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A profiler that records to a file: its spool, its trace, its drain.
 *
 *   threads ─► chunks in the spool ─► drain ─► trace
 *           └► accumulators in the spool ──── at finish ─► trace
 *
 * States   WANTED (the first event opens it, so that a process which records
 *          nothing leaves nothing) → OPENING → OPEN → CLOSED; FAILED: the
 *          profiler goes on in memory, with a warning. record_open.c.
 * Files    are opened, written and locked where the program's table of
 *          descriptors is not touched: apart (os_apart.h), or by the drain,
 *          which has one of its own.
 * Drain    a thread of this process with all signals blocked, so that a limit
 *          on files is an error and no SIGXFSZ. It sleeps until chunks are
 *          many or old: the spool keeps them as safe as the trace would. It is
 *          made when the library is loaded, or the profiler, or in the child
 *          of a fork, never by a recording call. Without it finish does its
 *          work. Under axprof run (the variable AXPROF_DRAIN is "parent") the
 *          global profiler has none: the parent drains, and completes the file
 *          when the process is gone.
 * Death    whatever ends the process: the spool has every word that was
 *          written, and the accumulators. outside_recover.c reads them.
 * Fork     the child's tape is WANTED again, under a name of its own. What the
 *          child needs to know of its profiler is kept here, in private
 *          memory: the slot lies in the spool, which the parent's threads go
 *          on changing.
 * Threads  open, flush, finish, reset and close by the profiler's mutex.
 */
#ifndef AXP_RECORD_TAPE_H
#define AXP_RECORD_TAPE_H
#include "record/record_profiler.h"
#include "record/record_trace.h"
#include "record/record_unrecorded.h"

enum axp__tape_state {
    AXP__TAPE_WANTED,
    AXP__TAPE_OPENING,
    AXP__TAPE_OPEN,
    AXP__TAPE_CLOSED,
    AXP__TAPE_FAILED
};

enum axp__tape_order {
    AXP__ORDER_NONE,
    AXP__ORDER_FLUSH,   /* every full chunk */
    AXP__ORDER_RESTART, /* the file begins anew */
    AXP__ORDER_HOLD,    /* stand still until it is let go */
    AXP__ORDER_FINISH   /* the rest, the accumulators, the index; and end */
};

#define AXP__TAPE_BATCH 512u
#define AXP__TAPE_STARTED 256u

struct axp__tape {
    uint32_t state;    /* enum axp__tape_state; who finds it OPENING waits */
    uint32_t is_moved; /* the slot is, or may be, in the spool */
    bool has_old_pool; /* of before a fork: see axp__tape_drop_pool */
    struct axp__tape *next;     /* of the process; by its mutex */
    struct axp__space_own *own; /* what the spool has mapped; NULL: none */
    struct axp__prof kept; /* the profiler before it moved, and what has been
                              decided of it since */
    bool may_rename;       /* a path that is taken gives way to another one */
    bool is_overwriting;
    bool is_by_code; /* axp_global_open */
    bool has_thread;
    bool is_outside; /* axprof run drains it, and completes the file */
    uint8_t run_id[16];
    uint64_t spool_limit, file_limit;
    uint64_t chunk_bytes; /* what the spool's limit comes to */
    struct axp__prof *p;  /* whose it is */
    struct axp__trace trace;
    struct axp__kept_about *about;
    pthread_t thread;
    uint32_t order; /* enum axp__tape_order */
    uint32_t n_asked, n_done;
    uint32_t n_rung;  /* the drain sleeps on it */
    uint32_t held_by; /* the turn of an ORDER_HOLD that is not over */
    const struct axp__capture *capture; /* of ORDER_FINISH */
    struct axp__chunk *started; /* of ORDER_FLUSH: copies of chunks that … */
    size_t n_started;           /* … are being written to */
    bool is_whole;              /* the answer to it */
    bool is_warned, is_told;    /* that writing failed */
    int end_error;              /* why the trace has not all; 0: it has */
    char reason[4400];          /* why there is no file, or one of another
                                   name; "": neither */
    uint64_t stderr_device, stderr_inode; /* when the library was loaded */
    struct axp__unrecorded unrecorded;    /* of a run: where to say so */
    struct axp__chunk *batch[AXP__TAPE_BATCH];
    char base[4096];      /* as it was asked for: %p, %i */
    int base_error;       /* why it cannot be; 0: it can */
    char path[4096 + 32]; /* of the trace */
    char spool_path[4096 + 48];
};

/* A tape for p, WANTED, with its path as it is now; one that cannot be, since it
 * is too long or its folder is gone, fails to open. NULL: no memory. */
struct axp__tape *axp__tape_create(struct axp__prof *p, const char *path,
                                   const axp_options *o);
/* What the environment asks of the global profiler; NULL: nothing. All of it is
 * read here, when the library is loaded: the program may change it later, and
 * a tape that is drained by two is lost. */
struct axp__tape *axp__tape_create_global(struct axp__prof *p);
void axp__tape_destroy(struct axp__tape *tape); /* not while it is open */
/* Makes it OPEN, or FAILED with the reason in axp_last_error. The caller
 * knows that nobody has a lane in p. */
axp_status axp__tape_open(struct axp__prof *p);
/* What a scope costs is known now: who reads the spool is told. Libraries that
 * are made ready before ours may have recorded already. */
void axp__tape_tell_cost(struct axp__prof *p);
/* At a thread's first event: opens what is WANTED, waits for who does it. No
 * allocator, no cancellation point. False: it could not be decided, since the
 * profiler is in somebody's hands, and the event comes too early. */
bool axp__tape_start(struct axp__prof *p);

/* The trace, mapped, the caller's; how much of it is mapped, and how much is
 * written (UINT64_MAX: it is complete). NULL: there is none. The drain is
 * held. */
void *axp__tape_map(struct axp__prof *p, uint64_t *mapped, uint64_t *bytes);
axp_status axp__tape_flush(struct axp__prof *p);
axp_status axp__tape_finish(struct axp__prof *p); /* p is finished, quiesced */
void axp__tape_restart(struct axp__prof *p);      /* p is quiesced */
/* Before the profiler is cleared: a spool that others still need, since the
 * trace is not complete, is left as it is. */
void axp__tape_leave(struct axp__prof *p);
/* Gives the profiler's memory back to this process; nobody is inside. False:
 * somebody may still be at the spool, and it stays as it is. */
bool axp__tape_close(struct axp__prof *p);
/* From here on there is nothing that children would have to be told. */
void axp__tape_come_back(struct axp__tape *tape);
/* After the handle, the gate or the tracks of p have changed: for children. */
void axp__tape_keep(struct axp__prof *p);
/* In the child of a fork: p is as it was kept, and nothing is shared. False: p
 * is finished, and all there is of it is still there. */
bool axp__tape_fork(struct axp__tape *tape);
/* Forgets the pool that an interrupted event went on with in a child. */
void axp__tape_drop_pool(struct axp__tape *tape);
/* Copies of what the calling thread may be in the middle of changing, for the
 * child of a fork; and away with them again. */
void axp__tape_copy(struct axp__tape *tape);
void axp__tape_drop_copies(struct axp__tape *tape);

void axp__random_bytes(uint8_t *out, size_t n);
/* When the program ends: one line where AXPROF_OUT came to nothing, to a file
 * of another name, or to one that is not complete. */
void axp__tape_tell(const struct axp__tape *tape);
/* A system's error in words, without a lock or an allocation. */
const char *axp__error_text(int error);

#endif
