/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The child of a fork starts its own recording; the parent's is untouched.
 *
 * A child has one thread, and whatever the others were doing stopped in the
 * middle. So nothing of theirs is repaired: lanes, memory tables and blocks
 * are forgotten, not unmapped (the forking thread may itself be a handler
 * that interrupted an event, and goes on with it on the way out). Names stay:
 * ids are in the client's static variables. Scopes inherited open end
 * silently: no lane of the child has them.
 *
 * Spools   are shared, and the parent's threads go on changing them. The child
 *          does not look into one: it puts private pages in its place and
 *          makes the profiler anew from what its tape has kept. If the
 *          forking thread is inside an event, what that may touch is copied
 *          before the fork.
 * Locks    none is taken before a fork: it may come from a handler that
 *          interrupted whoever holds one. All that the child reads changes
 *          by single stores, each of which leaves it whole.
 */
#include "record/record_fork.h"

#include <pthread.h>

#include "record/record_drain.h"
#include "record/record_lane.h"
#include "record/record_tape.h"
#include "record/record_track.h"
#include "record/record_window.h"

static void forget(struct axp__prof *p)
{
    for (struct axp__lane *l = p->lanes; l; l = l->next)
        axp__lane_stop(l); /* an interrupted event may bring one back */
    p->lanes = NULL;
    p->merged = NULL;
    p->n_rows = p->n_ended = p->n_left_open = p->n_free_lanes = 0;
    p->n_merged_rows = 0;
    p->n_merged_unlogged = 0;
    p->trash = NULL;
    p->budget.limit_bytes += p->budget.used_bytes; /* which is forgotten */
    p->budget.reserve_bytes += p->budget.reserve_used_bytes;
    p->memory = (struct axp__memory){.budget = &p->budget};
    p->domains = NULL;
    p->stacks = (struct axp__stacks){0};
    axp__heap_init(&p->heap, p->heap.machine_bytes, &p->budget);
    p->asyncs = (struct axp__lookup){.budget = &p->budget};
    p->blocks = (struct axp__shadow){.rest = p->asyncs};
    for (int i = 0; i < AXP__N_WARNINGS; i++)
        p->warning[i] = (struct axp__warning){0, 0};
    if (!p->pool.space) axp__pool_reset(&p->pool); /* else it goes soon */
    axp__track_forget_lanes(p);
}

static void begin_prof(struct axp__prof *p)
{
    uint64_t enabled = p->gate & AXP__GATE_ENABLED;
    if (p->gate & AXP__GATE_FINISHED) return; /* frozen: as good here */
    p->gate = ++axp__process()->last_epoch << 8 | enabled;
    forget(p);
    p->was_disabled = true; /* stops of what the parent started */
    p->n_steps = p->first_step = 0;
    p->start_ticks = p->last_mark_ticks = axp__clock_ticks();
    /* What a tape keeps of its profiler does not have it. */
    if (p->over_ticks || axp__window_is(p, AXP__WINDOW_OVER))
        p->over_ticks = p->start_ticks;
}

/* One whose profiler was being made or destroyed is free. */
static void begin_slot(struct axp__prof *p)
{
    p->mutex = (struct axp__mutex){0};
    p->is_taken = p->generation != 0;
    if (p->generation) begin_prof(p);
}

void axp__fork_begin_child(bool is_raw)
{
    struct axp__process *process = axp__process();
    process->mutex = (struct axp__mutex){0};
    if (!is_raw) process->n_asking = 0; /* else one of them is this call */
    process->left_lanes = 0;
    process->threads = process->look_at = NULL;
    process->n_spools = 0;
    for (int i = 0; i < AXP__MAX_SPOOLS; i++)
        process->spools[i] = NULL;
    for (struct axp__tape **at = &process->tapes; *at;) {
        struct axp__tape *tape = *at;
        if (is_raw) axp__tape_copy(tape); /* nobody did so before the fork */
        axp__tape_fork(tape);             /* from here on its slot is our own */
        if (tape->p->generation)
            at = &tape->next;
        else
            *at = tape->next; /* it was being made, or destroyed */
    }
    for (uint32_t i = 0; i < process->n_slots; i++) {
        struct axp__prof *page = process->slot_page[i / AXP__SLOTS_A_PAGE];
        begin_slot((struct axp__prof *)((char *)page +
                                        (size_t)(i % AXP__SLOTS_A_PAGE) *
                                            AXP__PROF_BYTES));
    }
}

/* Does it with each tape that an interrupted event of this thread may be at.
 * These are not closed meanwhile: whoever wants to finds the thread inside. */
static void with_tapes(void (*fn)(struct axp__tape *tape))
{
    struct axp__thread *t = axp__tls;
    if (!axp__thread_is_inside(t)) return;
    const struct axp__prof *at = t->errand[AXP__ENTERING];
    if (at && at->tape) fn(at->tape);
    for (uint32_t i = 0; i < t->n_lanes; i++) {
        const struct axp__lane *lane = t->lanes[i];
        if (lane && axp__get(&lane->owner) == t && lane->p->tape)
            fn(lane->p->tape);
    }
}

static void before_fork(void)
{
    with_tapes(axp__tape_copy);
}

static void in_parent(void)
{
    with_tapes(axp__tape_drop_copies);
}

/* Where the kernel cannot wipe a mapping at fork, this does it. */
static void in_child(void)
{
    struct axp__process *process = axp__process();
    struct axp__thread *t = axp__tls;
    if (t->life) {
        t->life = t->busy = t->n_lanes = 0;
        t->hot = NULL;
        t->global = NULL;
        t->lanes = NULL;
        for (unsigned i = 0; i < AXP__NEAR_LANES; i++)
            t->near_lanes[i] = NULL;
    }
    if (process->alive) process->alive->is_alive = 1;
    axp__fork_begin_child(false);
    for (struct axp__tape *tape = process->tapes; tape; tape = tape->next)
        axp__drain_begin_in_child(tape);
}

void axp__fork_watch(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}
