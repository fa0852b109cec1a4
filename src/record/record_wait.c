/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What adapters tell: axprof_adapter.h. Scopes that are recorded when they are
 * over, what threads give each other and wait for, and threads that were there
 * before anything was recorded of them.
 *
 * Words of a lane are in the order of time, so a scope cannot begin before
 * what its thread recorded last. */
#include "axprof/axprof_adapter.h"

#include <string.h>

#include "base/base_sized.h"
#include "record/record_quiet.h"
#include "record/record_scope.h"

uint64_t axp_wait_begin(void)
{
    return axp__is_on() && !axp__get(&axp__tls->is_inside) ? axp__clock_ticks()
                                                           : 0;
}

void axp_wait_inside(bool is_inside)
{
    if (axp__get(&axp__tls->life)) axp__put(&axp__tls->is_inside, is_inside);
}

/* When the scope may begin. A thread that has recorded nothing yet has no
 * chunk either: its time then starts here. */
static uint64_t latest(struct axp__lane *lane, uint64_t began)
{
    const struct axp__tally *t = &lane->tally;
    uint64_t part = axp__get(&lane->p->part_ticks);
    if (began < part) began = part; /* what was before is no part of it */
    if (!axp__get(&lane->first_ticks)) {
        if (began < lane->base_ticks) lane->base_ticks = began;
        return began;
    }
    if (began < lane->base_ticks) began = lane->base_ticks;
    if (began < lane->last_ticks) began = lane->last_ticks;
    if (t->top > t->frames && began < t->top->begin_ticks)
        began = t->top->begin_ticks;
    return began;
}

/* ---- the end of what is recorded ------------------------------------------------- */

/* For a wait that is over now. One that was going on when the part of the run that
 * is recorded was over is recorded too, up to there. */
static struct axp__lane *enter_waited(uint64_t began)
{
    axp_profiler *handle = axp_global();
    struct axp__lane *lane = axp__enter(handle);
    struct axp__prof *p = axp__prof_of(handle);
    uint64_t over = lane ? 0 : axp__get(&p->over_ticks);
    bool is_none =
        over == axp__get(&p->start_ticks); /* since a reset, a fork */
    if (began >= over || is_none || axp__is_quiet()) return lane;
    return axp__enter_as(handle, AXP__ENTER_DISABLED | AXP__ENTER_NEW);
}

/* When it ended, as far as is recorded. */
static uint64_t recorded_end(const struct axp__lane *lane, uint64_t ended)
{
    uint64_t over = axp__get(&lane->p->over_ticks);
    if (axp__get(&lane->first_ticks)) return axp__lane_until(lane, ended);
    return over && over < ended ? over : ended;
}

/* ---- scopes ----------------------------------------------------------------------- */

/* Asked by text a name costs three misses of the cache, and a program that waits has
 * filled it with something else. The content is compared, since buffers are used
 * again. */
static uint32_t wait_name(struct axp__lane *lane, const char *name)
{
    uintptr_t at = (uintptr_t)name;
    struct axp__cached_wait *c =
        &lane->owner->waits[(at >> 4 ^ at >> 7) % AXP__WAIT_CACHE];
    if (name && c->at == name && !strcmp(axp__name_at(c->id)->text, name))
        return c->id;
    uint32_t id = axp__lane_name_as(lane, AXP__KIND_WAIT, name);
    if (id != AXP__NAME_OTHER) *c = (struct axp__cached_wait){name, id};
    return id;
}

/* NULL: nothing more fits on the stack. */
static struct axp__frame *open_wait(struct axp__lane *lane, uint32_t id,
                                    uint64_t began)
{
    if (!axp__tally_has_room(&lane->tally)) {
        axp__warn(lane->p, AXP__WARN_TOO_DEEP, id);
        return NULL;
    }
    began = axp__lane_room(lane, latest(lane, began), 1);
    axp__lane_put(lane, AXP__W_BEGIN, id, began);
    struct axp__frame *f = axp__tally_push(&lane->tally, id, began);
    f->anchor = 0; /* no scope begins below it */
    axp__put(&f->site, (const void *)NULL);
    axp__put(&f->token, axp__token_in_lane(lane));
    axp__put(&f->node->category, (uint16_t)AXP_CAT_SYNC);
    axp__lane_put_ext(lane, AXP__X_CATEGORY, AXP_CAT_SYNC, id, began, NULL, 0);
    return f;
}

void axp_wait_end(uint64_t began, const char *name)
{
    struct axp__lane *lane = began ? enter_waited(began) : NULL;
    if (!lane) return;
    uint32_t id = wait_name(lane, name);
    uint64_t now = recorded_end(lane, axp__clock_ticks());
    if (open_wait(lane, id, began))
        axp__scope_close(lane, lane->tally.top, AXP__W_END, now);
    axp__leave(lane);
}

/* ---- given and taken -------------------------------------------------------------- */

static uint32_t sync_argument(axp_sync_verb verb, axp_sync_kind kind)
{
    return (uint32_t)verb | (uint32_t)kind << 8;
}

