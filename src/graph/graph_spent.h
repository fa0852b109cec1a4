/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Own times of a row's stretch while its records are read.
 *
 *   at   [ op, ns ][ op, ns ] … n     since the row's last node
 *   map  op & (cap - 1) ─► a place in `at`, or an old one: it is compared
 *
 * Two operations that share a place in the map may both have several entries;
 * these are added up when the array is full, and when the stretch ends.
 *
 * Memory   24 bytes for each operation of the stretch.
 */
#ifndef AXP_GRAPH_SPENT_H
#define AXP_GRAPH_SPENT_H
#include "graph/graph.h"

struct axp__spent {
    axp_ns since;  /* all before is accounted for */
    uint32_t op;   /* what time goes to now */
    uint32_t held; /* the function seen last, for time in no scope */
    /* In a wait: since when and at which depth, and what it is called. */
    bool is_waiting;
    uint32_t wait_op;
    size_t wait_depth;
    axp_ns wait_begin;
    uint32_t *open; /* operations of open scopes, as long as they nest */
    size_t n_open, cap_open;
    bool is_loose;   /* they do not: the stream knows which is innermost */
    uint32_t joined; /* the episode of joins that go on; AXP__NONE */
    struct axp__part_of *at;
    uint32_t *map;
    uint32_t n, cap;
};

struct axp__spent *axp__spent_create(void); /* NULL: no memory */
void axp__spent_destroy(struct axp__spent *own);
/* An entry for an op that has none in its place. */
void axp__spent_put(axp_graph *g, struct axp__spent *own, uint32_t op,
                    axp_ns ns);
/* Equal operations added up, by number. */
void axp__spent_sum(struct axp__spent *own);
/* Takes ns of an op off again; what it does not have is taken off others. */
void axp__spent_take_off(struct axp__spent *own, uint32_t op, axp_ns ns);
/* A node that ends the stretch of work there; AXP__NONE: no memory. */
uint32_t axp__spent_close(axp_graph *g, uint32_t row, axp_ns time_ns);

static inline void axp__spent_add(axp_graph *g, struct axp__spent *own,
                                  uint32_t op, axp_ns ns)
{
    uint32_t i = own->map[op & (own->cap - 1)];
    if (axp__likely(i < own->n && own->at[i].op == op))
        own->at[i].ns += ns;
    else
        axp__spent_put(g, own, op, ns);
}

/* What passed until then is the current op's. */
static inline void axp__spent_until(axp_graph *g, struct axp__spent *own,
                                    axp_ns time_ns)
{
    if (time_ns <= own->since) return;
    axp__spent_add(g, own, own->op, time_ns - own->since);
    own->since = time_ns;
}

#endif
