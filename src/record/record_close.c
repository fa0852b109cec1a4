/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Profilers: flushed, reset, finished, destroyed. Those who close wait; those
 * who record do not. See record_profiler.h. */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "os/os_map.h"
#include "os/os_space.h"
#include "record/record_drain.h"
#include "record/record_lane.h"
#include "record/record_log.h"
#include "record/record_tape.h"

#define CLOSE_WAIT_NS 1000000000u

static void pause_ns(long ns)
{
    struct timespec ts = {0, ns};
    nanosleep(&ts, NULL);
}

/* Whether the thread of a lane may still be at work in it. One that has ended
 * is not, though its block may be another thread's by now. */
static bool is_at_work(const struct axp__lane *lane,
                       const struct axp__thread *me)
{
    uint32_t state = axp__get_acquire(&lane->state);
    const struct axp__thread *t = axp__get(&lane->owner);
    if (state == AXP__LANE_TAKEN) return true;
    return state == AXP__LANE_ACTIVE && t && t != me &&
           axp__thread_is_inside(t);
}

/* A little longer each time; false: long enough. */
static bool wait_more(uint64_t *waited_ns)
{
    uint64_t ns = *waited_ns < 1000000 ? 1000 : 100000;
    if (*waited_ns >= CLOSE_WAIT_NS) return false;
    if (ns == 1000)
        sched_yield();
    else
        pause_ns((long)ns);
    *waited_ns += ns;
    return true;
}

/* Waits until each thread was seen outside once, after the gate was shut: it
 * cannot come in again, and what it does in other profilers is none of ours. */
static bool wait_for_all(struct axp__prof *p, const struct axp__thread *me)
{
    uint64_t waited_ns = 0;
    while (axp__thread_is_any_at(AXP__ENTERING, p) ||
           axp__thread_is_any_at(AXP__SWITCHING, p))
        if (!wait_more(&waited_ns)) return false;
    struct axp__lane *lane = axp__get_acquire(&p->lanes);
    for (; lane; lane = axp__get(&lane->next))
        while (is_at_work(lane, me))
            if (!wait_more(&waited_ns)) return false;
    return true;
}

bool axp__prof_quiesce(struct axp__prof *p)
{
    int keep = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* locks held */
    axp__prof_set_gate(p, AXP__GATE_SHUT, 0);
    axp__prof_stop_lanes(p);
    bool has_barrier = axp__barrier_all_threads();
    if (!has_barrier) pause_ns(1000000);
    bool alone = wait_for_all(p, axp__tls);
    if (!axp__barrier_all_threads()) pause_ns(1000000);
    pthread_setcancelstate(cancel, NULL);
    errno = keep;
    return alone;
}

/* A live profiler, locked; NULL: it is gone, or the caller is a handler that
 * interrupted one of its own events. */
static struct axp__prof *lock_prof(const axp_profiler *handle)
{
    struct axp__thread *t = axp__thread_get();
    struct axp__prof *p = axp__prof_check(handle);
    if (!p || (t && axp__thread_is_inside(t))) return NULL;
    axp__mutex_lock(&p->mutex);
    if (axp__prof_check(handle) == p) return p;
    axp__mutex_unlock(&p->mutex);
    return NULL;
}

/* By mutex. */
static axp_status finish(struct axp__prof *p)
{
    if (axp__get(&p->gate) & AXP__GATE_FINISHED) return AXP_OK;
    axp__thread_end_dead();
    axp__prof_quiesce(p);
    p->end_ticks = axp__prof_end(p);
    axp__lanes_finish(p);
    axp__prof_set_gate(p, AXP__GATE_FINISHED,
                       AXP__GATE_SHUT | AXP__GATE_ENABLED);
    if (p->index == 0) axp__process_set_flags(0);
    axp_status status = p->tape ? axp__tape_finish(p) : AXP_OK;
    axp__log_warnings(p);
    if (status)
        axp__log(p, AXP_LOG_ERROR, "%s", axp_last_error());
    else if (p->tape && p->tape->is_whole)
        axp__log(p, AXP_LOG_INFO, "%s is complete", p->tape->path);
    axp__tape_keep(p);
    return status;
}

axp_status axp_finish(axp_profiler *handle)
{
    struct axp__prof *p = lock_prof(handle);
    if (!p) return axp__fail(AXP_E_STATE, "this profiler is gone");
    axp_status status = finish(p);
    axp__mutex_unlock(&p->mutex);
    return status;
}

