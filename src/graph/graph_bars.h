/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The critical path of a run as bars by time: what the threads on it did, in the
 * order in which they did it.
 *
 *   pieces of the path   main ──────────────── worker ─────── main ───────
 *   bars                 load│forward│load│f…  backward      update│idle
 *
 * A piece that is a thread's work is many operations; a second pass over the
 * records tells when each was the innermost open one, or, where none was, which
 * function was sampled.
 *
 * One thread's path is that thread: rules and tables need no graph for it, and the
 * view has none. A row is drawn all the same, of up to AXP__MOST_ALONE events: of
 * more, reading them again takes longer than writing them (axp_bench_emit), to show
 * what the thread's own row shows.
 *
 * Memory     at most AXP__MOST_BARS: where there are more, neighbours that are
 *            short become one with the name of what most of it was.
 * Cost       one read of the timeline: for who draws the path, nobody else.
 * Ownership  init by axp__bars_init; fini frees. Texts are the view's, the
 *            graph's, or of the table of operations here.
 */
#ifndef AXP_GRAPH_BARS_H
#define AXP_GRAPH_BARS_H
#include "graph/graph.h"

#define AXP__MOST_BARS 16384u
#define AXP__MOST_ALONE 1000000u

struct axp__bars {
    axp_path_segment *at; /* by time, without gaps */
    size_t n;
    struct axp__graph_ops ops;
    struct axp__recorded *alone; /* of one thread; NULL: the view has it */
};

/* Of the run as it was; n = 0: there is no timeline, or a long one of one thread.
 * On failure fini is due all the same. */
axp_status axp__bars_init(struct axp__bars *b, const axp_view *v);
void axp__bars_fini(struct axp__bars *b);

#endif
