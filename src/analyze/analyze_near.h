/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations that are near their roof, for the rules that say which it is.
 *
 * Nothing is to be gained by doing the same faster, so they are Low; doing less may
 * gain all of their time, which is the bound. */
#ifndef AXP_ANALYZE_NEAR_H
#define AXP_ANALYZE_NEAR_H
#include "analyze/analyze.h"

struct axp__near_rule {
    enum axp__rule_id rule;
    bool is_memory; /* that binds it, or arithmetic */
    enum axp__threshold roof_percent, wall_percent;
    /* Whether the roof is one of the rule's; NULL: each. */
    bool (*fits)(const struct axp__analysis *a, const struct axp__roof *r);
    /* What is said of one, and what to do. */
    void (*say)(struct axp__analysis *a, struct axp__draft *d, const axp_op *op,
                const struct axp__roof *r);
};
void axp__near_look(struct axp__analysis *a, const struct axp__near_rule *rule);

/* What the machine's memory gives at best: to a thread that is alone, and to all;
 * false: it was not measured. */
bool axp__near_bandwidth(const struct axp__analysis *a,
                         const struct axp__roof *r, double *one, double *all);
/* Whether its threads have all that memory gives to however many, and each of them
 * could have more. */
bool axp__near_is_full(const struct axp__analysis *a,
                       const struct axp__roof *r);
/* That fewer bytes are what makes it faster, and how it comes to fewer; after
 * `before`, and with `more` at the end. */
void axp__near_advise_bytes(struct axp__analysis *a, struct axp__draft *d,
                            const axp_op *op, const struct axp__roof *r,
                            const char *before, const char *more);

#endif
