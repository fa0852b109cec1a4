/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The dependency graph of a run: what each thread did between synchronisations,
 * and who had to do what before whom.
 *
 *   main    o──forward──o·······barrier wait·······o──update──o─┐
 *                       │                          ^            │ join
 *   worker  o──forward──┼───────backward───────────o────────────o
 *           ^ started   └─ arrivals of one round end its waits
 *
 * A node is a moment of a row at which something was given, taken, begun or
 * waited for. The stretch before it, back to the row's previous node, is work or
 * a wait. A stretch of work has a sparse vector of own times: so much of each
 * operation. A node may have a source: what had to happen before it.
 *
 *   timeline ─► graph_build (one pass) ─► graph ─► graph_replay ─► graph_path
 *
 * Memory     64 bytes a node and 8 for each operation of a stretch: it follows
 *            synchronisations and operations, never the number of events.
 * Order      a node depends on nodes of lower number alone, whatever a recording
 *            claims: so a replay is one pass, and a walk back ends.
 * Input      a view, whose timeline may claim anything.
 * Ownership  malloc; axp__graph_destroy frees. The view must outlive it.
 * Threads    frozen once built: any number may replay it.
 */
#ifndef AXP_GRAPH_H
#define AXP_GRAPH_H
#include "axprof/axprof_whatif.h"
#include "graph/graph_ops.h"
#include "model/model_slots.h"
#include "model/model_stream.h"

#define AXP__NONE UINT32_MAX

/* What is before a node in its row. */
enum axp__stretch {
    AXP__STRETCH_START, /* nothing: the row begins */
    AXP__STRETCH_WORK,
    AXP__STRETCH_WAIT, /* ends with its source, and what it takes to wake up */
    AXP__STRETCH_QUEUE /* of a device's queue: until both are done, and a lag */
};

enum axp__source {
    AXP__SOURCE_NONE,
    AXP__SOURCE_NODE,    /* so long after that node, in its row */
    AXP__SOURCE_EPISODE, /* the last arrival of an episode */
    AXP__SOURCE_ARRIVES  /* none: it is an arrival of that episode itself */
};

struct axp__graph_node {
    axp_ns time_ns;
    axp_ns after_ns; /* of the source */
    axp_ns lag_ns;   /* from the later of source and wait's begin until here */
    uint64_t parts;  /* the first of its stretch's */
    uint32_t n_parts;
    uint32_t row, prev, next; /* nodes; AXP__NONE */
    uint32_t source;          /* a node or an episode */
    uint8_t stretch, source_kind;
    bool is_estimate; /* who ended the wait is not known */
    /* A wait whose source came before it began: the lag is there even if it is
     * not waited for. */
    bool is_late;
    /* No sample fell into the stretch: which function it was spent in, where no
     * scope was open, is what was seen before it. */
    bool is_unseen;
};

/* A part of a stretch: an operation's number and, above it, ns; where the first
 * bit is set, so many units of 33 ms: no recording claims more than one part of
 * each can hold. */
#define AXP__PART_OP_BITS 24
#define AXP__PART_NS_BITS 39
#define AXP__PART_UNIT_BITS 25
static inline uint32_t axp__part_op(uint64_t part)
{
    return (uint32_t)part & (((uint32_t)1 << AXP__PART_OP_BITS) - 1);
}

static inline axp_ns axp__part_ns(uint64_t part)
{
    axp_ns ns = part << 1 >> (AXP__PART_OP_BITS + 1);
    return part >> 63 ? ns << AXP__PART_UNIT_BITS : ns;
}

/* All who come to one round of a barrier, or are joined together. */
struct axp__episode {
    axp_ns last_ns;
    uint32_t n_arrived;
    bool is_left; /* somebody has gone on */
};

/* A wait for a lock: which one, who had it, and in which operation. */
struct axp__lock_wait {
    uint64_t lock;
    uint32_t node;
    uint32_t by, op; /* a row; AXP__NONE: not known */
};

/* A stack that a thread was seen with, and when. */
struct axp__seen {
    uint32_t stack; /* 0: none */
    axp_ns ns;
};

/* Steps that a row marks: the end of the first and of the last. */
struct axp__step_marks {
    uint64_t n;
    axp_ns begin_ns; /* of the first */
    uint32_t first, last;
    axp_ns first_after, last_after;
};

/* Samples of a thread that recorded nothing, of axp__samples: from first to before
 * end, by time. */
struct axp__loose {
    size_t first, end;
};

