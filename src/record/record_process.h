/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What there is once in a process: names, lanes, profilers.
 *
 * A process has one recorder, however many copies of this library it holds.
 * All of its state is this struct; a copy that starts second (a static one in
 * the program, say, beside the shared one of a plug-in) finds the first by
 * the exported function axp__process_v1 and works on that one's state. The
 * number changes with any layout that copies share.
 *
 * Threads  see each field. The mutex guards creation and destruction of
 *          profilers and the free lanes; no recording call waits for it.
 * Fork     the child forgets lanes and recorded data, keeps names and the
 *          profilers themselves, empty (record_fork.c).
 */
#ifndef AXP_RECORD_PROCESS_H
#define AXP_RECORD_PROCESS_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base_atomic.h"
#include "os/os_mutex.h"
#include "wire/wire_kind.h"

#define AXP__NAMES_A_PAGE 1024u
#define AXP__NAME_PAGES 512u
#define AXP__SLOTS_A_PAGE 16u
#define AXP__SLOT_PAGES 4096u
#define AXP__LANES_A_PAGE 1024u
#define AXP__LANE_PAGES 1024u
#define AXP__MAX_COPIES 16
#define AXP__MAX_SPOOLS 64

struct axp__names {
    uint32_t *slots;
    uint32_t n_used;
    uint32_t n_of_threads; /* that were registered as a thread's */
    uint32_t n_of_shapes;  /* … as a shape's */
    struct axp__text_block *text;
    struct axp__name *page[AXP__NAME_PAGES];
};

/* Ids of names that a device has: record_device.h. */
struct axp__device {
    uint32_t name, other, unnamed;
};

/* Which part of the run is recorded: record_window.h. */
struct axp__window {
    uint32_t state; /* enum axp__window_state */
    bool is_by_steps;
    bool is_off;         /* the program has disabled it meanwhile */
    uint64_t begin, end; /* ns, or steps; end 0: none */
    uint64_t n_marks;    /* steps marked so far */
};

struct axp__process {
    uint32_t layout; /* AXP__PROCESS_LAYOUT */
    uint32_t reserved;
    uint64_t last_epoch; /* each profiler's epoch is unique in the process */
    struct axp__mutex mutex;
    struct axp__names names;
    uint32_t n_lanes; /* ever made; a lane's memory is never unmapped */
    struct axp__lane **lane_page[AXP__LANE_PAGES];
    uint64_t left_lanes;         /* a stack of indices: record_lane.c */
    struct axp__thread *threads; /* every block, newest first, for ever */
    struct axp__thread *look_at; /* among them, where the next may be free */
    struct axp__tape *tapes;     /* of every profiler with a file */
    uint32_t n_slots;            /* by mutex */
    struct axp__prof *slot_page[AXP__SLOT_PAGES];
    struct axp__alive *alive; /* one page, zeroed in a forked child */
    pthread_key_t key;        /* its destructor tells that a thread ends */
    uint8_t has_key;          /* and setting it never allocates */
    uint8_t is_global_made;   /* somebody makes it, or has */
    uint8_t is_quiet;         /* it filters its system calls … */
    uint8_t was_enabled;      /* … and recorded before: record_quiet.c */
    struct axp__prof *global; /* NULL until it is there */
    uint64_t own_cost;        /* packed; 0: not measured (record_cost.c) */
    uint64_t by_name_ticks;   /* more than that of a batch of scopes by name */
    uint64_t counter_ticks;   /* than half of that, of a batch of counters */
    struct axp__thread *(*thread_get)(void); /* the owning copy's … */
    void *(*run_drain)(void *tape);          /* … own functions */
    uint8_t *flags[AXP__MAX_COPIES];         /* every copy's axp__recording */
    struct axp__space *spools[AXP__MAX_SPOOLS]; /* that want new names */
    uint32_t n_spools;
    struct axp__window window;
    struct axp__device device[AXP__DEVICES]; /* by number */
    uint32_t n_devices;                      /* from 1 on; by mutex */
    int32_t n_asking; /* threads that may ask the kernel: record_quiet.c */
};

/* With it the sizes in record_process.c. */
#define AXP__PROCESS_LAYOUT 16

struct axp__alive {
    uint32_t is_alive;
};

extern struct axp__process *axp__process_shared; /* NULL until first use */
struct axp__process *axp__process_join(void);

static inline struct axp__process *axp__process(void)
{
    struct axp__process *p = axp__get_pointer(&axp__process_shared);
    return p ? p : axp__process_join();
}

/* Whether it is this copy's; false: that of one which started before. */
bool axp__process_is_own(void);
/* What axp__recording says, in every copy. */
void axp__process_set_flags(uint8_t value);
/* Whether this is the first call in the child of a fork. */
bool axp__process_was_forked(struct axp__process *p);

/* Exported for the other copies of this library in the process. */
__attribute__((visibility("default"))) struct axp__process *axp__process_v1(
    void);

#endif
