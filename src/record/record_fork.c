/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The child of a fork starts its own recording; the parent's is untouched.
 *
 * A child has one thread, and whatever the others were doing stopped in the
 * middle. So nothing of theirs is repaired: lanes, memory tables and blocks
 * are forgotten, not unmapped (the forking thread may itself be a handler
 * that interrupted an event, and goes on with it on the way out). Names stay:
 * ids are in the client's static variables. Scopes inherited open end
 * silently: no lane of the child has them. */
#include "record/record_fork.h"

#include "record/record_lane.h"
#include "record/record_tape.h"
#include "record/record_track.h"

static void begin_prof(struct axp__prof *p)
{
    uint64_t enabled = p->gate & AXP__GATE_ENABLED;
    if (p->tape) axp__tape_fork(p); /* from here on the slot is our own */
    p->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (p->gate & AXP__GATE_FINISHED) return; /* frozen: as good here */
    p->gate = ++axp__process()->last_epoch << 8 | enabled;
    for (struct axp__lane *l = p->lanes; l; l = l->next)
        axp__lane_stop(l); /* an interrupted event may bring one back */
    p->lanes = NULL;
    p->merged = NULL;
    p->n_rows = p->n_ended = p->n_left_open = p->n_free_lanes = 0;
    p->n_merged_rows = 0;
    p->n_merged_unlogged = 0;
    p->trash = NULL;
    p->budget.limit_bytes += p->budget.used_bytes; /* which is forgotten */
    p->memory = (struct axp__memory){.budget = &p->budget};
    p->asyncs = (struct axp__blocks){.budget = &p->budget};
    p->blocks = (struct axp__shadow){.rest = p->asyncs};
    for (int i = 0; i < AXP__N_WARNINGS; i++)
        p->warning[i] = (struct axp__warning){0, 0};
    axp__pool_reset(&p->pool);
    axp__track_forget_lanes(p);
    p->was_disabled = true; /* stops of what the parent started */
    p->n_steps = 0;
    p->start_ticks = p->last_mark_ticks = axp__clock_ticks();
}

void axp__fork_begin_child(void)
{
    struct axp__process *process = axp__process();
    process->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    process->free_lanes = NULL;
    process->free_threads = NULL;
    process->n_spools = process->n_logging = 0;
    for (unsigned i = 0; i < AXP__ENTERING; i++)
        process->n_entering[i] = 0;
    for (int i = 0; i < AXP__MAX_SPOOLS; i++)
        process->spools[i] = NULL;
    for (uint32_t i = 0; i < process->n_slots; i++) {
        struct axp__prof *page = process->slot_page[i / AXP__SLOTS_A_PAGE];
        struct axp__prof *p =
            (struct axp__prof *)((char *)page +
                                 (size_t)(i % AXP__SLOTS_A_PAGE) *
                                     AXP__PROF_BYTES);
        if (p->generation) begin_prof(p);
    }
}

/* Where the kernel cannot wipe a mapping at fork, this does it. */
void axp__fork_in_child(void)
{
    struct axp__process *process = axp__process();
    struct axp__thread *t = axp__tls;
    if (t->is_alive) {
        t->is_alive = t->busy = t->n_lanes = 0;
        t->hot = NULL;
        t->global = NULL;
        t->lanes = NULL;
        for (unsigned i = 0; i < AXP__NEAR_LANES; i++)
            t->near_lanes[i] = NULL;
    }
    if (process->alive) process->alive->is_alive = 1;
    axp__fork_begin_child();
}
