/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tracks: rows of events whose times the caller gives, in axp_now's clock.
 *
 * Each thread that feeds a track has a lane for it, so that nothing is
 * shared. A track's tally holds nanoseconds, not ticks: what was given is
 * what is shown. What a track of a device records has names of that device
 * (wire_kind.h), its own included. Tracks are carved from pages that are never unmapped; a
 * call on a track whose profiler is gone finds that out and does nothing.
 */
#include "record/record_track.h"

#include <unistd.h>

#include "base/base_sized.h"
#include "base/base_text.h"
#include "os/os_map.h"
#include "record/record_device.h"
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

/* What the options ask for, but for what needs a lock. */
static bool fill(struct axp_track *t, const axp_track_options *o,
                 struct axp__prof *p, struct axp__thread *thread)
{
    bool is_shared = false;
    if (o->device && *o->device) {
        t->device = axp__device_get(o->device, &is_shared);
        if (!t->device) return false;
    } else if (o->device) {
        axp__warn(p, AXP__WARN_BAD_NAME, AXP__NAME_UNNAMED);
    }
    t->name = t->device ? axp__device_name(p, t->device, o->name)
                        : axp__thread_name_id(thread, o->name);
    if (t->name == AXP__NAME_UNNAMED) axp__warn(p, AXP__WARN_BAD_NAME, t->name);
    if (is_shared) axp__warn(p, AXP__WARN_MANY_DEVICES, t->name);
    t->process_id = o->process_id == (uint64_t)getpid() ? 0 : o->process_id;
    return true;
}

static axp_track *create(axp_profiler *handle, const axp_track_options *o)
{
    struct axp__process *process = axp__process();
    struct axp__prof *p = axp__prof_check(handle);
    struct axp__thread *thread = axp__thread_get();
    struct axp_track *t = NULL, asked = {0};
    if (!p || !thread || axp__thread_is_inside(thread)) {
        axp__fail(AXP_E_STATE, "this profiler is gone");
        return NULL;
    }
    axp__mutex_lock(&process->mutex);
    /* A slot is not given to another while this mutex is held. */
    if (axp__prof_check(handle) == p && fill(&asked, o, p, thread))
        t = new_track();
    if (t) {
        *t = asked;
        t->p = p;
        t->handle = handle;
        t->id = ++p->n_tracks;
        t->next = p->tracks;
        axp__put_release(&p->tracks, t);
        axp__tape_keep(p);
    }
    axp__mutex_unlock(&process->mutex);
    if (!t) axp__fail(AXP_E_NO_MEMORY, "no memory for a track");
    return t;
}

axp_track *axp_track_create(axp_profiler *p, const char *name)
{
    return create(p, &(axp_track_options){.name = name});
}

