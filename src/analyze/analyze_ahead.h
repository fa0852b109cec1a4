/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a run would gain if a part of an operation were done beside the rest of it:
 * data read ahead, gradients sent while others are computed.
 *
 * By replay where threads are known to wait for each other, so that what is hidden
 * already is nothing, and of a loader that is too slow only what is waited for. No
 * more can hide behind what is left of the run without it than that is
 * long. */
#ifndef AXP_ANALYZE_AHEAD_H
#define AXP_ANALYZE_AHEAD_H
#include "analyze/analyze.h"

struct axp__ahead {
    axp_ns own_ns;   /* wall time that the part stands for */
    double fraction; /* of the operation's own time that can hide */
    axp_ns gain_ns;
};

/* part: of the operation's own time, 0…1. False: less than least_ns is gained. */
bool axp__ahead_find(struct axp__analysis *a, const axp_op *op, double part,
                     double least_ns, struct axp__ahead *out);

/* A rule of that: operations of a category, its threshold, what is said. */
struct axp__ahead_rule {
    enum axp__rule_id rule;
    axp_cat category;
    enum axp__threshold wall_percent;
    enum axp__threshold hidden_percent; /* above which it is hidden enough */
    const char *verb;                   /* "sends and receives" */
    const char *advice;                 /* %s: the name */
    const char *metric;
};
void axp__ahead_look(struct axp__analysis *a,
                     const struct axp__ahead_rule *rule);

#endif
