/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bars of a bounded number: as many as there are while they have room, and then
 * short neighbours become one, with the name of what most of it was.
 *
 *   in    a│b│a│────── c ──────│b│a│a│b│a│
 *   out   ──a──│────── c ──────│─────a───│
 *
 * Place      the path by time (graph_bars.h).
 * Ownership  of the bars the caller's, who has room for `cap`.
 * Cost       of a bar that is put a few steps; all are gone through once more each
 *            time the room is full, and what is short is twice as long then.
 */
#ifndef AXP_GRAPH_MIX_H
#define AXP_GRAPH_MIX_H
#include "graph/graph_path.h"

#define AXP__MOST_MIXED 16u

struct axp__mixer {
    struct axp__segment *bars; /* of a row by time, side by side */
    size_t n, cap;
    axp_ns shortest; /* what is shorter is mixed */
    axp_ns longest;  /* that there may be */
    struct axp__segment run;
    bool has_run;
    /* What is mixed: up to where, and how much of what; of very many the most. */
    struct axp__segment mix;
    struct {
        axp_ns ns;
        uint32_t op;
    } of[AXP__MOST_MIXED];
    uint32_t n_of;
};

/* In the order of a row's time, row after row. */
void axp__mixer_put(struct axp__mixer *m, const struct axp__segment *s);
/* After the last. */
void axp__mixer_end(struct axp__mixer *m);

#endif
