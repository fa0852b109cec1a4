/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_adapter.h: what libraries that look into other people's programs need
 * beside axprof.h.
 *
 *   uint64_t began = axp_wait_begin();
 *   wait for something that is mostly there at once;
 *   if (it took long) axp_wait_end(began, "mutex wait");
 *
 * A scope whose worth shows only when it is over: nothing is recorded of a
 * short one. Link with -laxprof_rt.
 *
 * Kinds      what is recorded by these calls is of a kind of its own: it is told
 *            from what a program records by the call, never by a name.
 */
#ifndef AXPROF_ADAPTER_H
#define AXPROF_ADAPTER_H
#include "axprof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the global profiler records: one load. */
static inline bool axp_is_recording(void)
{
    return axp__is_on();
}

/* Whether it records at this moment: where a part of the run is to be recorded it is
 * looked whether that has begun, as every event does. For what takes long before
 * an event. */
AXP_API bool axp_recording_is_open(void);

/* A moment of the recorder's clock; 0: nothing is being recorded. */
AXP_API uint64_t axp_wait_begin(void);
/* Records a scope from that moment to now, of category sync, in the global
 * profiler and on this thread, which must have recorded nothing meanwhile (a
 * signal handler may have: then the scope begins after it). */
AXP_API void axp_wait_end(uint64_t began, const char *name);

/* From now on this thread is inside of something whose waits an adapter records
 * as its own (a runtime's pool), or no longer: until then axp_wait_begin says
 * that nothing is recorded. */
AXP_API void axp_wait_inside(bool is_inside);

/* Begins a scope, in the global profiler, of a function that is known by its
 * address alone; its end is axp_end's. The text is MODULE+0xOFFSET, the
 * module's path, which is absolute, and "0", with 0 bytes between; readers look
 * up what the function is called. "1" instead of "0" is a place inside of it,
 * which is called FUNCTION:LINE. The site, which is 0 at first, remembers it:
 * axp_begin_site may begin later scopes of it. Of a site that another function
 * had it is the name from now on. */
AXP_API uint64_t axp_function_begin(uint32_t *site, const char *text);
/* The same from a function that is not the one whose scope it is, and has
 * returned when the scope ends. A site that has its text needs no other. */
AXP_API uint64_t axp_place_begin(uint32_t *site, const char *text);

/* A scope by name in the global profiler, as axp_start begins one; returns what
 * axp_range_stop ends it by, without looking the name up again. 0: it is not
 * recorded. */
AXP_API uint32_t axp_range_start(const char *name);
AXP_API void axp_range_stop(uint32_t name);

/* Calls of such a function that were counted and not recorded, since recording
 * them cost too much: `calls` more, `all` of them so far, which becomes a
 * counter of its name, and what counting the `calls` took. Views say that there
 * were such calls. */
AXP_API void axp_muted(const char *function, uint64_t calls, uint64_t all,
                       axp_ns took);

/* What an adapter itself took of this thread's time, by the clock of
 * axp_wait_begin: part of what recording is said to take. `what` names a counter
 * of ns that is in no timeline. */
AXP_API void axp_took(const char *what, uint64_t ticks);
/* So many ns by that clock. */
AXP_API uint64_t axp_ticks(axp_ns ns);

/* This thread, of which nothing is recorded yet, began at that moment: it gets
 * a row of the global profiler's, from then on. */
AXP_API void axp_thread_begin(uint64_t began);

/* The global profiler's recording, if there is to be one, gets its file now and
 * not at the first event: this process is about to give its way to it away. */
AXP_API void axp_recording_begin(void);

/* This process is about to set a filter of system calls, which may end it for one
 * that the program itself never makes. So from here on the recorder makes none:
 * it has its file, and records no more, and nor do children of a fork. */
AXP_API void axp_quiet_begin(void);
AXP_API void axp_quiet_undo(void); /* there is no filter after all */
AXP_API void axp_quiet_keep(void); /* there is: axprof run is told */
/* Adapters that make system calls of their own hear of it: fn is called where it
 * begins, at once if it has, and where it was undone. There is room for 16. */
AXP_API void axp_quiet_tell(void (*fn)(bool is_quiet));

