/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recording begins and ends by time or by steps; see record_window.h. */
#include "record/record_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "axprof/axprof_adapter.h"
#include "os/os_clock.h"
#include "record/record_lane.h"
#include "record/record_quiet.h"

static const char *read_number(const char *text, uint64_t *out)
{
    *out = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        *out = *out * 10 + (uint64_t)(*text - '0');
    return text;
}

static bool read_window(const char *text, struct axp__window *w)
{
    if (!text) return false;
    w->is_by_steps = !strncmp(text, "steps:", 6);
    if (!w->is_by_steps && strncmp(text, "time:", 5) != 0) return false;
    text = read_number(strchr(text, ':') + 1, &w->begin);
    if (*text != ':') return false;
    text = read_number(text + 1, &w->end);
    if (!w->is_by_steps && *text == ':') text += strlen(text); /* the start */
    return !*text && (!w->end || w->end > w->begin);
}

static bool move(struct axp__window *w, uint32_t from, uint32_t to)
{
    return axp__cas(&w->state, &from, to);
}

void axp__window_begin(struct axp__prof *p)
{
    struct axp__window *w = &axp__process()->window;
    if (!read_window(secure_getenv("AXPROF_WINDOW"), w)) return;
    if (w->is_by_steps && w->begin == 0) {
        axp__put(&w->state, AXP__WINDOW_INSIDE);
        return;
    }
    axp_set_enabled(axp__prof_handle(p), false);
    axp__process_set_flags(1); /* events come, and are refused by the gate */
    axp__put(&w->state, AXP__WINDOW_WAITING);
    axp__window_look(p);
    axp__put(&p->last_mark_ticks, p->start_ticks); /* one that begins here */
}

/* When the part began that begins now: by time when it was asked to, whoever
 * looks first and when. */
static uint64_t begun(const struct axp__window *w, const struct axp__prof *p,
                      uint64_t now)
{
    uint64_t start = axp__get(&p->start_ticks);
    if (w->is_by_steps) return now;
    uint64_t late_ns = axp__clock_of(CLOCK_MONOTONIC) - w->begin;
    uint64_t late = axp__rate_to_ticks(axp__clock_rate(), late_ns);
    return now - start > late ? now - late : start;
}

/* Steps count from here: the first one is the first that is recorded whole. Of
 * one that is under way nobody knows when it began. */
static void enter(struct axp__window *w, struct axp__prof *p)
{
    if (!move(w, AXP__WINDOW_WAITING, AXP__WINDOW_INSIDE)) return;
    uint64_t now = axp__clock_ticks();
    axp__put(&p->last_mark_ticks, w->is_by_steps ? now : 0);
    axp__put(&p->part_ticks, begun(w, p, now));
    if (w->is_by_steps) {
        axp__put(&p->n_steps, w->begin); /* never the fewer */
        axp__put_release(&p->first_step, w->begin);
    }
    axp__lanes_begin_cpu(p);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with the switch's */
    if (!axp__get(&w->is_off)) axp_set_enabled(axp__prof_handle(p), true);
}

static void leave(struct axp__window *w, struct axp__prof *p)
{
    if (axp__get(&w->state) != AXP__WINDOW_INSIDE) return;
    axp__lanes_finish(p); /* what comes after is not of the part */
    if (!move(w, AXP__WINDOW_INSIDE, AXP__WINDOW_OVER)) return;
    axp_set_enabled(axp__prof_handle(p), false);
    uint64_t not_yet = 0; /* axprof run may have been first */
    axp__cas(&p->over_ticks, &not_yet, axp__clock_ticks());
}

void axp__window_look(struct axp__prof *p)
{
    struct axp__window *w = &axp__process()->window;
    if (w->is_by_steps || axp__is_quiet()) return;
    uint64_t now = axp__clock_of(CLOCK_MONOTONIC);
    if (now >= w->begin) enter(w, p);
    if (w->end && now >= w->end) leave(w, p);
}

bool axp_recording_is_open(void)
{
    const axp_profiler *handle = axp_global();
    struct axp__prof *p = axp__prof_check(handle);
    int keep = errno;
    if (p && axp__window_is(p, AXP__WINDOW_WAITING)) {
        struct axp__thread *t = axp__thread_get();
        if (t && !axp__thread_is_inside(t)) axp__window_look(p);
    }
    errno = keep;
    return axp_is_enabled(handle);
}

/* Where it is off no events are wanted: whatever comes after it is on again
 * moves the window. */
bool axp__window_switch(const struct axp__prof *p, bool enabled)
{
    if (!axp__window_is(p, AXP__WINDOW_WAITING)) return false;
    axp__put(&axp__process()->window.is_off, !enabled);
    axp__process_set_flags(enabled);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with enter's */
    return axp__window_is(p, AXP__WINDOW_WAITING);
}

/* The mark that begins the first step was refused by the gate, the one that
 * ends the last step was recorded. */
void axp__window_step(struct axp__prof *p)
{
    struct axp__window *w = &axp__process()->window;
    if (!w->is_by_steps) {
        axp__window_look(p);
        return;
    }
    if (axp__is_quiet()) return;
    uint64_t n = __atomic_add_fetch(&w->n_marks, 1, __ATOMIC_RELAXED);
    if (n >= w->begin) enter(w, p);
    if (w->end && n >= w->end) leave(w, p);
}
