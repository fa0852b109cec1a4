/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits, and how long of them a thread was ready; see sampling_woken.h. */
#include "sampling/sampling_woken.h"

#include <stdlib.h>
#include <string.h>

#include "sampling/sampling_states.h"

#define ROOM 64u    /* for waits, that a thread keeps */
#define HALVINGS 40 /* of the longest wait: to a nanosecond in 20 minutes */

static uint64_t length_of(const struct axp__off *off)
{
    return off->end_ns - off->begin_ns;
}

/* ---- how long ------------------------------------------------------------ */

/* What all waits would have been ready for if none was for longer than that. */
static uint64_t ready_by(const struct axp__woken *w, uint64_t most)
{
    uint64_t each = w->n_short ? w->short_ns / w->n_short : 0;
    uint64_t sum = w->n_short * (each < most ? each : most);
    for (size_t i = 0; i < w->n; i++) {
        uint64_t ns = length_of(&w->waits[i]);
        sum += ns < most ? ns : most;
    }
    return sum;
}

static uint64_t longest(const struct axp__woken *w)
{
    uint64_t most = 0;
    for (size_t i = 0; i < w->n; i++)
        if (length_of(&w->waits[i]) > most) most = length_of(&w->waits[i]);
    return most;
}

/* What the records do not account for; 0: not known. */
static uint64_t late_of(const struct axp__woken *w)
{
    if (w->is_unknown || w->look_ready_ns < w->base_ready_ns) return 0;
    uint64_t ns = w->look_ready_ns - w->base_ready_ns;
    return ns > w->ready_ns ? ns - w->ready_ns : 0;
}

/* At the end of each wait, for at most so long; less than least_ns is nothing. */
static uint64_t level_of(const struct axp__woken *w, uint64_t least_ns)
{
    uint64_t late = late_of(w), low = 0, high = longest(w);
    if (!late || ready_by(w, least_ns) > late) return 0;
    for (int i = 0; i < HALVINGS && low < high; i++) {
        uint64_t mid = low + (high - low + 1) / 2;
        if (ready_by(w, mid) <= late)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

/* ---- telling ------------------------------------------------------------- */

static void tell(struct axp__off *off, uint64_t level,
                 const struct axp__woken_to *to)
{
    struct axp__off ready = *off;
    uint64_t ns = length_of(off) < level ? length_of(off) : level;
    if (ns < to->least_ns) ns = 0;
    ready.is_ready = true;
    ready.begin_ns = off->end_ns -= ns;
    if (length_of(off) >= to->least_ns) to->give(to->ctx, off);
    if (ns) to->give(to->ctx, &ready);
    free((void *)(uintptr_t)off->frames);
}

static void tell_all(struct axp__woken *w, const struct axp__woken_to *to)
{
    uint64_t level = level_of(w, to->least_ns);
    for (size_t i = 0; i < w->n; i++)
        tell(&w->waits[i], level, to);
    *to->n_kept -= w->n;
    w->n = 0;
    if (w->cap > ROOM) {
        free(w->waits);
        w->waits = NULL;
        w->cap = 0;
    }
    w->n_short = w->short_ns = w->ready_ns = 0;
}

/* All until the last look. */
static void settle(struct axp__woken *w, const struct axp__woken_to *to)
{
    if (!w->look_ns) return;
    tell_all(w, to);
    w->base_ready_ns = w->look_ready_ns;
    w->look_ns = 0;
    w->is_unknown = false;
}

/* ---- waits --------------------------------------------------------------- */

static const uint64_t *copy_frames(const struct axp__off *off)
{
    size_t bytes = off->n_frames * sizeof *off->frames;
    void *to = bytes ? malloc(bytes) : NULL;
    if (to) memcpy(to, off->frames, bytes);
    return to;
}

static bool keep(struct axp__woken *w, const struct axp__off *off,
                 const struct axp__woken_to *to)
{
    if (*to->n_kept >= AXP__WOKEN_MOST) return false;
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 16;
        struct axp__off *wider = realloc(w->waits, cap * sizeof *wider);
        if (!wider) return false;
        w->waits = wider;
        w->cap = cap;
    }
    struct axp__off *kept = &w->waits[w->n++];
    *kept = *off;
    kept->frames = copy_frames(off);
    if (!kept->frames) kept->n_frames = 0;
    ++*to->n_kept;
    return true;
}

void axp__woken_off(struct axp__woken *w, const struct axp__off *off,
                    const struct axp__woken_to *to)
{
    uint64_t ns = length_of(off);
    if (off->end_ns > w->look_ns) settle(w, to);
    if (off->is_ready) {
        w->ready_ns += ns;
        if (ns >= to->least_ns) to->give(to->ctx, off);
    } else if (ns < to->least_ns) {
        w->n_short++;
        w->short_ns += ns;
    } else if (!keep(w, off, to)) {
        axp__woken_forget(w, to);
        to->give(to->ctx, off);
    }
}

void axp__woken_look(struct axp__woken *w, uint64_t now_ns, uint64_t ready_ns,
                     const struct axp__woken_to *to)
{
    if (now_ns <= w->look_ns) return;
    settle(w, to);
    w->look_ns = now_ns;
    w->look_ready_ns = ready_ns;
}

void axp__woken_forget(struct axp__woken *w, const struct axp__woken_to *to)
{
    settle(w, to);
    w->is_unknown = true;
    tell_all(w, to);
}

void axp__woken_end(struct axp__woken *w, const struct axp__woken_to *to)
{
    axp__woken_forget(w, to);
}

void axp__woken_drop(struct axp__woken *w)
{
    for (size_t i = 0; i < w->n; i++)
        free((void *)(uintptr_t)w->waits[i].frames);
    free(w->waits);
    *w = (struct axp__woken){0};
}
