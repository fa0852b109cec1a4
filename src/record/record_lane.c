/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lanes: taken, entered, ended; see record_lane.h. */
#include "record/record_lane.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "os/os_map.h"
#include "os/os_space.h"
#include "os/os_thread.h"
#include "record/record_heap.h"
#include "record/record_memory.h"
#include "record/record_named.h"
#include "record/record_quiet.h"
#include "record/record_shape.h"
#include "record/record_tape.h"
#include "record/record_track.h"
#include "record/record_window.h"

#define MOST_MOVED_IN 1024u

/* ---- memory of lanes -------------------------------------------------------- */

struct axp__lane *axp__lane_at(uint32_t index)
{
    struct axp__process *process = axp__process();
    if (index / AXP__LANES_A_PAGE >= AXP__LANE_PAGES) return NULL;
    struct axp__lane **page =
        axp__get_acquire(&process->lane_page[index / AXP__LANES_A_PAGE]);
    return page ? axp__get_acquire(&page[index % AXP__LANES_A_PAGE]) : NULL;
}

static bool publish(struct axp__process *process, struct axp__lane *lane)
{
    size_t bytes = AXP__LANES_A_PAGE * sizeof(struct axp__lane *);
    uint32_t i = axp__add(&process->n_lanes, 1) + 1;
    if (i / AXP__LANES_A_PAGE >= AXP__LANE_PAGES) return false;
    struct axp__lane ***where = &process->lane_page[i / AXP__LANES_A_PAGE];
    struct axp__lane **page = axp__get_acquire(where);
    if (!page) {
        struct axp__lane **fresh = axp__map(bytes);
        if (!fresh) return false;
        if (axp__cas(where, &page, fresh))
            page = fresh;
        else
            axp__unmap(fresh, bytes);
    }
    lane->index = i;
    axp__put_release(&page[i % AXP__LANES_A_PAGE], lane);
    return true;
}

/* Lanes that their profilers have left, as a stack: the index of the topmost,
 * and above it how often the stack has changed, so that who was interrupted
 * between his look and his change does not take one for another. No lock: who
 * came while it is held would have to wait, or take new memory, and lanes are
 * never given back. */
#define LEFT_CHANGES ((uint64_t)1 << 32)

static uint64_t left_after(uint64_t now, uint32_t top)
{
    return ((now & ~(uint64_t)UINT32_MAX) + LEFT_CHANGES) | top;
}

void axp__lane_leave(struct axp__lane *lane)
{
    struct axp__process *process = axp__process();
    uint64_t now = axp__get(&process->left_lanes);
    assert(lane->index && axp__lane_at(lane->index) == lane);
    do
        axp__put(&lane->left_below, (uint32_t)now);
    while (!axp__cas(&process->left_lanes, &now, left_after(now, lane->index)));
}

static struct axp__lane *take_left(struct axp__process *process)
{
    uint64_t now = axp__get_acquire(&process->left_lanes);
    while ((uint32_t)now) {
        struct axp__lane *lane = axp__lane_at((uint32_t)now);
        assert(lane); /* they are never given back */
        uint32_t below = axp__get(&lane->left_below); /* or anything, if late */
        if (axp__cas(&process->left_lanes, &now, left_after(now, below)))
            return lane;
    }
    return NULL;
}

/* A profiler with a file has its lanes there; one that others have left moves
 * in. Those are extents of their own, of which there are so many. */
static struct axp__lane *take_memory(struct axp__space *space)
{
    struct axp__process *process = axp__process();
    size_t bytes = (sizeof(struct axp__lane) + 4095) & ~(size_t)4095;
    struct axp__lane *lane = NULL;
    if (!space || axp__get(&space->n_extents) < MOST_MOVED_IN)
        lane = take_left(process);
    if (lane && space)
        (void)axp__space_move_in(space, AXP__EXTENT_LANES, lane, bytes, bytes);
    if (lane) return lane;
    lane = axp__space_map(space, AXP__EXTENT_LANES, sizeof *lane);
    if (lane && publish(process, lane)) return lane;
    axp__space_unmap(space, lane, sizeof *lane);
    return NULL;
}

/* ---- life -------------------------------------------------------------------- */

static void retire(void *ctx, void *memory, size_t bytes)
{
    axp__trash_add(ctx, memory, bytes);
}

void axp__lane_free_named(struct axp__lane *lane)
{
    for (struct axp__named_page *page = lane->named_pages; page;) {
        struct axp__named_page *next = page->next;
        axp__unmap(page, sizeof *page);
        axp__budget_give(&lane->p->budget, sizeof *page);
        page = next;
    }
    lane->named_pages = NULL;
}

