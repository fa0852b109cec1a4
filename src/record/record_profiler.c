/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Profilers: made, enabled; record_profiler.h says how a handle, the gate and
 * closing work, and record_close.c closes. */
#include "record/record_profiler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/base_sized.h"
#include "os/os_about.h"
#include "os/os_cgroup.h"
#include "os/os_map.h"
#include "os/os_space.h"
#include "os/os_thread.h"
#include "record/record_drain.h"
#include "record/record_fork.h"
#include "record/record_lane.h"
#include "record/record_log.h"
#include "record/record_quiet.h"
#include "record/record_tape.h"
#include "record/record_track.h"
#include "record/record_window.h"

#define DEFAULT_MEMORY ((uint64_t)64 << 20)
#define LEAST_MEMORY ((uint64_t)256 << 10)
#define MOST_MEMORY ((uint64_t)1 << 40)
#define CGROUP_PART 16 /* of what a control group allows, unless told */
#define RESERVE_PART 4 /* of the limit, for operations alone */
#define MOST_CAPACITY ((uint64_t)1 << 32)

/* ---- the slab ------------------------------------------------------------------ */

struct axp__prof *axp__prof_check(const axp_profiler *handle)
{
    struct axp__prof *p = axp__prof_of(handle);
    if (!p) return NULL;
    uint32_t generation = axp__generation_of(handle);
    return generation && axp__get_acquire(&p->generation) == generation ? p
                                                                        : NULL;
}

/* By the process's mutex. */
static struct axp__prof *slot_at(struct axp__process *process, uint32_t i)
{
    size_t bytes = (size_t)(AXP__SLOTS_A_PAGE + 1) * AXP__PROF_BYTES;
    struct axp__prof **page = &process->slot_page[i / AXP__SLOTS_A_PAGE];
    if (!*page) {
        uintptr_t m = (uintptr_t)axp__map(bytes);
        if (!m) return NULL;
        m = (m + AXP__PROF_BYTES - 1) & ~(uintptr_t)(AXP__PROF_BYTES - 1);
        axp__put_release(page, (struct axp__prof *)m);
    }
    return (struct axp__prof *)((char *)*page +
                                (size_t)(i % AXP__SLOTS_A_PAGE) *
                                    AXP__PROF_BYTES);
}

/* A free slot from `first` on; by the process's mutex. */
static struct axp__prof *find_slot(struct axp__process *process, uint32_t first)
{
    for (uint32_t i = first; i < AXP__SLOTS_A_PAGE * AXP__SLOT_PAGES; i++) {
        struct axp__prof *p = slot_at(process, i);
        if (!p) return NULL;
        if (axp__get(&p->generation) || p->is_taken) continue;
        p->is_taken = true;
        if (p->index != i) p->index = i;
        if (process->n_slots <= i) axp__put_release(&process->n_slots, i + 1);
        return p;
    }
    return NULL;
}

void axp__prof_free_slot(struct axp__prof *p)
{
    struct axp__process *process = axp__process();
    axp__mutex_lock(&process->mutex);
    p->is_taken = false;
    axp__mutex_unlock(&process->mutex);
}

/* ---- warnings and trash ----------------------------------------------------------- */

void axp__warn(struct axp__prof *p, enum axp__warning_id id, uint32_t name)
{
    axp__add(&p->warning[id].count, 1);
    axp__put(&p->warning[id].name, name);
}

struct axp__trash { /* lies in the memory it stands for */
    struct axp__trash *next;
    size_t bytes;
};

void axp__trash_add(struct axp__prof *p, void *memory, size_t bytes)
{
    struct axp__trash *item = memory, *head = axp__get(&p->trash);
    axp__put(&item->bytes, bytes);
    do
        axp__put(&item->next, head);
    while (!axp__cas(&p->trash, &head, item));
}

/* Readers are kept away by the mutex, threads that search lanes are not. */
void axp__trash_empty(struct axp__prof *p)
{
    struct axp__trash *item =
        __atomic_exchange_n(&p->trash, NULL, __ATOMIC_ACQ_REL);
    /* pairs with axp__thread_set_errand's */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    bool is_seen = item && axp__thread_is_any_at(AXP__SEARCHING, p);
    while (item) {
        struct axp__trash *next = item->next;
        size_t bytes = item->bytes;
        if (is_seen) {
            axp__trash_add(p, item, bytes); /* another time */
        } else {
            axp__budget_give(&p->budget, bytes);
            axp__budget_unmap(&p->budget, item, bytes);
        }
        item = next;
    }
}

/* ---- making -------------------------------------------------------------------------- */

