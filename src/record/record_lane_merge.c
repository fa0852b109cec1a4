/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lanes of threads that ended, added up: memory follows the threads that are
 * there at once. See record_lane.h. */
#include "record/record_lane.h"

#include <assert.h>
#include <sched.h>
#include <string.h>

#include "os/os_space.h"
#include "record/record_heap.h"
#include "record/record_memory.h"
#include "record/record_named.h"
#include "tally/tally_merge.h"

#define MERGE_PAST 32      /* ended lanes kept whole, by thread */
#define WAIT_PAST 64       /* … of which so many hold too much memory … */
#define MOST_YIELDS 1000   /* … to go on without having tried this often */
#define MOST_LEFT_OPEN 512 /* of threads that ended with scopes open */

/* ---- what a lane has counted ---------------------------------------------------- */

uint64_t axp__lane_logged(const struct axp__lane *lane)
{
    uint64_t here = 0;
    if (axp__get(&lane->chunk))
        here = (uint64_t)(axp__get(&lane->cur) - axp__get(&lane->words)) -
               axp__get(&lane->n_extra);
    return axp__get(&lane->n_logged) + here;
}

uint64_t axp__lane_unlogged(const struct axp__lane *lane)
{
    uint64_t here = 0;
    if (!axp__get(&lane->chunk))
        here = (uint64_t)(axp__get(&lane->cur) - axp__get(&lane->words)) -
               axp__get(&lane->n_extra);
    return axp__get(&lane->n_unlogged) + here;
}

uint64_t axp__lane_busy_ticks(const struct axp__lane *lane)
{
    const struct axp__tally *t = &lane->tally;
    axp__ref ref = axp__get_acquire(&t->first.nodes);
    axp__ref root = ref;
    uint64_t busy = 0;
    while (ref) {
        const struct axp__node *n = axp__arena_at(&t->arena, ref);
        if (n->parent == root) busy += axp__get(&n->total_ticks);
        ref = axp__get_acquire(&n->next);
    }
    return busy;
}

/* Own time of scopes of category sync. */
static uint64_t wait_ticks(const struct axp__lane *lane)
{
    const struct axp__tally *t = &lane->tally;
    uint64_t waited = 0;
    for (axp__ref ref = t->first.nodes; ref;) {
        const struct axp__node *n = axp__arena_at(&t->arena, ref);
        if (n->category == AXP_CAT_SYNC) waited += n->self_ticks;
        ref = n->next;
    }
    return waited;
}

/* ---- merging ------------------------------------------------------------------ */

/* A place for the row of a merged lane; the last stands for all past the
 * limit, which are counted. */
static struct axp__row *new_row(struct axp__prof *p)
{
    if (p->n_merged_rows == p->cap_rows && p->cap_rows < AXP__MAX_ROWS) {
        uint32_t cap = p->cap_rows ? p->cap_rows * 2 : 64;
        struct axp__row *old = p->rows;
        struct axp__row *wider =
            axp__budget_map(&p->budget, cap * sizeof *wider);
        if (!wider) return NULL;
        if (old) memcpy(wider, old, p->n_merged_rows * sizeof *wider);
        axp__put(&p->rows, wider);
        axp__budget_unmap(&p->budget, old, p->cap_rows * sizeof *wider);
        p->cap_rows = cap;
    }
    if (p->n_merged_rows < p->cap_rows) return &p->rows[p->n_merged_rows++];
    assert(p->n_merged_rows && p->n_merged_rows == p->cap_rows);
    struct axp__row *rest = &p->rows[p->n_merged_rows - 1];
    rest->n_merged++;
    rest->name = AXP__NAME_OTHER;
    rest->tid = 0;
    axp__warn(p, AXP__WARN_SHARED_ROW, 0);
    return rest;
}

static void keep_row(struct axp__prof *p, const struct axp__lane *lane)
{
    struct axp__row *r = new_row(p);
    if (!r) return;
    if (!r->n_merged) {
        r->id = lane->row;
        r->track = lane->track;
        r->name = lane->name;
        r->tid = lane->tid;
        r->first_ticks = lane->first_ticks;
    }
    if (lane->first_ticks < r->first_ticks) r->first_ticks = lane->first_ticks;
    if (lane->last_ticks > r->last_ticks) r->last_ticks = lane->last_ticks;
    r->busy_ticks += axp__lane_busy_ticks(lane);
    r->wait_ticks += wait_ticks(lane);
    r->cpu_ns += lane->cpu_ns;
    r->n_events += axp__lane_logged(lane) + axp__lane_unlogged(lane);
}

