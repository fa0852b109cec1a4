/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a row did alone before a team began.
 *
 *   main    ──8 ms──o──10 ms──┐       8 ms alone
 *   worker  ········o──10 ms──┴ meet
 *
 * All who meet it afterwards waited for it to give them what they then did: the
 * region of a team. Who meets nobody, such as a loader or who it loads for, is no
 * team.
 *
 * Cost   linear in nodes and parts; 24 bytes a node while it is made.
 */
#ifndef AXP_GRAPH_ALONE_H
#define AXP_GRAPH_ALONE_H
#include "graph/graph_serial.h"

/* Adds to *out. False: no memory. */
bool axp__alone_find(const struct axp__meets *m, struct axp__serial *out);

#endif
