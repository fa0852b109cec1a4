/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Findings: what is slow or too large in a view, and what fixing it is worth.
 *
 *   thresholds ─► rules, one file each ─► drafts ─► one a cause ─► savings
 *                 (rules.def)                       ─► severity ─► rank
 *
 * A rule is a pure function of the view and the thresholds: it adds drafts and
 * sees nobody else's. What holds for all of them is analyze_settle.c's: where several
 * match one operation the most specific speaks and the others become its
 * evidence; savings are wall time, shared where findings are about the same
 * time; severity follows the saving where it can be estimated.
 *
 * Place      axp_analyze makes them; src/emit prints them.
 * Input      a view, whose names may hold anything; thresholds as given.
 * Ownership  findings copy their strings: they may outlive the view.
 * Threads    frozen once made.
 * Failure    bad thresholds and no memory: NULL, with the reason in
 *            axp_last_error.
 * Not here   how far to believe the data: those are the view's warnings.
 */
#ifndef AXP_ANALYZE_H
#define AXP_ANALYZE_H
#include "analyze/analyze_crowd.h"
#include "analyze/analyze_kernel.h"
#include "analyze/analyze_library.h"
#include "analyze/analyze_roof.h"
#include "axprof/axprof_read.h"
#include "model/model_view.h"

#define AXP__MAX_METRICS 8

enum axp__input {
    AXP__IN_OPS = 1,
    AXP__IN_WORK = 2,
    AXP__IN_MEMORY = 4,
    AXP__IN_WAITS = 8,
    AXP__IN_STEPS = 16,
    AXP__IN_HEAP = 32,
    AXP__IN_SCHEDULER = 64,
    AXP__IN_DEVICES = 128
};

/* Of a program that was sampled less often no function is judged: the default of
 * slow_operation.samples. */
#define AXP__FEW_SAMPLES 30

enum axp__rule_id {
#define RULE(type, id, name, inputs, least, about, needs) AXP__RULE_##id,
#include "analyze/rules.def"
    AXP__N_RULES
};

enum axp__threshold {
#define THRESHOLD(id, name, value) AXP__T_##id##_##name,
#include "analyze/rules.def"
    AXP__N_THRESHOLDS
};

struct axp__threshold_info {
    const char *key; /* "slow_operation.percent" */
    double value;    /* the default */
};
extern const struct axp__threshold_info axp__thresholds[AXP__N_THRESHOLDS];

/* A finding on its way: what a rule fills in. */
struct axp__draft {
    enum axp__rule_id rule;
    axp_severity band; /* where the saving does not decide */
    bool is_capped;    /* and never above what the saving would give */
    const char *name;
    const char *device; /* NULL: the host */
    const char *file;   /* of what it is about; NULL: not known */
    int line;
    bool has_place; /* these are it; else they are the op's, if it has one */
    const char *suggestion;     /* static, or `advice` */
    char *description, *advice; /* malloc; NULL */
    const axp_op *op;           /* whose time it is about; NULL: no time */
    /* Whose time that is, if several functions': op is none of the view's. */
    const struct axp__gain_part *parts;
    size_t n_parts;
    axp_ns with_ns;  /* of these, what is not the op's */
    int specificity; /* of drafts about one op the highest speaks */
    double fraction; /* of the op's own time that would be regained */
    bool is_bound;
    double confidence;
    bool is_last;    /* it speaks where no rule names a cause of waits */
    bool is_gone;    /* another one speaks for it */
    bool has_saving; /* the rule knows it: op and fraction do not say it */
    axp_ns saving_ns;
    axp_ns freed_ns; /* of that: processors that others then would have had */
    axp_metric metrics[AXP__MAX_METRICS];
    size_t n_metrics;
};

struct axp__wall;
struct axp__step_look;
struct axp__analysis {
    const axp_view *v;
    axp_thresholds given; /* all 0: none */
    double threshold[AXP__N_THRESHOLDS];
    struct axp__wall *wall;
    struct axp__roofs *roofs;
    struct axp__library library;   /* {0}: no samples */
    struct axp__kernel_use kernel; /* {0}: no samples, or something is marked */
    struct axp__crowd crowd;
    axp_ns still_ns; /* nobody ran: analyze_still.h */
    axp_op *outside; /* the program's functions where no scope is open; NULL */
    size_t n_outside;
    struct axp__step_look *steps; /* analyze_steps.h; NULL: nothing in them */
    struct axp__draft *drafts;
    size_t n_drafts, cap;
    bool has_failed; /* no memory */
};

struct axp_findings {
    axp_finding *all;
    struct axp__draft *drafts; /* own what `all` points at */
    size_t n;
    struct axp__roofs *roofs;            /* of the view's ops, in their order */
    double threshold[AXP__N_THRESHOLDS]; /* in force */
    char *verdict;                       /* analyze_verdict.h */
    char **ignored;                      /* as given; copies */
    size_t n_ignored;
};

axp_status axp__analyze(const axp_view *v, const axp_thresholds *thresholds,
                        axp_findings **out);

/* All rules have spoken: one draft a cause is left, with what it saves. */
void axp__drafts_settle(struct axp__analysis *a);

/* ---- for rules ------------------------------------------------------------- */
/* NULL: ignored by the user, or no memory. Stays until the next one. */
struct axp__draft *axp__draft_add(struct axp__analysis *a,
                                  enum axp__rule_id rule, const char *name);
void axp__draft_metric(struct axp__draft *d, const char *key, double value);
/* Adds a sentence; names do not belong into it, the finding has one. */
__attribute__((format(printf, 3, 4))) void axp__draft_say(
    struct axp__analysis *a, struct axp__draft *d, const char *format, ...);
/* Sets what to do, about this case; the same holds for names, see axp__spoken. */
__attribute__((format(printf, 3, 4))) void axp__draft_advise(
    struct axp__analysis *a, struct axp__draft *d, const char *format, ...);
/* A name that may stand in a sentence, or else what is given for it: letters,
 * digits and a few signs, and not long. */
const char *axp__spoken(const char *name, const char *otherwise);
/* Whether anybody marked anything: waits are told without that. */
bool axp__is_marked(const axp_view *v);
bool axp__is_ignored(const struct axp__analysis *a, enum axp__rule_id rule,
                     const char *name);
/* Whether a place in the call tree is the operation's. */
static inline bool axp__is_node_of(const axp_tree_node *n, const axp_op *op)
{
    return n->name == op->name && n->is_wait == op->is_wait && !n->is_sampled &&
           n->device == op->device;
}
/* The highest band that value reaches: steps are those of Medium, High and
 * Critical; 0 ends them. */
axp_severity axp__band(double value, const double steps[3]);
/* Of what would be regained of the run, 0…1. */
axp_severity axp__band_by_saving(double share);

#define RULE(type, id, name, inputs, least, about, needs)                      \
    void axp__rule_##id(struct axp__analysis *a);
#include "analyze/rules.def"

/* The roof of an op of the view's; NULL: it has none. */
const struct axp__roof *axp__roof_of(const struct axp__analysis *a,
                                     const axp_op *op);

/* A counter that axprof run read, at most; 0: it read none of that name. */
double axp__outside_at_most(const axp_view *v, const char *name);

/* ---- thresholds (analyze_thresholds.c) --------------------------------------- */
/* AXP_E_INVALID, and which string it was, if one is not understood. */
axp_status axp__thresholds_read(struct axp__analysis *a,
                                const axp_thresholds *given);
const char *axp__rule_name(enum axp__rule_id rule); /* "slow_operation" */

#endif
