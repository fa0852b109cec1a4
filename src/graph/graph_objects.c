/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What rows give to each other; see graph_objects.h. */
#include "graph/graph_objects.h"

#include <stdlib.h>

#include "base/base_text.h"

static uint64_t hash(uint32_t process, uint32_t kind, uint64_t id)
{
    return axp__mix64(axp__mix64((uint64_t)process << 32 | kind) ^ id);
}

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    const struct axp__object *o = &((const struct axp__objects *)ctx)->at[i];
    return hash(o->process, o->kind, o->id);
}

void axp__objects_fini(struct axp__objects *o)
{
    free(o->at);
    free(o->slots.at);
    *o = (struct axp__objects){0};
}

struct axp__object *axp__object_get(struct axp__objects *o, uint32_t process,
                                    uint32_t kind, uint64_t id)
{
    void *at = o->at;
    bool ok = axp__slots_widen(&o->slots, o, hash_of) &&
              axp__array_grow(&at, &o->cap, o->n + 1, sizeof *o->at);
    o->at = at;
    if (!ok) return NULL;
    uint32_t *slot;
    for (uint64_t k = hash(process, kind, id);
         *(slot = axp__slots_at(&o->slots, k)); k++) {
        struct axp__object *is = &o->at[*slot - 1];
        if (is->id == id && is->process == process && is->kind == kind)
            return is;
    }
    o->at[o->n] = (struct axp__object){.id = id,
                                       .process = process,
                                       .kind = kind,
                                       .newest = AXP__NONE,
                                       .other = AXP__NONE};
    *slot = (uint32_t)++o->n;
    o->slots.n_used++;
    return &o->at[o->n - 1];
}

/* ---- barriers ------------------------------------------------------------------- */

/* A barrier that was made anew, where another one was, counts from 1 again. */
uint32_t axp__object_arrive(axp_graph *g, struct axp__object *barrier,
                            uint64_t round)
{
    uint32_t newest = barrier->newest;
    if (newest != AXP__NONE && barrier->number == round &&
        !g->episodes[newest].is_left)
        return newest;
    uint32_t episode = axp__graph_add_episode(g);
    if (episode == AXP__NONE) return AXP__NONE;
    barrier->other = barrier->number + 1 == round ? newest : AXP__NONE;
    barrier->newest = episode;
    barrier->number = round;
    return episode;
}

uint32_t axp__object_round(const struct axp__object *barrier, uint64_t round)
{
    if (barrier->number == round) return barrier->newest;
    return barrier->number == round + 1 ? barrier->other : AXP__NONE;
}

/* ---- semaphores ----------------------------------------------------------------- */

/* Nodes that give have no source: that field links them. */
void axp__object_post(axp_graph *g, struct axp__object *semaphore,
                      uint32_t node)
{
    g->nodes[node].source = AXP__NONE;
    if (semaphore->newest == AXP__NONE)
        semaphore->newest = node;
    else
        g->nodes[semaphore->other].source = node;
    semaphore->other = node;
}

uint32_t axp__object_take(axp_graph *g, struct axp__object *semaphore,
                          axp_ns posted_ns)
{
    uint32_t node = semaphore->newest;
    while (node != AXP__NONE && g->nodes[node].time_ns < posted_ns)
        node = g->nodes[node].source;
    if (node == AXP__NONE) return AXP__NONE;
    semaphore->newest = g->nodes[node].source;
    g->nodes[node].source = AXP__NONE;
    return node;
}