/* 0: not known, as where the kernel is not to be asked; beside a test's clock it
 * would mean nothing. */
static uint64_t cpu_now(const struct axp__lane *lane)
{
    if (lane->track || axp__is_quiet() || !axp__clock_pair_first().ticks)
        return 0;
    return axp__thread_cpu_ns(axp__get(&lane->tid));
}

/* An empty lane of p; the caller knows that nobody else is inside. */
static void begin(struct axp__lane *lane, struct axp__prof *p)
{
    uint64_t now = axp__clock_ticks();
    memset(&lane->seed, 0, sizeof lane->seed);
    memset(lane->near_named, 0, sizeof lane->near_named);
    memset(lane->mail, 0, sizeof lane->mail);
    if (lane->p != p) axp__put(&lane->p, p); /* others may look */
    axp__put(&lane->handle,
             (const axp_profiler *)((char *)p + axp__get(&p->generation)));
    lane->epoch = axp__get(&p->gate) >> 8;
    axp__put(&lane->base_ticks, now);
    axp__put(&lane->first_ticks, 0);
    axp__put(&lane->last_ticks, now);
    axp__put(&lane->cpu_begin_ns, cpu_now(lane));
    axp__put(&lane->cpu_ns, 0);
    axp__put(&lane->has_span, 0);
    axp__put(&lane->n_chunks, 0);
    axp__put(&lane->n_logged, 0);
    axp__put(&lane->n_unlogged, 0);
    axp__put(&lane->n_named, 0);
    axp__put(&lane->has_mail, 0);
    lane->memory = lane->device ? NULL : &p->memory;
    lane->purse = NULL;
    lane->memos = lane->guess = NULL;
    lane->alloc_node = NULL;
    axp__heap_begin_lane(lane);
    lane->named_pages = NULL;
    lane->free_named = NULL;
    for (unsigned i = 0; i < AXP__NEAR_NAMED; i++) {
        lane->near_named[i].next_free = lane->free_named;
        lane->free_named = &lane->near_named[i];
    }
    axp__tally_init(&lane->tally, &lane->seed, &p->budget,
                    lane->device ? axp__process()->device[lane->device].other
                                 : AXP__NAME_OTHER);
    lane->tally.retire = retire;
    lane->tally.retire_ctx = p;
    lane->tally.op_of = axp__shape_op;
    axp__lane_to_sink(lane);
    lane->end = lane->cur; /* so that the first event asks for a chunk */
    axp__lane_stop(lane);
}

void axp__lane_clear(struct axp__lane *lane)
{
    uint32_t row = axp__add(&lane->p->n_rows, 1) + 1;
    axp__tally_fini(&lane->tally);
    axp__lane_free_named(lane);
    begin(lane, lane->p);
    axp__put(&lane->row, row);
    axp__put(&lane->row_in_file, 0); /* the file begins anew, as rows do */
}

void axp__lane_discard(struct axp__lane *lane)
{
    axp__lane_stop(lane);
    axp__put(&lane->owner, NULL);
    axp__put(&lane->state, AXP__LANE_FREE);
    axp__tally_fini(&lane->tally);
    axp__lane_free_named(lane);
}

/* One whose thread ended and whose data were merged. n_free is a guess, so
 * that nobody looks through the lanes of a thousand live threads in vain. */
static struct axp__lane *reclaim(struct axp__prof *p)
{
    if ((int32_t)axp__get(&p->n_free_lanes) <= 0) return NULL;
    struct axp__lane *lane = axp__get_acquire(&p->lanes);
    for (; lane; lane = lane->next) {
        uint32_t free = AXP__LANE_FREE;
        if (axp__get(&lane->state) == free &&
            axp__cas(&lane->state, &free, AXP__LANE_TAKEN)) {
            axp__add(&p->n_free_lanes, -1);
            return lane;
        }
    }
    return NULL;
}

void axp__lane_free(struct axp__lane *lane)
{
    axp__put(&lane->owner, NULL);
    axp__put_release(&lane->state, AXP__LANE_FREE);
    axp__add(&lane->p->n_free_lanes, 1);
}

/* At the end, where a reader of the spool, which has no such lane, finds all
 * the others before it. */
static void append(struct axp__prof *p, struct axp__lane *lane)
{
    struct axp__lane **at = &p->lanes, *none = NULL;
    axp__put(&lane->next, NULL);
    while (!axp__cas(at, &none, lane)) {
        at = &none->next;
        none = NULL;
    }
}