static axp_status check_options(const axp_options *o)
{
    const uint32_t known = AXP_START_DISABLED | AXP_NO_TIMELINE | AXP_OVERWRITE;
    if (o->flags & ~known)
        return axp__fail(AXP_E_INVALID, "options.flags has unknown bits 0x%x",
                         o->flags & ~known);
    if (o->memory_limit && o->memory_limit < LEAST_MEMORY)
        return axp__fail(AXP_E_INVALID,
                         "options.memory_limit is %llu bytes; at least %llu "
                         "are needed",
                         (unsigned long long)o->memory_limit,
                         (unsigned long long)LEAST_MEMORY);
    if (o->memory_limit > MOST_MEMORY)
        return axp__fail(AXP_E_INVALID,
                         "options.memory_limit is %llu bytes; at most %llu "
                         "are possible",
                         (unsigned long long)o->memory_limit,
                         (unsigned long long)MOST_MEMORY);
    if (o->timeline_capacity > MOST_CAPACITY)
        return axp__fail(AXP_E_INVALID,
                         "options.timeline_capacity is %llu events; at most "
                         "%llu are possible",
                         (unsigned long long)o->timeline_capacity,
                         (unsigned long long)MOST_CAPACITY);
    if (o->path && !*o->path)
        return axp__fail(AXP_E_INVALID, "options.path is empty");
    return AXP_OK;
}

static uint64_t default_memory(void)
{
    uint64_t most = axp__cgroup_memory() / CGROUP_PART;
    if (most > DEFAULT_MEMORY) return DEFAULT_MEMORY;
    return most > LEAST_MEMORY ? most : LEAST_MEMORY;
}

static bool init_pool(struct axp__prof *p, const axp_options *o)
{
    uint64_t limit = o->memory_limit ? o->memory_limit : default_memory();
    uint64_t pool = limit / 2;
    if (o->timeline_capacity) {
        uint64_t need = axp__pool_bytes_for(o->timeline_capacity);
        if (need > pool) {
            limit += need - pool;
            pool = need;
        }
    }
    p->budget = (struct axp__budget){.limit_bytes = limit - pool,
                                     .reserve_bytes = limit * RESERVE_PART};
    if (p->flags & AXP_NO_TIMELINE) {
        p->budget.limit_bytes = limit;
        return true;
    }
    return axp__pool_init(&p->pool, pool, o->timeline_capacity);
}

/* What there is for the program. */
static uint64_t machine_memory(void)
{
    struct sysinfo info;
    uint64_t most = axp__cgroup_memory();
    if (sysinfo(&info)) return most;
    uint64_t all = (uint64_t)info.totalram * info.mem_unit;
    return all < most ? all : most;
}

/* Everything of a taken slot but its generation, which opens it. */
static bool init_prof(struct axp__prof *p, const axp_options *o)
{
    size_t own = offsetof(struct axp__prof, start_ticks);
    memset((char *)p + own, 0, sizeof *p - own);
    if (!p->n_generations) p->mutex = (struct axp__mutex){0};
    p->flags = o->flags;
    p->was_disabled = o->flags & AXP_START_DISABLED;
    p->log = o->log;
    p->log_ctx = o->log_ctx;
    p->timeline_capacity = o->timeline_capacity;
    p->rank = axp__about_rank();
    p->has_claims = !axp__barrier_is_there(); /* see let_claim */
    if (!init_pool(p, o)) return false;
    p->memory.budget = p->blocks.rest.budget = p->asyncs.budget = &p->budget;
    uint64_t group = axp__cgroup_memory();
    p->heap.group_bytes = group == UINT64_MAX ? 0 : group;
    axp__heap_init(&p->heap, machine_memory(), &p->budget);
    if (o->title && *o->title) {
        size_t len = strnlen(o->title, sizeof p->title - 1);
        memcpy(p->title, o->title, len);
    } else {
        axp__program_name(p->title, sizeof p->title);
    }
    p->start_ticks = p->last_mark_ticks = axp__clock_ticks();
    return true;
}

uint64_t axp__prof_new_gate(uint64_t bits)
{
    uint64_t *last = &axp__process()->last_epoch;
    return (axp__add(last, 1) + 1) << 8 | bits;
}

static void open_prof(struct axp__prof *p)
{
    p->n_generations = p->n_generations % AXP__PROF_GENERATIONS + 1;
    axp__put(&p->gate, axp__prof_new_gate(p->flags & AXP_START_DISABLED
                                              ? 0
                                              : AXP__GATE_ENABLED));
    axp__put_release(&p->generation, p->n_generations);
    axp__tape_keep(p);
}

