/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Own times of a row's stretch while its records are read.
 *
 *   ns       of each operation, since the row's last node
 *   touched  operations that have any, in the order in which they came
 *
 * Memory   8 bytes an operation and row, as far as they are touched.
 */
#ifndef AXP_GRAPH_SPENT_H
#define AXP_GRAPH_SPENT_H
#include "graph/graph.h"

struct axp__spent {
    axp_ns since;  /* all before is accounted for */
    uint32_t op;   /* what time goes to now */
    uint32_t held; /* the function seen last, for time in no scope … */
    axp_ns seen;   /* … and when */
    /* The newest stacks in no scope: at work, and off a processor. */
    struct axp__seen at_work, off;
    axp_ns looked;    /* at its last sample, wherever that was … */
    bool was_at_work; /* … it ran, or wanted to */
    /* In a wait: since when and at which depth, and what it is called. */
    bool is_waiting;
    bool is_back; /* in its pool: it waits for the next region, or the end */
    uint32_t wait_op;
    size_t wait_depth;
    axp_ns wait_begin;
    axp_ns ready, ready_until; /* … and how long it was ready last, having been
                                  woken or not; 0: it was not */
    uint32_t *open; /* operations of open scopes, as long as they nest */
    size_t n_open, cap_open;
    bool is_loose;    /* they do not: the stream knows which is innermost */
    bool is_lent;     /* most of it is others' work: graph_lend.c */
    uint32_t joined;  /* the episode of joins that go on; AXP__NONE */
    uint32_t arrived; /* the node that came to a barrier last; AXP__NONE */
    axp_ns *ns;       /* by op */
    size_t n_ns;
    uint32_t *touched;
    size_t n, cap;
};

struct axp__spent *axp__spent_create(void); /* NULL: no memory */
void axp__spent_destroy(struct axp__spent *own);
/* The op is touched now; false: no memory, and the graph has failed. */
bool axp__spent_touch(axp_graph *g, struct axp__spent *own, uint32_t op);
/* Takes ns of an op off again; what it does not have is taken off others. */
void axp__spent_take_off(struct axp__spent *own, uint32_t op, axp_ns ns);
/* A node that ends the stretch of work there; AXP__NONE: no memory. */
uint32_t axp__spent_close(axp_graph *g, uint32_t row, axp_ns time_ns);

static inline void axp__spent_add(axp_graph *g, struct axp__spent *own,
                                  uint32_t op, axp_ns ns)
{
    bool is_new = op >= own->n_ns || !own->ns[op];
    if (axp__unlikely(is_new) && (!ns || !axp__spent_touch(g, own, op))) return;
    own->ns[op] += ns;
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