static void push(struct axp__prof *p, struct axp__lane *lane)
{
    struct axp__space *space = p->budget.space;
    if (space && !axp__space_holds(space, lane)) {
        if (p->tape && p->tape->is_outside)
            axp__warn(p, AXP__WARN_SPOOL_FULL, lane->name);
        append(p, lane);
        return;
    }
    struct axp__lane *head = axp__get(&p->lanes);
    do
        axp__put(&lane->next, head);
    while (!axp__cas(&p->lanes, &head, lane));
}

void axp__lane_keep(struct axp__lane *lane)
{
    push(lane->p, lane);
    axp__add(&lane->p->n_free_lanes, 1);
}

struct axp__lane *axp__lane_take(struct axp__thread *t, struct axp__prof *p,
                                 const struct axp_track *track)
{
    struct axp__lane *lane = NULL;
    uint32_t name = track ? track->name : 0;
    if (t) axp__lane_merge_some(p);
    if (t) lane = reclaim(p);
    bool is_new = !lane;
    if (is_new) lane = take_memory(p->budget.space);
    if (!lane) return NULL;
    /* It is TAKEN, or new and FREE; in a child that was forked by a handler since
     * the line above, neither: its memory is another's there. */
    if (is_new) axp__budget_force(&p->budget, sizeof *lane);
    axp__put(&lane->row_in_file, 0); /* that was another file's */
    /* The drain looks without a lock, and knows by a new row that what it has
     * seen since is another's: put_rows. */
    axp__put_release(&lane->row, axp__add(&p->n_rows, 1) + 1);
    axp__store_barrier();
    axp__put(&lane->track, track ? track->id : 0);
    lane->device = track ? track->device : 0;
    axp__put(&lane->process_id, track ? track->process_id : 0);
    axp__put(&lane->tid, t ? t->tid : 0);
    if (t) t->alloc_handle = NULL; /* it may have been that one's */
    if (!name && t) name = axp__get(&t->name);
    if (!name && t) {
        char comm[32];
        axp__thread_comm(comm, sizeof comm);
        name = comm[0] ? axp__name_of_thread(comm) : 0;
    }
    axp__put(&lane->name, name);
    begin(lane, p);
    axp__put(&lane->owner, t);
    axp__put_release(&lane->state, t ? AXP__LANE_ACTIVE : AXP__LANE_KEPT);
    if (is_new && t) push(p, lane);
    return lane;
}

/* A thread lives on after its last event. Not known of one that is gone, nor of
 * one that may not ask who it is, and of no interest once the recording is over. */
static void note_end(struct axp__lane *lane)
{
    if (axp__is_quiet() || axp__get(&lane->p->gate) & AXP__GATE_FINISHED ||
        !lane->first_ticks || lane->tid != axp__thread_id())
        return;
    uint64_t now = axp__lane_until(lane, axp__clock_ticks());
    if (now > lane->last_ticks) axp__put(&lane->last_ticks, now);
}

/* By the ending thread, marked busy; or for it. */
void axp__lane_end(struct axp__lane *lane)
{
    assert(axp__get(&lane->state) == AXP__LANE_ACTIVE);
    bool asks = axp__quiet_ask();
    note_end(lane);
    axp__put(&lane->cpu_ns, axp__lane_cpu_ns(lane));
    axp__named_settle(lane);
    axp__lane_seal(lane);
    axp__lane_stop(lane);
    axp__add(&lane->p->n_ended, 1);
    axp__put_release(&lane->state, AXP__LANE_ENDED);
    if (asks) axp__quiet_asked();
}

/* What a thread has used since the end of the part is not known apart from what it
 * had used by then; where that was just now it hardly counts. */
#define LATE_NS 10000000u

static bool is_over_for_long(const struct axp__prof *p)
{
    uint64_t over = axp__get(&p->over_ticks), now = axp__clock_ticks();
    return over && now > over &&
           axp__rate_to_ns(axp__clock_rate(), now - over) > LATE_NS;
}

uint64_t axp__lane_cpu_ns(const struct axp__lane *lane)
{
    if (axp__get(&lane->state) == AXP__LANE_ENDED ||
        axp__get(&lane->p->gate) & AXP__GATE_FINISHED ||
        axp__window_is(lane->p, AXP__WINDOW_OVER))
        return axp__get(&lane->cpu_ns);
    uint64_t begin = axp__get(&lane->cpu_begin_ns), now = cpu_now(lane);
    if (!begin || !now || is_over_for_long(lane->p)) return 0;
    return now > begin ? now - begin : 1; /* none is not what is not known */
}

void axp__lanes_begin_cpu(struct axp__prof *p)
{
    struct axp__lane *lane = axp__get_acquire(&p->lanes);
    for (; lane; lane = axp__get(&lane->next))
        if (axp__lane_is_readable(lane))
            axp__put(&lane->cpu_begin_ns, cpu_now(lane));
}