static axp_status open_file(struct axp__prof *p, const axp_options *o)
{
    p->tape = axp__tape_create(p, o->path, o);
    if (!p->tape) return axp__fail(AXP_E_NO_MEMORY, "no memory for a file");
    axp_status status = axp__tape_open(p);
    if (!status) axp__drain_begin(p->tape);
    return status;
}

static axp_profiler *create(const axp_options *o)
{
    struct axp__process *process = axp__process();
    if (check_options(o)) return NULL;

    axp_global(); /* slot 0 is its own */
    axp__mutex_lock(&process->mutex);
    struct axp__prof *p = find_slot(process, 1);
    axp__mutex_unlock(&process->mutex);
    if (!p) {
        axp__fail(AXP_E_NO_MEMORY, "no memory, or no slot, for a profiler");
        return NULL;
    }
    if (!init_prof(p, o)) {
        axp__fail(AXP_E_NO_MEMORY, "no memory for the pool of a profiler");
        axp__prof_free_slot(p);
        return NULL;
    }
    if (o->path) axp__own_cost_get();
    if (o->path && open_file(p, o)) {
        axp__pool_fini(&p->pool);
        axp__tape_destroy(p->tape);
        axp__prof_free_slot(p);
        return NULL;
    }
    open_prof(p);
    if (p->tape) axp__log(p, AXP_LOG_INFO, "recording to %s", p->tape->path);
    return axp__prof_handle(p);
}

axp_profiler *axp_profiler_create(const axp_options *options)
{
    axp_options o = {0};
    if (options && !axp__sized_take(&o, sizeof o, options,
                                    AXP__SIZE_TO(axp_options, log_ctx))) {
        axp__fail(AXP_E_INVALID,
                  "options.size is %zu; 0 or sizeof(axp_options) is valid",
                  options->size);
        return NULL;
    }
    axp_profiler *p = create(&o);
    if (!p && o.log) o.log(AXP_LOG_ERROR, axp_last_error(), o.log_ctx);
    return p;
}

/* The global profiler never fails: without memory for a pool it has no
 * timeline, and without memory for its slot it lies in .bss. */
static struct axp__prof *make_global(struct axp__process *process)
{
    static const axp_options defaults, bare = {.flags = AXP_NO_TIMELINE};
    static struct axp__prof spare __attribute__((aligned(AXP__PROF_BYTES)));
    if (!process->slot_page[0] && !slot_at(process, 0))
        axp__put(&process->slot_page[0], &spare);
    struct axp__prof *p = process->slot_page[0];
    if (!process->n_slots) axp__put_release(&process->n_slots, 1);
    if (!init_prof(p, &defaults)) (void)init_prof(p, &bare);
    p->tape = axp__tape_create_global(p);
    open_prof(p);
    axp__window_begin(p);
    return p;
}

/* The usual way has no acquiring load: on aarch64 that waits for the release
 * stores before it, which the recording calls around it make (11 ns). */
axp_profiler *axp_global(void)
{
    struct axp__process *process = axp__process();
    struct axp__prof *p = axp__get_pointer(&process->global);
    uint8_t none = 0;
    if (axp__likely(p != NULL)) return axp__prof_handle(p);
    if (axp__cas(&process->is_global_made, &none, 1)) {
        int keep = errno;
        p = make_global(process);
        errno = keep;
        axp__put_release(&process->global, p);
        return axp__prof_handle(p);
    }
    /* Another thread makes it, once in a process: wait for that. */
    while (!(p = axp__get_acquire(&process->global)))
        sched_yield();
    return axp__prof_handle(p);
}

axp_status axp_global_open(const char *path)
{
    struct axp__prof *p = axp__prof_check(axp_global());
    axp_status status = AXP_OK;
    if (!p || !path || !*path)
        return axp__fail(AXP_E_INVALID, "axp_global_open needs a path");
    axp__mutex_lock(&p->mutex);
    if (p->tape && !p->tape->is_by_code) {
        /* as the environment says */
    } else if (p->tape || axp__get(&p->n_rows)) {
        status = axp__fail(AXP_E_STATE,
                           p->tape ? "the global profiler has a file already"
                                   : "the global profiler has recorded "
                                     "something already: open its file first");
    } else {
        axp__own_cost_get();
        status = open_file(p, &(axp_options){.path = path});
        if (status) {
            axp__tape_destroy(p->tape);
            p->tape = NULL;
        } else {
            p->tape->is_by_code = p->tape->may_rename = true;
            axp__tape_keep(p);
        }
    }
    axp__mutex_unlock(&p->mutex);
    return status;
}

static __attribute__((constructor)) void start_library(void)
{
    struct axp__prof *global = axp__prof_check(axp_global());
    if (axp__process_is_own()) axp__fork_watch();
    if (!global || !global->tape) return;
    axp__own_cost_get();
    axp__tape_tell_cost(global);
    axp__drain_begin(global->tape); /* asleep until the first event */
}

