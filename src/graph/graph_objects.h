/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What rows give to each other while a graph is built: barriers, semaphores,
 * threads that end, flows, async spans. By process, kind and address or id.
 *
 * Memory   72 bytes an object that was ever seen.
 */
#ifndef AXP_GRAPH_OBJECTS_H
#define AXP_GRAPH_OBJECTS_H
#include "graph/graph.h"

enum axp__object_kind { /* beside axp_sync_kind's */
                        AXP__OBJECT_FLOW = 256,
                        AXP__OBJECT_ASYNC
};

struct axp__object {
    uint64_t id, number; /* number: of a barrier's newest round */
    uint32_t process, kind;
    /* A barrier's episodes of the newest round and the one before; a semaphore's
     * oldest and newest post that nobody has taken; else the node that gave. */
    uint32_t newest, other;
    /* What who gave it was seen with last, in no scope. */
    struct axp__seen at_work, off;
};

struct axp__objects {
    struct axp__object *at;
    size_t n, cap;
    struct axp__slots slots;
};

void axp__objects_fini(struct axp__objects *o);
/* Made if it is not there; NULL: no memory. Valid until the next call. */
struct axp__object *axp__object_get(struct axp__objects *o, uint32_t process,
                                    uint32_t kind, uint64_t id);

/* The episode of an arrival at a round of a barrier; AXP__NONE: no memory. */
uint32_t axp__object_arrive(axp_graph *g, struct axp__object *barrier,
                            uint64_t round);
/* The episode of a round; AXP__NONE: nobody is known to have arrived. */
uint32_t axp__object_round(const struct axp__object *barrier, uint64_t round);
/* A post stays until it is taken: the oldest first, AXP__NONE: none is left. Of
 * one who waited the posts before the one that ended his wait are gone. */
void axp__object_post(axp_graph *g, struct axp__object *semaphore,
                      uint32_t node);
uint32_t axp__object_take(axp_graph *g, struct axp__object *semaphore,
                          axp_ns posted_ns);

#endif