struct axp__graph_row {
    struct axp__stream_row is;
    uint32_t *nodes; /* in the order of time; none: nothing is in it */
    size_t n_nodes, cap_nodes;
    bool is_end;             /* the run lasts as long as it does */
    bool is_parent;          /* it did nothing but wait for other processes */
    struct axp__loose loose; /* of a thread that recorded nothing … */
    size_t state;            /* … axp__view_state_at */
    struct axp__step_marks steps;
    struct axp__spent *own; /* of a thread, while it is built */
};

struct axp_graph {
    const axp_view *v;
    struct axp__graph_ops ops;
    struct axp__graph_node *nodes;
    size_t n_nodes, cap_nodes;
    uint64_t *parts;
    size_t n_parts, cap_parts;
    struct axp__episode *episodes;
    size_t n_episodes, cap_episodes;
    struct axp__lock_wait *lock_waits; /* in the order of nodes */
    size_t n_lock_waits, cap_lock_waits;
    struct axp__graph_row *rows; /* of the stream */
    size_t n_rows;
    axp_ns begin_ns, end_ns;
    uint64_t n_syncs, n_waits, n_unknown; /* records; waits of them */
    axp_ns waited_ns, unknown_ns;
    uint64_t n_looks; /* at what others did: bounded, as files may claim much */
    bool has_failed;  /* no memory */
};

axp_status axp__graph_create(const axp_view *v, axp_graph **out);
void axp__graph_destroy(axp_graph *g); /* NULL allowed */
/* The view's own graph and its replay as it was, made once and kept as long as
 * the view; *out NULL: it would say no more than the operations' own times do,
 * for there is one thread, no timeline, or nothing that took time is left in it. */
struct axp__recorded {
    axp_graph *graph;
    axp_replay *replay;
};
axp_status axp__graph_recorded(const axp_view *v,
                               const struct axp__recorded **out);
/* One of one's own, of whatever has a timeline. */
axp_status axp__recorded_create(const axp_view *v, struct axp__recorded **out);
void axp__recorded_destroy(struct axp__recorded *of); /* NULL allowed */

/* ---- nodes (graph_nodes.c) ------------------------------------------------------------- */
/* A node of the row, no earlier than the one before it; AXP__NONE: no memory. */
uint32_t axp__graph_add_node(axp_graph *g, uint32_t row, axp_ns time_ns,
                             enum axp__stretch stretch);
/* Whether most of the stretch before it was off a processor, for a reason that
 * nobody saw. */
bool axp__graph_is_off(const axp_graph *g, uint32_t node);
/* Whether an operation of a stretch is a function that was not seen in it. */
static inline bool axp__is_guess(const axp_graph *g,
                                 const struct axp__graph_node *n, uint32_t op)
{
    return n->is_unseen && g->ops.at[op].is_function;
}

/* A part of the last node's stretch. */
void axp__graph_add_part(axp_graph *g, uint32_t op, axp_ns ns);
/* The last node of the row before that time, or the first at it; AXP__NONE: the
 * row had not begun. */
uint32_t axp__graph_find(const axp_graph *g, uint32_t row, axp_ns time_ns);
/* Sets source and lag of a node: so long after a node of a lower number, or on a
 * row at a time. False: there is no such. */
bool axp__graph_depend(axp_graph *g, uint32_t node, uint32_t source,
                       axp_ns after_ns);
bool axp__graph_depend_at(axp_graph *g, uint32_t node, uint32_t row,
                          axp_ns given_ns);
/* … or the last arrival of an episode. */
void axp__graph_attend(axp_graph *g, uint32_t node, uint32_t episode);
uint32_t axp__graph_add_episode(axp_graph *g);
void axp__graph_add_lock_wait(axp_graph *g, struct axp__lock_wait wait);

static inline uint32_t axp__graph_last(const axp_graph *g, uint32_t row)
{
    const struct axp__graph_row *r = &g->rows[row];
    return r->n_nodes ? r->nodes[r->n_nodes - 1] : AXP__NONE;
}

/* ---- waits that nobody is known to have ended (graph_borrow.c) ---------------------------- */
/* Gives the last node's stretch, from begin_ns on, the parts of what the other
 * rows of its process did meanwhile; false: they did nothing. */
bool axp__graph_borrow(axp_graph *g, uint32_t row, axp_ns begin_ns,
                       axp_ns end_ns);
/* How long others of its process had no processor meanwhile, of that time. */
axp_ns axp__graph_starved(axp_graph *g, uint32_t row, axp_ns begin_ns,
                          axp_ns end_ns);

#endif