/* The first thread is the program's too, where others alone have recorded; its
 * processor time is all that it has had. */
static void add_first_thread(struct axp__prof *p)
{
    if (axp__thread_id() != (uint64_t)getpid() || !axp__get(&p->lanes)) return;
    struct axp__lane *lane = axp__enter(axp__prof_handle(p));
    if (!lane) return;
    if (!axp__get(&lane->first_ticks)) {
        axp__put(&lane->first_ticks, p->start_ticks);
        axp__put(&lane->last_ticks, axp__clock_ticks());
        axp__put(&lane->cpu_begin_ns, 1);
    }
    axp__leave(lane);
}

/* A program that ends without axp_finish: every file becomes whole. A copy that
 * is not the process's may be unloaded while the others go on. A process that may
 * make no system call leaves its spool, as one that is killed. */
static __attribute__((destructor)) void finish_files(void)
{
    struct axp__process *process = axp__process();
    if (!axp__process_is_own() || axp__is_quiet()) return;
    for (uint32_t i = 0; i < axp__get(&process->n_slots); i++) {
        struct axp__prof *page = process->slot_page[i / AXP__SLOTS_A_PAGE];
        struct axp__prof *p =
            (struct axp__prof *)((char *)page +
                                 (size_t)(i % AXP__SLOTS_A_PAGE) *
                                     AXP__PROF_BYTES);
        if (!axp__get(&p->generation) || !p->tape) continue;
        p->log = NULL;
        add_first_thread(p);
        axp_finish(axp__prof_handle(p));
        axp__tape_tell(p->tape);
    }
}

/* ---- switches ------------------------------------------------------------------------------ */

void axp__prof_set_gate(struct axp__prof *p, uint64_t set, uint64_t clear)
{
    uint64_t gate = axp__get(&p->gate);
    while (!axp__cas(&p->gate, &gate, (gate | set) & ~clear))
        ;
}

void axp__prof_stop_lanes(struct axp__prof *p)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with admit's */
    struct axp__lane *lane = axp__get_acquire(&p->lanes);
    for (; lane; lane = axp__get(&lane->next))
        axp__lane_stop(lane);
}

static bool has_named_open(struct axp__prof *p)
{
    struct axp__lane *lane = axp__get_acquire(&p->lanes);
    for (; lane; lane = axp__get(&lane->next))
        if (axp__get(&lane->n_named)) return true;
    return false;
}

static void set_enabled(struct axp__prof *p, bool enabled, bool is_held)
{
    if (!enabled) axp__put(&p->was_disabled, true);
    axp__prof_set_gate(p, enabled ? AXP__GATE_ENABLED : 0,
                       enabled ? 0 : AXP__GATE_ENABLED);
    if (!enabled) axp__prof_stop_lanes(p);
    if (is_held) axp__tape_keep(p);
    if (p->index == 0)
        axp__process_set_flags(enabled ? 1 : has_named_open(p) ? 2 : 0);
}

/* Without a lock, since it may come from a handler: who destroys the profiler
 * waits for who is at it. A handler in the middle of another switch is not
 * waited for, and does not touch what goes with the profiler. */
void axp_set_enabled(axp_profiler *handle, bool enabled)
{
    int keep = errno;
    struct axp__thread *t = axp__thread_get();
    struct axp__prof *p = axp__prof_check(handle);
    bool is_held = p && t && !axp__get(&t->errand[AXP__SWITCHING]);
    if (is_held) axp__thread_set_errand(t, AXP__SWITCHING, p);
    bool is_refused =
        enabled && p &&
        ((p->index == 0 && axp__is_quiet()) || axp__get(&p->over_ticks));
    if (p && axp__prof_check(handle) == p && !is_refused &&
        !(axp__get(&p->gate) & AXP__GATE_FINISHED) &&
        !axp__window_switch(p, enabled))
        set_enabled(p, enabled, is_held);
    if (is_held) axp__thread_set_errand(t, AXP__SWITCHING, NULL);
    errno = keep;
}

bool axp_is_enabled(const axp_profiler *handle)
{
    struct axp__prof *p = axp__prof_check(handle);
    return p && axp__get(&p->gate) & AXP__GATE_ENABLED;
}

axp_ns axp_now(const axp_profiler *handle)
{
    struct axp__prof *p = axp__prof_check(handle);
    if (!p) return 0;
    uint64_t now = axp__clock_ticks(), start = axp__get(&p->start_ticks);
    return now > start ? axp__rate_to_ns(axp__clock_rate(), now - start) : 0;
}
