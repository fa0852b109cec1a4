/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which steps are kept; see tally_step.h. */
#include "tally/tally_step.h"

#include <assert.h>

struct axp__steps *axp__tally_steps(struct axp__tally *t)
{
    axp__ref ref = axp__get_acquire(&t->first.steps);
    return ref ? axp__arena_at(&t->arena, ref) : NULL;
}

struct axp__steps *axp__tally_make_steps(struct axp__tally *t)
{
    if (t->first.steps) return axp__tally_steps(t);
    axp__ref ref =
        axp__arena_alloc(&t->arena, sizeof(struct axp__steps), AXP__ARENA_SURE);
    if (!ref) return NULL;
    struct axp__steps *s = axp__arena_at(&t->arena, ref);
    s->stats.min_ticks = UINT64_MAX;
    s->stride = 1;
    axp__put_release(&t->first.steps, ref);
    return s;
}

static void put_step(struct axp__step *to, const struct axp__step *from)
{
    axp__put(&to->index, from->index);
    axp__put(&to->begin_ticks, from->begin_ticks);
    axp__put(&to->end_ticks, from->end_ticks);
    axp__put(&to->live_bytes, from->live_bytes);
}

static uint64_t duration(const struct axp__step *s)
{
    return s->end_ticks - s->begin_ticks;
}

/* The fastest of the slowest, all of which are there. */
static uint32_t find_fastest(const struct axp__steps *s)
{
    uint32_t fastest = 0;
    for (uint32_t i = 1; i < AXP__STEPS_SLOWEST; i++)
        if (duration(&s->slowest[i]) < duration(&s->slowest[fastest]))
            fastest = i;
    return fastest;
}

static void keep_slowest(struct axp__steps *s, const struct axp__step *step)
{
    uint32_t *known = &s->stats.hint; /* 1 + the fastest of them; 0: not */
    assert(s->n_slowest <= AXP__STEPS_SLOWEST);
    if (s->n_slowest < AXP__STEPS_SLOWEST) {
        put_step(&s->slowest[s->n_slowest], step);
        axp__put(&s->n_slowest, s->n_slowest + 1);
        return;
    }
    if (!*known || *known > AXP__STEPS_SLOWEST)
        axp__put(known, find_fastest(s) + 1);
    struct axp__step *fastest = &s->slowest[*known - 1];
    if (duration(step) <= duration(fastest)) return;
    put_step(fastest, step);
    axp__put(known, 0);
}

static void keep_sampled(struct axp__steps *s, const struct axp__step *step)
{
    assert(s->stride && !(s->stride & (s->stride - 1)));
    if (step->index % s->stride) return;
    if (s->n_sampled == AXP__STEPS_SAMPLED) { /* thin out: every second */
        uint32_t kept = 0;
        if (s->stride > UINT64_MAX / 2) return; /* a file's: one index again */
        axp__put(&s->stride, s->stride * 2);
        for (uint32_t i = 0; i < AXP__STEPS_SAMPLED; i++)
            if (s->sampled[i].index % s->stride == 0)
                put_step(&s->sampled[kept++], &s->sampled[i]);
        axp__put(&s->n_sampled, kept);
        if (step->index % s->stride || kept == AXP__STEPS_SAMPLED) return;
    }
    assert(s->n_sampled < AXP__STEPS_SAMPLED);
    put_step(&s->sampled[s->n_sampled], step);
    axp__put(&s->n_sampled, s->n_sampled + 1);
}

static void keep_recent(struct axp__steps *s, const struct axp__step *step)
{
    put_step(&s->recent[s->n_recent % AXP__STEPS_RECENT], step);
    axp__put(&s->n_recent, s->n_recent + 1);
}

bool axp__tally_add_step(struct axp__tally *t, const struct axp__step *step)
{
    struct axp__steps *s = axp__tally_make_steps(t);
    if (!s) return false;
    axp__version_begin(&s->stats.version);
    keep_recent(s, step);
    keep_slowest(s, step);
    keep_sampled(s, step);
    axp__bump(&s->stats.loose_calls, 1);
    axp__bump(&s->stats.loose_ticks, duration(step));
    axp__tally_sample(t, &s->stats, duration(step));
    axp__version_end(&s->stats.version);
    return true;
}

void axp__steps_absorb(struct axp__steps *a, const struct axp__steps *b)
{
    uint64_t n = b->n_recent;
    for (uint64_t i = n < AXP__STEPS_RECENT ? 0 : n - AXP__STEPS_RECENT; i < n;
         i++)
        keep_recent(a, &b->recent[i % AXP__STEPS_RECENT]);
    for (uint32_t i = 0; i < b->n_slowest; i++)
        keep_slowest(a, &b->slowest[i]);
    for (uint32_t i = 0; i < b->n_sampled; i++)
        keep_sampled(a, &b->sampled[i]);
}