axp_status axp_flush(axp_profiler *handle)
{
    struct axp__prof *p = lock_prof(handle);
    if (!p) return axp__fail(AXP_E_STATE, "this profiler is gone");
    axp_status status = p->tape ? axp__tape_flush(p) : AXP_OK;
    if (status) axp__log(p, AXP_LOG_ERROR, "%s", axp_last_error());
    axp__mutex_unlock(&p->mutex);
    return status;
}

/* What was recorded is forgotten; by mutex, nobody inside. */
static void forget(struct axp__prof *p)
{
    axp__trash_empty(p);
    if (p->merged) {
        axp__lane_discard(p->merged);
        axp__lane_keep(p->merged);
    }
    p->merged = NULL;
    p->n_merged_rows = p->n_left_open = 0;
    p->n_merged_unlogged = 0;
    axp__pool_reset(&p->pool);
    axp__memory_clear(&p->memory);
    axp__domains_clear(&p->domains, &p->budget);
    axp__shadow_clear(&p->blocks);
    axp__heap_clear(&p->heap);
    axp__lookup_clear(&p->asyncs);
    for (int i = 0; i < AXP__N_WARNINGS; i++) {
        axp__put(&p->warning[i].count, 0);
        axp__put(&p->warning[i].name, 0);
    }
    axp__put(&p->first_step, 0);
    axp__put_release(&p->n_steps, 0); /* in this order: never the fewer */
    axp__put(&p->n_rows, 0);
    axp__put(&p->was_disabled, !(axp__get(&p->gate) & AXP__GATE_ENABLED));
}

void axp_reset(axp_profiler *handle)
{
    struct axp__prof *p = lock_prof(handle);
    if (!p) return;
    uint64_t bits = axp__get(&p->gate) & AXP__GATE_ENABLED;
    if (!(axp__get(&p->gate) & AXP__GATE_FINISHED) && axp__prof_quiesce(p)) {
        uint64_t gate = axp__prof_new_gate(bits);
        axp__put(&p->gate, gate | AXP__GATE_SHUT);
        if (p->tape) axp__drain_hold(p->tape); /* it looks at lanes, chunks */
        forget(p);
        struct axp__lane *l = axp__get_acquire(&p->lanes);
        for (; l; l = axp__get(&l->next)) {
            bool has_ended = l->state == AXP__LANE_ENDED;
            axp__lane_clear(l);
            if (!has_ended) continue;
            axp__add(&p->n_ended, -1);
            axp__lane_free(l);
        }
        uint64_t now = axp__clock_ticks();
        axp__put(&p->start_ticks, now);
        axp__put(&p->last_mark_ticks, now);
        if (p->over_ticks) axp__put(&p->over_ticks, now);
        if (p->tape) axp__drain_let_go(p->tape);
        if (p->tape) axp__tape_restart(p);
    }
    axp__prof_set_gate(p, 0, AXP__GATE_SHUT);
    axp__mutex_unlock(&p->mutex);
}

/* Gives back what a profiler holds; nobody inside. */
static void release(struct axp__prof *p)
{
    if (p->tape) axp__tape_leave(p);
    forget(p);
    axp__stacks_clear(&p->stacks, &p->budget);
    struct axp__lane *lanes = p->lanes;
    for (struct axp__lane *l = lanes; l; l = l->next)
        axp__lane_discard(l);
    axp__put(&p->lanes, NULL);
    axp__pool_fini(&p->pool);
    axp__budget_unmap(&p->budget, p->rows, p->cap_rows * sizeof *p->rows);
    p->rows = NULL;
    if (p->tape && !axp__tape_close(p)) return;
    for (struct axp__lane *next; lanes; lanes = next) {
        next = lanes->next;
        axp__lane_leave(lanes);
    }
}

void axp_profiler_destroy(axp_profiler *handle)
{
    struct axp__prof *p = axp__prof_check(handle);
    uint32_t generation = axp__generation_of(handle);
    if (!p || p->index == 0) return; /* the global one stays */
    struct axp__thread *t = axp__thread_get();
    if (t && axp__thread_is_inside(t)) return; /* a handler in an event */
    axp__mutex_lock(&p->mutex);
    if ((p->tape || p->log) && axp__get(&p->generation) == generation)
        finish(p);
    bool is_mine = axp__cas(&p->generation, &generation, 0);
    if (is_mine) axp__tape_keep(p);
    /* If somebody is still inside after a second, slot and memory are left as
     * they are, shut, for good. */
    bool is_free = is_mine && axp__prof_quiesce(p);
    if (is_free) release(p);
    axp__mutex_unlock(&p->mutex);
    if (is_free) axp__prof_free_slot(p);
}