void axp__lanes_finish(struct axp__prof *p)
{
    struct axp__lane *lane = axp__get_acquire(&p->lanes);
    for (; lane; lane = axp__get(&lane->next))
        if (axp__lane_is_readable(lane))
            axp__put(&lane->cpu_ns, axp__lane_cpu_ns(lane));
}

/* ---- entering ------------------------------------------------------------------ */

static bool has_file_yet(const struct axp__prof *p)
{
    return !p->tape || axp__get_acquire(&p->tape->state) > AXP__TAPE_OPENING;
}

/* The lane that this thread has in p, or a new one. While p is disabled no file is
 * opened: of a process that has recorded nothing by then others know more. */
static struct axp__lane *own_lane(struct axp__thread *t, struct axp__prof *p,
                                  uint64_t gate, unsigned flags)
{
    if (!axp__thread_reserve(t, p->index)) return NULL;
    struct axp__lane **lanes = axp__get(&t->lanes);
    if (!lanes) return NULL; /* a handler has forked: the block is wiped */
    struct axp__lane *lane = lanes[p->index];
    if (lane && axp__get(&lane->owner) == t && lane->p == p &&
        lane->epoch == gate >> 8)
        return lane;
    bool is_enabled = gate & AXP__GATE_ENABLED;
    if (!is_enabled && !(flags & AXP__ENTER_NEW)) return NULL;
    if (axp__unlikely(!has_file_yet(p)) && (!is_enabled || !axp__tape_start(p)))
        return NULL;
    lane = axp__lane_take(t, p, NULL);
    if (!lane || !axp__get(&t->lanes)) return NULL;
    lanes[p->index] = lane;
    if (p->index == 0) axp__thread_set_global(t, lane);
    return lane;
}

/* Whether the gate has moved since it was looked at. Whoever moves it looks
 * for lanes after that; a lane that he did not find sees it here. */
static bool has_moved(struct axp__prof *p, uint64_t gate)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t now = axp__get_acquire(&p->gate);
    return now >> 8 != gate >> 8 || now & AXP__GATE_SHUT;
}

/* The next event need not ask, unless something has come up meanwhile:
 * either we see it here, or whoever brought it finds go at 1 and clears it
 * (axp__prof_stop_lanes, ring in record_named.c). With another clock than
 * the raw counter every event asks: the hot path knows that one alone. */
static void admit(struct axp__lane *lane, uint64_t gate)
{
    if (gate & AXP__GATE_ENABLED && axp__clock_is_raw()) axp__put(&lane->go, 1);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (axp__get(&lane->p->gate) != gate) axp__put(&lane->go, 0);
    if (axp__get(&lane->has_mail)) axp__named_settle(lane);
}

struct axp__lane *axp__enter_slow(const axp_profiler *handle, unsigned flags)
{
    int keep = errno;
    struct axp__lane *lane = NULL;
    struct axp__thread *t = axp__thread_get();
    struct axp__prof *p = axp__prof_check(handle);
    bool asks = axp__quiet_ask();
    if (!p) goto done;
    /* What is open stays open, as in a process that is killed. */
    if (p->index == 0 && !asks) goto done;
    if (!t) {
        if (axp__get(&p->gate) & AXP__GATE_ENABLED)
            axp__warn(p, AXP__WARN_NO_MEMORY, 0);
        goto done;
    }
    if (axp__thread_is_inside(t)) {
        axp__warn(p, AXP__WARN_SIGNAL_DROP, 0);
        goto done;
    }
    if (axp__window_is(p, AXP__WINDOW_WAITING) ||
        axp__window_is(p, AXP__WINDOW_INSIDE))
        axp__window_look(p);
    axp__thread_enter(t);
    axp__thread_set_errand(t, AXP__ENTERING, p);
    uint64_t gate = axp__get_acquire(&p->gate); /* what a reset made */
    bool is_open = axp__prof_check(handle) == p &&
                   !(gate & (AXP__GATE_SHUT | AXP__GATE_FINISHED)) &&
                   (gate & AXP__GATE_ENABLED || flags & AXP__ENTER_DISABLED);
    if (is_open) {
        lane = own_lane(t, p, gate, flags);
        if (has_moved(p, gate))
            lane = NULL; /* as if it had come before the reset */
        else if (lane)
            admit(lane, gate);
        else if (gate & AXP__GATE_ENABLED)
            axp__warn(p, AXP__WARN_NO_MEMORY, 0);
    }
    axp__thread_set_errand(t, AXP__ENTERING, NULL);
    if (!lane) axp__thread_leave(t);
done:
    if (asks) axp__quiet_asked();
    errno = keep;
    return lane;
}
