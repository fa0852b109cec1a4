/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tracks: rows of events whose times the caller gives, in axp_now's clock.
 *
 * Each thread that feeds a track has a lane for it, so that nothing is
 * shared. A track's tally holds nanoseconds, not ticks: what was given is
 * what is shown. Tracks are carved from pages that are never unmapped; a
 * call on a track whose profiler is gone finds that out and does nothing.
 */
#include "record/record_track.h"

#include "base/base_text.h"
#include "os/os_map.h"
#include "record/record_memory.h"
#include "record/record_scope.h"
#include "record/record_tape.h"

#define PAGE_TRACKS 64u

/* By the process's mutex. */
static struct axp_track *new_track(void)
{
    static struct axp_track *page;
    static uint32_t n_used = PAGE_TRACKS;
    if (n_used == PAGE_TRACKS) {
        struct axp_track *fresh = axp__map(PAGE_TRACKS * sizeof *fresh);
        if (!fresh) return NULL;
        page = fresh;
        n_used = 0;
    }
    return &page[n_used++];
}

axp_track *axp_track_create(axp_profiler *handle, const char *name)
{
    struct axp__process *process = axp__process();
    struct axp__prof *p = axp__prof_check(handle);
    struct axp__thread *thread = axp__thread_get();
    if (!p || !thread || axp__thread_is_inside(thread)) {
        axp__fail(AXP_E_STATE, "this profiler is gone");
        return NULL;
    }
    uint32_t id = axp__thread_name_id(thread, name);
    if (id == AXP__NAME_UNNAMED) axp__warn(p, AXP__WARN_BAD_NAME, id);
    pthread_mutex_lock(&process->mutex);
    /* A slot is not given to another while this mutex is held. */
    struct axp_track *t = axp__prof_check(handle) == p ? new_track() : NULL;
    if (t) {
        t->p = p;
        t->handle = handle;
        t->id = ++p->n_tracks;
        t->name = id;
        t->next = p->tracks;
        axp__put_release(&p->tracks, t);
        axp__tape_keep(p);
    }
    pthread_mutex_unlock(&process->mutex);
    if (!t) axp__fail(AXP_E_NO_MEMORY, "no memory for a track");
    return t;
}

void axp__track_forget_lanes(struct axp__prof *p)
{
    for (struct axp_track *t = p->tracks; t; t = t->next)
        t->lanes = NULL;
}

/* This thread's lane of the track; `mine` is entered. */
static struct axp__lane *track_lane(struct axp_track *t, struct axp__lane *mine)
{
    struct axp__lane *lane = axp__get_acquire(&t->lanes);
    for (; lane; lane = lane->next_in_track)
        if (axp__get(&lane->owner) == mine->owner && lane->p == mine->p &&
            lane->epoch == mine->epoch)
            return lane;
    lane = axp__lane_take(mine->owner, mine->p, t->id, t->name);
    if (!lane) {
        axp__warn(mine->p, AXP__WARN_NO_MEMORY, t->name);
        return NULL;
    }
    struct axp__lane *head = axp__get(&t->lanes);
    do
        lane->next_in_track = head;
    while (!axp__cas(&t->lanes, &head, lane));
    return lane;
}

/* Entered in both, or NULL. */
static struct axp__lane *enter_track(axp_track *t, struct axp__lane **mine)
{
    if (!t) return NULL;
    *mine = axp__enter(t->handle);
    if (!*mine) return NULL;
    struct axp__lane *lane = track_lane(t, *mine);
    if (!lane) axp__leave(*mine);
    return lane;
}

static void widen(struct axp__lane *lane, axp_ns begin, axp_ns end)
{
    if (!lane->has_span || begin < lane->first_ns)
        axp__put(&lane->first_ns, begin);
    if (!lane->has_span || end > lane->last_ns) axp__put(&lane->last_ns, end);
    axp__put(&lane->has_span, 1);
}

void axp_track_span(axp_track *t, const char *name, axp_ns begin, axp_ns end,
                    const axp_work *work)
{
    struct axp__lane *mine, *lane = enter_track(t, &mine);
    if (!lane) return;
    uint32_t id = axp__lane_name(mine, name);
    struct axp__work w = {0};
    if (end < begin) {
        axp__warn(lane->p, AXP__WARN_BAD_SPAN, id);
        end = begin;
    }
    if (work) w = axp__work_check(lane, work, id);
    uint64_t payload[5] = {begin, end, 0, 0, w.dtype};
    __builtin_memcpy(&payload[2], &w.flops, 8);
    __builtin_memcpy(&payload[3], &w.bytes, 8);
    axp__lane_put_ext(lane, AXP__X_SPAN, 0, id, axp__clock_ticks(), payload, 5);
    axp__tally_add_span(&lane->tally, id, end - begin, work ? &w : NULL);
    widen(lane, begin, end);
    axp__leave(mine);
}

/* Addresses of one track are a space of their own. */
static uint64_t block_key(const axp_track *t, uint64_t address)
{
    return address ^ axp__mix64((uint64_t)t->id << 32 | 0x7261636b);
}

static uint64_t ticks_at(const struct axp__lane *lane, axp_ns at)
{
    return axp__get(&lane->p->start_ticks) +
           axp__rate_to_ticks(axp__clock_rate(), at);
}

void axp_track_alloc_at(axp_track *t, const char *name, uint64_t address,
                        size_t bytes, axp_ns at)
{
    struct axp__lane *mine, *lane = enter_track(t, &mine);
    if (!lane) return;
    struct axp__mem_event e = {.name = axp__lane_name(mine, name),
                               .bytes = bytes,
                               .address = address,
                               .now = ticks_at(lane, at),
                               .at_ns = at};
    if (axp__memory_check_size(lane, bytes, e.name))
        axp__memory_record_block(lane, block_key(t, address), &e);
    widen(lane, at, at);
    axp__leave(mine);
}

void axp_track_free_at(axp_track *t, uint64_t address, axp_ns at)
{
    struct axp__lane *mine, *lane = enter_track(t, &mine);
    if (!lane) return;
    axp__memory_record_unblock(lane, block_key(t, address), address,
                               ticks_at(lane, at), at);
    widen(lane, at, at);
    axp__leave(mine);
}
