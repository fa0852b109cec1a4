/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps of a timeline: how long each took, and what was done in those that took
 * longer than the others.
 *
 *   ─setup─┬─first─┬─warm-up─┬── early ──┬──────────┬── late ──┐
 *          begins with         usual steps, and slow ones among them
 *          what comes again
 *
 * Warm-up are the leading steps that take more than 1.5 times the median, a
 * tenth of all at most. What is after it has settled. The first step is marked
 * when it ends and nobody says where it began: it begins with the first
 * operation that a later step begins too, and what is before that is setup.
 *
 * Place      made once for the rules about steps, where the statistics of all
 *            steps say that one of them may have something to say.
 * Input      a view, whose timeline may claim anything. Of several processes the
 *            one that marks most steps.
 * Ownership  the analysis's; axp__step_look_destroy frees.
 * Cost       two passes over the timeline; 24 bytes a step, and 80 an operation.
 */
#ifndef AXP_ANALYZE_STEPS_H
#define AXP_ANALYZE_STEPS_H
#include "analyze/analyze.h"
#include "graph/graph_ops.h"

enum axp__step_group {
    AXP__STEP_FIRST,
    AXP__STEP_EARLY, /* the first third of those that have settled … */
    AXP__STEP_LATE,  /* … and the last */
    AXP__STEP_SLOW,  /* twice the median or more */
    AXP__STEP_USUAL, /* settled and not slow */
    AXP__N_STEP_GROUPS
};

struct axp__marked_step {
    axp_ns begin_ns, end_ns;
    uint32_t row; /* of the stream, that marked it */
};

struct axp__step_look {
    const axp_view *v;
    struct axp__marked_step *at; /* of one process, in their order */
    size_t n, cap, settled;      /* the first that has settled */
    bool has_first;              /* at[0] is the run's first */
    uint32_t process, row;       /* whose they are; who marks them */
    axp_ns median_ns, p99_ns;    /* of the settled … */
    axp_ns early_ns, late_ns;    /* … and medians of a third */
    axp_ns start_ns;             /* what one takes as the settled begin */
    size_t n_in[AXP__N_STEP_GROUPS];
    axp_ns ns_in[AXP__N_STEP_GROUPS];
    struct axp__graph_ops ops;
    /* Of each operation its own time in a group: of who marks the steps, and of
     * all others. ops.n of each when they are filled. */
    double *own[AXP__N_STEP_GROUPS], *others[AXP__N_STEP_GROUPS];
    size_t cap_ops;
};

/* False: no memory. *out NULL: there is nothing to look at. */
bool axp__step_look_create(const axp_view *v, struct axp__step_look **out);
void axp__step_look_destroy(struct axp__step_look *look); /* NULL allowed */

/* The operation of which a step of one group has most more than one of another;
 * where that is a wait, what the other threads did more of. */
struct axp__step_cause {
    const char *name;     /* "(no scope)": in none */
    const axp_op *op;     /* NULL: in none */
    double is_ns, was_ns; /* a step of either */
    bool is_elsewhere;    /* on other threads */
    bool is_all;          /* each of several has more, by the same part of it */
};
struct axp__step_cause axp__step_cause_of(const struct axp__step_look *look,
                                          enum axp__step_group is,
                                          enum axp__step_group was);
/* A thread had no processor for half of what steps took longer, or more: then others
 * may have made them slow. */
bool axp__step_may_be_starved(const struct axp__analysis *a, axp_ns longer_ns);
/* What such a step's finding is called, and what to look for. */
#define AXP__STEP_ALL "every operation"
#define AXP__STEP_ALL_ADVICE                                                   \
    "every operation takes longer alike: compare what goes into these steps, " \
    "and the machine: processors that are hot, or shared with other programs " \
    "or virtual machines, do all of it more slowly, and no operation is to "   \
    "blame"
/* Says how much of the operation a step of either has, and where it is. Of what the
 * finding is about the operation has more_ns: no more is saved by changing it, and
 * where that is most of its time, findings that say less of it are its evidence. */
void axp__step_cause_say(struct axp__analysis *a, struct axp__draft *d,
                         const struct axp__step_cause *cause, double more_ns);

#endif
