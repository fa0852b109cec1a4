/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a row did alone while its pool waited for it.
 *
 *   main    ──chunk──o··o──merge──o──chunk──    merge alone
 *   worker  ──chunk────o··········o──chunk──
 *                    signals done ^ is given work
 *
 * A pool are rows that wait for one row, their master, most of the time that they
 * wait for anybody: on conditions, semaphores or regions, never locks. They meet
 * nowhere, so they are known by three things: the master waits for them in turn,
 * as who fills a queue that is never full does not; they work beside each other or
 * the master, as who answers requests does not; and what is done alone is while
 * all of them wait for the master.
 *
 * Not here   what a team does alone that meets afterwards: graph_alone.h.
 * Cost       sorts the nodes of pools; 56 bytes a row, 48 a node of a pool while it
 *            is made.
 */
#ifndef AXP_GRAPH_POOL_H
#define AXP_GRAPH_POOL_H
#include "graph/graph_serial.h"

/* Adds to *out. False: no memory. */
bool axp__pool_find(struct axp__serial *out);

#endif