/* ---- what threads wait for, and who ends that ------------------------------ */
/* An object (a lock, a barrier …) is known by its address, and is given and
 * taken. Each call records on this thread, in the global profiler; from them a
 * reader knows who waited for whom. They are no events of the timeline and take
 * no part in statistics; a wait that is long is also a scope, as axp_wait_end
 * makes one. */
typedef enum axp_sync_kind AXP__INT {
    AXP_SYNC_LOCK = 1,     /* one at a time, or one writer */
    AXP_SYNC_SHARED,       /* a reader of it */
    AXP_SYNC_CONDITION,    /* signalled */
    AXP_SYNC_BARRIER,      /* number: which round, from 1; all who come give */
    AXP_SYNC_SEMAPHORE,    /* posted */
    AXP_SYNC_THREAD_START, /* its maker gives */
    AXP_SYNC_THREAD_END,   /* it gives; who joins it takes */
    /* Of a pool's threads; who begins it gives, and may wait for its team, which
     * nobody gives. */
    AXP_SYNC_REGION,
    /* As AXP_SYNC_BARRIER, by a pool's thread at the end of a region: from there on
     * it waits for the next one. */
    AXP_SYNC_BACK
} axp_sync_kind;
/* As they are in a recording. */
typedef enum axp_sync_verb AXP__INT {
    AXP_SYNC_GAVE = 1,
    AXP_SYNC_TOOK,  /* without waiting */
    AXP_SYNC_WAITED /* and took, or gave up */
} axp_sync_verb;
/* A moment of the recorder's clock on a thread; at = 0: not known. */
typedef struct axp_giver {
    uint64_t at;
    uint32_t row;
} axp_giver;
typedef struct axp_sync_wait {
    size_t size; /* sizeof(axp_sync_wait), or 0 */
    axp_sync_kind kind;
    const void *object;
    uint64_t number; /* 0: none */
    uint64_t began;  /* by axp_wait_begin */
    axp_giver by;    /* who ended it */
    const char *name;
    axp_ns least_ns; /* of a shorter one no scope is made */
    uint64_t ended;  /* when, if nothing was recorded since; 0: now */
    bool is_vain;    /* it was not taken */
} axp_sync_wait;
/* It is given now; returns that moment, for whoever takes it. */
AXP_API axp_giver axp_sync_give(axp_sync_kind kind, const void *object,
                                uint64_t number);
/* The same of a lock that was taken at `since` (axp_wait_begin; 0: not known).
 * It is recorded if somebody waits for it. */
AXP_API axp_giver axp_sync_release(axp_sync_kind kind, const void *object,
                                   uint64_t since, bool is_wanted);
/* It is taken now, and was there; by: who gave it, or NULL. */
AXP_API void axp_sync_take(axp_sync_kind kind, const void *object,
                           uint64_t number, const axp_giver *by);
/* It was waited for, and taken or given up. A short wait that nobody is known to
 * have ended is none. */
AXP_API void axp_sync_waited(const axp_sync_wait *wait);

/* ---- code that comes and goes ------------------------------------------------ */
/* An object that is loaded now and may soon be no more. What is loaded is looked
 * at once a second: what goes sooner has to be told, if stacks in it are to be
 * read. Addresses are those of this process. */
typedef struct axp_module {
    size_t size;   /* sizeof(axp_module), or 0 */
    uint64_t bias; /* less it, an address is as the object's headers count */
    uint64_t first, last;
    const char *path;
    const char *build_id; /* hexadecimal; "-": none, one is made */
} axp_module;
AXP_API void axp_module_seen(const axp_module *module);

/* ---- what an allocator hands out ------------------------------------------- */
/* Blocks of memory by where they were allocated: this thread's stack, and the
 * scopes that it has open. In the global profiler; nothing of it is in the
 * timeline. A block that the program tracks too gets its name and kind. */
typedef struct axp_heap_stack {
    size_t size;            /* sizeof(axp_heap_stack), or 0 */
    const uint64_t *frames; /* return addresses, innermost first, 64 at most */
    uint32_t n;             /* 0: not known */
    uint64_t hash;          /* of all of them: equal stacks have equal ones */
} axp_heap_stack;
typedef struct axp_heap_block { /* what was known of one */
    uint64_t bytes, place;      /* place 0: nothing */
} axp_heap_block;
/* How many frames a stack is to have: at [0] that of a small block, at [1] that
 * of a block of AXP_HEAP_LARGE bytes or more. Fewer as places become many, so
 * both are read anew for each block. */
