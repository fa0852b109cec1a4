/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Work that was declared above an operation: a region of OpenMP, or a function,
 * that computes what the scope around it declared. */
#ifndef AXP_ANALYZE_ABOVE_H
#define AXP_ANALYZE_ABOVE_H
#include "analyze/analyze.h"

struct axp__above {
    double share;     /* of their roofs, by the time that it has in each */
    const axp_op *op; /* that it has most time in … */
    const struct axp__roof *roof;
    size_t n_more; /* … and how many others */
};

/* Where nearly all of its time is below operations whose roof is known. */
bool axp__above_find(const struct axp__analysis *a, const axp_op *op,
                     struct axp__above *out);

#endif
