/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which function of the program serial work is below, where no scope is open: what
 * the kernel and the system's libraries do for it is its own.
 *
 *   main ─► save ─► write ─► [kernel]     save's
 *
 * Input  samples of a view, which may claim anything. */
#ifndef AXP_ANALYZE_SERIAL_OWN_H
#define AXP_ANALYZE_SERIAL_OWN_H
#include "graph/graph_serial.h"

struct axp__serial_own {
    const char *name; /* NULL: no stack is the program's */
    const axp_op *op; /* of the view's functions; NULL: it is none of them */
    double share;     /* of what was sampled then, in no scope: 0 to 1 */
};

/* After axp__serial_sum. False: no memory. */
bool axp__serial_own_find(const struct axp__serial *s,
                          struct axp__serial_own *out);

#endif