#define AXP_HEAP_LARGE 4096
AXP_API const uint32_t *axp_heap_frames(void);
/* After the allocator has returned it. */
AXP_API void axp_heap_alloc(const void *block, size_t bytes,
                            const axp_heap_stack *where);
/* Before such a call: an adapter that looks at the clock now and then did so. If
 * it stands for any, the block that comes next on this thread is followed by
 * itself: how long it lives says how long so many do. */
AXP_API void axp_heap_timed(uint64_t ticks, uint32_t stands_for);
/* Before the allocator gets it back: from then on it may be another thread's. */
AXP_API axp_heap_block axp_heap_free(const void *block);
/* The same for a realloc, which may give it another place: not a block that was
 * of no use for long. */
AXP_API axp_heap_block axp_heap_move(const void *block);
/* The allocator did not take it after all, as a realloc that failed. */
AXP_API void axp_heap_keep(const void *block, axp_heap_block was);
/* From now on blocks are told of by chance, each byte with the same: one of a
 * block every so many. Their bytes are then what they stand for. */
AXP_API void axp_heap_sampled(uint64_t mean_bytes);
/* An allocator, by its file's name, hands out blocks that nobody tells of. */
AXP_API void axp_heap_hidden(const char *library);
/* A file, by its name, has a malloc that is called in place of the adapter's. */
AXP_API void axp_heap_bypassed(const char *file);
/* The allocator had nothing. The first time, what is live is remembered. */
AXP_API void axp_heap_failed(size_t bytes, const axp_heap_stack *where);

/* As the offset of an anonymous mapping, which has none (the kernel does not
 * look): it is axprof's own, whichever copy of it makes it. */
#define AXP_OWN_MAPPING 0x41580000
/* So many bytes more, or less, are mapped by the program beside its allocator:
 * a total of its own. */
AXP_API void axp_heap_mapped(int64_t bytes);

/* ---- looking at a program from outside ----------------------------------- */
/* This thread's row in p is that of whoever looks, and no thread of the
 * program. */
AXP_API void axp_outside_row(axp_profiler *p);
/* A counter of the run's, not of the program's own. */
AXP_API void axp_outside_counter(axp_profiler *p, const char *name,
                                 double value);
/* Something that looking on took the program's threads, in all: nobody knows
 * which. */
AXP_API void axp_outside_took(axp_profiler *p, const char *what, axp_ns ns);
/* What recording costs here, as a text: processes that find it in AXPROF_COST do
 * not measure it again. */
AXP_API void axp_outside_cost(char *out, size_t size);
/* What the machine can do, as axp_machine_record has it, for every recording of
 * this process. */
AXP_API void axp_outside_machine(const char *text);
/* Processes of a run that could not make their recording. Such a one may have no
 * way left to say so, so it maps a file of this, which AXPROF_UNRECORDED names,
 * when it begins. */
typedef enum axp_unrecorded_why AXP__INT {
    AXP_UNRECORDED_ERROR, /* as the error says */
    AXP_UNRECORDED_ROOT,  /* it had changed its root folder before */
    AXP_UNRECORDED_USER,  /* it was another user's by then */
    AXP_UNRECORDED_FILTER /* it set a filter of system calls: from then on */
} axp_unrecorded_why;
typedef struct axp_unrecorded {
    uint64_t n_processes;
    uint64_t process_id; /* this and the others: of the first */
    axp_unrecorded_why why;
    int error; /* as errno has them */
} axp_unrecorded;
/* A warning in p: so many, and why the first. */
AXP_API void axp_outside_unrecorded(axp_profiler *p, uint64_t n_processes,
                                    const char *why);
/* A warning in p: so many samples at most were lost. */
AXP_API void axp_outside_lost(axp_profiler *p, uint64_t n_samples);
/* A warning in p: so many processes of the run go on when it is over. */
AXP_API void axp_outside_left(axp_profiler *p, uint64_t n_processes);
/* The life of a process of that name; id is its process id. */
AXP_API void axp_process_begin(axp_profiler *p, const char *name, uint64_t id);
AXP_API void axp_process_end(axp_profiler *p, const char *name, uint64_t id);

#ifdef __cplusplus
}
#endif
#endif
