/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What adapters tell: axprof_adapter.h. Scopes that are recorded when they are
 * over, and threads that were there before anything was recorded of them.
 *
 * Words of a lane are in the order of time, so a scope cannot begin before
 * what its thread recorded last. */
#include "axprof/axprof_adapter.h"

#include "record/record_scope.h"

uint64_t axp_wait_begin(void)
{
    return axp__is_on() ? axp__clock_ticks() : 0;
}

/* When the scope may begin. A thread that has recorded nothing yet has no
 * chunk either: its time then starts here. */
static uint64_t latest(struct axp__lane *lane, uint64_t began)
{
    const struct axp__tally *t = &lane->tally;
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

void axp_wait_end(uint64_t began, const char *name)
{
    struct axp__lane *lane = began ? axp__enter(axp_global()) : NULL;
    if (!lane) return;
    uint32_t id = axp__lane_name_as(lane, AXP__KIND_WAIT, name);
    uint64_t now = axp__clock_ticks();
    if (!axp__tally_has_room(&lane->tally)) {
        axp__warn(lane->p, AXP__WARN_TOO_DEEP, id);
    } else {
        began = axp__lane_room(lane, latest(lane, began), 1);
        axp__lane_put(lane, AXP__W_BEGIN, id, began);
        struct axp__frame *f = axp__tally_push(&lane->tally, id, began);
        f->anchor = 0; /* no scope begins below it */
        axp__put(&f->site, (const void *)NULL);
        axp__put(&f->token, axp__token_in_lane(lane));
        axp__put(&f->node->category, (uint16_t)AXP_CAT_SYNC);
        axp__lane_put_ext(lane, AXP__X_CATEGORY, AXP_CAT_SYNC, id, began, NULL,
                          0);
        axp__scope_close(lane, lane->tally.top, AXP__W_END, now);
    }
    axp__leave(lane);
}

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