axp_track *axp_track_create_ex(axp_profiler *p,
                               const axp_track_options *options)
{
    axp_track_options o = {0};
    if (options &&
        !axp__sized_take(&o, sizeof o, options,
                         AXP__SIZE_TO(axp_track_options, process_id))) {
        axp__fail(AXP_E_INVALID, "axp_track_options without a size");
        return NULL;
    }
    return create(p, &o);
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
    lane = axp__lane_take(mine->owner, mine->p, t);
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

/* Entered in both, or NULL. The first record of a lane says whose it is, where
 * that is another process. */
static struct axp__lane *enter_track(axp_track *t, struct axp__lane **mine)
{
    if (!t) return NULL;
    *mine = axp__enter(t->handle);
    if (!*mine) return NULL;
    struct axp__lane *lane = track_lane(t, *mine);
    if (!lane) axp__leave(*mine);
    if (lane && t->process_id && !lane->has_span)
        axp__lane_put_ext(lane, AXP__X_TRACK_OF, 0, t->name, axp__clock_ticks(),
                          &t->process_id, 1);
    return lane;
}

static uint32_t name_on(const axp_track *t, struct axp__lane *mine,
                        const char *name)
{
    return t->device ? axp__device_name(mine->p, t->device, name)
                     : axp__lane_name(mine, name);
}

static void widen(struct axp__lane *lane, axp_ns begin, axp_ns end)
{
    if (!lane->has_span || begin < lane->first_ns)
        axp__put(&lane->first_ns, begin);
    if (!lane->has_span || end > lane->last_ns) axp__put(&lane->last_ns, end);
    axp__put(&lane->has_span, 1);
}

/* A struct of no size. */
static void warn_struct(axp_track *t)
{
    struct axp__lane *mine, *lane = enter_track(t, &mine);
    if (!lane) return;
    axp__warn(lane->p, AXP__WARN_BAD_STRUCT, t->name);
    axp__leave(mine);
}

/* ---- spans ---------------------------------------------------------------------- */

#define SPAN_WORDS 5u /* of an AXP__X_SPAN */
#define ALL_WORDS 10u /* of an AXP__X_SPAN_EX */

static void put_span(struct axp__lane *lane, uint32_t name, const axp_span *s,
                     const struct axp__work *w)
{
    uint64_t payload[ALL_WORDS] = {s->begin, s->end,  0,      0,
                                   w->dtype, s->flow, s->step};
    unsigned n = ALL_WORDS;
    __builtin_memcpy(&payload[2], &w->flops, 8);
    __builtin_memcpy(&payload[3], &w->bytes, 8);
    while (n > SPAN_WORDS && !payload[n - 1])
        n--;
    bool is_plain = n == SPAN_WORDS && !s->category;
    axp__lane_put_ext(lane, is_plain ? AXP__X_SPAN : AXP__X_SPAN_EX,
                      (uint32_t)s->category, name, axp__clock_ticks(), payload,
                      n);
}

static void record_span(axp_track *t, axp_span *s)
{
    struct axp__lane *mine, *lane = enter_track(t, &mine);
    if (!lane) return;
    uint32_t id = name_on(t, mine, s->name);
    struct axp__work w = {0};
    if (s->end < s->begin) {
        axp__warn(lane->p, AXP__WARN_BAD_SPAN, id);
        s->end = s->begin;
    }
    if ((uint32_t)s->category > AXP_CAT_IO) {
        axp__warn(lane->p, AXP__WARN_BAD_ENUM, id);
        s->category = AXP_CAT_NONE;
    }
    if (s->work) id = axp__work_check(lane, s->work, id, &w);
    put_span(lane, id, s, &w);
    axp__tally_add_span(&lane->tally, id, s->end - s->begin,
                        s->work ? &w : NULL, (uint32_t)s->category);
    widen(lane, s->begin, s->end);
    axp__leave(mine);
}

void axp_track_span_ex(axp_track *t, const axp_span *span)
{
    axp_span s;
    axp_work room;
    size_t first = AXP__SIZE_TO(axp_work, dims);
    if (!span) return;
    if (!axp__sized_take(&s, sizeof s, span, AXP__SIZE_TO(axp_span, step))) {
        warn_struct(t);
        return;
    }
    if (s.work)
        s.work = axp__work_of(s.work, s.work_size ? s.work_size : first, &room);
    record_span(t, &s);
}

/* ---- memory --------------------------------------------------------------------- */

/* Addresses of a device are one space for each process; those of a track that
 * has no device are its own. */
static uint64_t block_key(const axp_track *t, uint64_t address)
{
    uint64_t space = (uint64_t)t->id << 32 | 0x7261636b;
    if (t->device) space = axp__mix64(t->process_id + 1) + t->device;
    return address ^ axp__mix64(space);
}

static uint64_t ticks_at(const struct axp__lane *lane, axp_ns at)
{
    return axp__get(&lane->p->start_ticks) +
           axp__rate_to_ticks(axp__clock_rate(), at);
}

static void record_alloc(axp_track *t, const axp_alloc_at *a)
{
    struct axp__lane *mine, *lane = enter_track(t, &mine);
    if (!lane) return;
    struct axp__mem_event e = {.name = name_on(t, mine, a->name),
                               .kind = (uint32_t)a->kind,
                               .bytes = a->bytes,
                               .address = a->address,
                               .now = ticks_at(lane, a->at),
                               .at_ns = a->at};
    if (e.kind > AXP_MEM_CACHE) {
        axp__warn(lane->p, AXP__WARN_BAD_ENUM, e.name);
        e.kind = AXP_MEM_NONE;
    }
    if (axp__memory_check_size(lane, e.bytes, e.name))
        axp__memory_record_block(lane, block_key(t, e.address), &e);
    widen(lane, a->at, a->at);
    axp__leave(mine);
}

void axp_track_alloc_at(axp_track *t, const char *name, uint64_t address,
                        size_t bytes, axp_ns at)
{
    record_alloc(
        t, &(axp_alloc_at){
               .name = name, .address = address, .bytes = bytes, .at = at});
}

void axp_track_alloc_at_ex(axp_track *t, const axp_alloc_at *alloc)
{
    axp_alloc_at a;
    if (!alloc) return;
    if (axp__sized_take(&a, sizeof a, alloc, AXP__SIZE_TO(axp_alloc_at, kind)))
        record_alloc(t, &a);
    else
        warn_struct(t);
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