/* Whether nothing is open in the lane of a thread that ended. is_over: what
 * is, was left for good, and ends where the thread did. */
static bool is_closed(struct axp__lane *lane, bool is_over)
{
    axp__named_settle(lane); /* others may have ended it since */
    if (is_over) axp__named_abandon_all(lane);
    return lane->tally.top == lane->tally.frames;
}

static void merge(struct axp__prof *p, struct axp__lane *lane)
{
    if (!axp__tally_merge(&p->merged->tally, &lane->tally,
                          lane->last_ticks - lane->first_ticks) ||
        !axp__tally_merge_places(&p->merged->tally, &lane->tally,
                                 axp__heap_now(&p->heap)))
        axp__warn(p, AXP__WARN_NO_MEMORY, lane->name);
}

static void merge_lane(struct axp__prof *p, struct axp__lane *lane)
{
    assert(axp__get(&lane->state) == AXP__LANE_LEAVING && lane != p->merged);
    assert(axp__get(&p->n_ended) && lane->tally.top == lane->tally.frames);
    keep_row(p, lane); /* merging disturbs the nodes it looks at */
    if (lane->first_ticks) merge(p, lane);
    p->merged->tally.n_folded += lane->tally.n_folded;
    p->n_merged_unlogged += axp__lane_unlogged(lane);
    p->merged->n_logged += axp__lane_logged(lane);
    axp__memory_leave(lane);
    axp__heap_leave(lane);
    axp__tally_fini(&lane->tally);
    axp__lane_free_named(lane);
    axp__add(&p->n_ended, -1);
    axp__lane_free(lane);
}

static bool have_ended(const struct axp__prof *p, uint32_t more_than)
{
    return axp__get(&p->n_ended) > more_than + axp__get(&p->n_left_open);
}

/* They are out of sight before anything of theirs is given back. A thread that
 * searches lanes may have seen one before that: then it is for another time. */
void axp__lane_merge_many(struct axp__prof *p)
{
    if (!have_ended(p, MERGE_PAST)) return;
    assert(!p->merged || axp__get(&p->merged->state) == AXP__LANE_KEPT);
    if (!p->merged) p->merged = axp__lane_take(NULL, p, NULL);
    if (!p->merged) return;
    bool is_over = p->n_left_open > MOST_LEFT_OPEN;
    struct axp__lane *head = axp__get_acquire(&p->lanes);
    uint32_t n_left_open = 0;
    for (struct axp__lane *l = head; l; l = axp__get(&l->next)) {
        if (axp__get_acquire(&l->state) != AXP__LANE_ENDED || l->track)
            continue;
        if (is_closed(l, is_over))
            axp__put(&l->state, AXP__LANE_LEAVING);
        else
            n_left_open++;
    }
    axp__put(&p->n_left_open, n_left_open);
    /* pairs with axp__thread_set_errand's */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    bool is_seen = axp__thread_is_any_at(AXP__SEARCHING, p);
    for (struct axp__lane *l = head; l; l = axp__get(&l->next)) {
        if (axp__get(&l->state) != AXP__LANE_LEAVING) continue;
        if (is_seen)
            axp__put_release(&l->state, AXP__LANE_ENDED);
        else
            merge_lane(p, l);
    }
}

/* The mutex may be the calling thread's, which a handler has interrupted, so
 * nobody waits for it. But who has it may not be running, and then threads
 * could come and go until the memory is used up. */
void axp__lane_merge_some(struct axp__prof *p)
{
    for (int i = 0; have_ended(p, i ? WAIT_PAST : MERGE_PAST); i++) {
        if (axp__mutex_try(&p->mutex)) {
            axp__lane_merge_many(p);
            axp__mutex_unlock(&p->mutex);
            return;
        }
        if (i == MOST_YIELDS) return;
        if (have_ended(p, WAIT_PAST)) sched_yield();
    }
}