/* What is not known at the end is left out. */
static void put_given(struct axp__lane *lane, axp_sync_kind kind, uint64_t now,
                      const uint64_t payload[3])
{
    axp__lane_put_ext(lane, AXP__X_SYNC, sync_argument(AXP_SYNC_GAVE, kind), 0,
                      now, payload,
                      payload[2]   ? 3
                      : payload[1] ? 2
                                   : 1);
}

axp_giver axp_sync_give(axp_sync_kind kind, const void *object, uint64_t number)
{
    axp_giver giver = {0};
    struct axp__lane *lane = axp__enter(axp_global());
    if (!lane) return giver;
    giver = (axp_giver){axp__clock_ticks(), lane->row};
    put_given(lane, kind, giver.at, (uint64_t[]){(uintptr_t)object, number, 0});
    axp__leave(lane);
    return giver;
}

axp_giver axp_sync_release(axp_sync_kind kind, const void *object,
                           uint64_t since, bool is_wanted)
{
    axp_giver giver = {0};
    struct axp__lane *lane = axp__enter(axp_global());
    if (!lane) return giver;
    giver = (axp_giver){axp__clock_ticks(), lane->row};
    if (is_wanted)
        put_given(lane, kind, giver.at,
                  (uint64_t[]){(uintptr_t)object, 0, since});
    axp__leave(lane);
    return giver;
}

/* What is not known at the end is left out. */
static void put_taken(struct axp__lane *lane, const axp_sync_wait *w,
                      axp_sync_verb verb, uint32_t id, uint64_t now)
{
    uint64_t payload[] = {(uintptr_t)w->object, w->number, w->began, w->by.at,
                          w->by.row};
    unsigned n = w->by.at ? 5 : w->began ? 3 : w->number ? 2 : 1;
    axp__lane_put_ext(lane, AXP__X_SYNC, sync_argument(verb, w->kind), id, now,
                      payload, n);
}

void axp_sync_take(axp_sync_kind kind, const void *object, uint64_t number,
                   const axp_giver *by)
{
    struct axp__lane *lane = axp__enter(axp_global());
    if (!lane) return;
    uint64_t now = axp__clock_ticks();
    axp_sync_wait w = {.kind = kind, .object = object, .number = number};
    if (by && by->at) {
        w.began = now;
        w.by = *by;
    }
    put_taken(lane, &w, AXP_SYNC_TOOK, 0, now);
    axp__leave(lane);
}

static bool is_long(const axp_sync_wait *w)
{
    return w->ended > w->began &&
           axp__rate_to_ns(axp__clock_rate(), w->ended - w->began) >=
               w->least_ns;
}

/* Words of a lane are in the order of time: a wait that is told late began and
 * ended after what was recorded last. */
static void put_waited(struct axp__lane *lane, axp_sync_wait *w, bool is_scope)
{
    uint32_t id = wait_name(lane, w->name);
    w->began = latest(lane, w->began);
    uint64_t ended = w->ended > w->began ? w->ended : w->began;
    axp_sync_verb verb = is_scope || w->by.at ? AXP_SYNC_WAITED : AXP_SYNC_TOOK;
    struct axp__frame *f = is_scope ? open_wait(lane, id, w->began) : NULL;
    put_taken(lane, w, verb, id, ended);
    if (f) axp__scope_close(lane, lane->tally.top, AXP__W_END, ended);
}

/* It went on when what is recorded was over: there it had not been given yet. */
static void cut_wait(const struct axp__lane *lane, axp_sync_wait *w)
{
    uint64_t ended = recorded_end(lane, w->ended);
    if (ended == w->ended) return;
    w->ended = ended;
    w->by = (axp_giver){0};
    w->is_vain = true;
}

/* The first event of a thread takes longer than some waits do. */
void axp_sync_waited(const axp_sync_wait *wait)
{
    uint64_t now = axp__clock_ticks();
    axp_sync_wait w;
    if (!axp__sized_take(&w, sizeof w, wait,
                         AXP__SIZE_TO(axp_sync_wait, is_vain)) ||
        !w.began)
        return;
    if (!w.ended) w.ended = now;
    if (w.is_vain && !is_long(&w)) return;
    struct axp__lane *lane = enter_waited(w.began);
    if (!lane) return;
    cut_wait(lane, &w);
    bool is_scope = is_long(&w);
    if (is_scope || !w.is_vain) put_waited(lane, &w, is_scope);
    axp__leave(lane);
}

/* ---- threads ---------------------------------------------------------------------- */

void axp_thread_begin(uint64_t began)
{
    struct axp__lane *lane = began ? axp__enter(axp_global()) : NULL;
    if (!lane) return;
    if (!axp__get(&lane->first_ticks)) {
        uint32_t id = axp__name_register("thread begins", NULL);
        began = axp__lane_room(lane, latest(lane, began), 1);
        axp__lane_put(lane, AXP__W_INSTANT, id, began);
    }
    axp__leave(lane);
}
