/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When more threads of the program want to run than there are processors.
 *
 *   ran    ████████ 2 of 2 processors      ████░░░░ 1 of 2: others had the rest
 *   ready  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒ the program's own  ▒▒▒▒▒▒ theirs: a warning, not this
 *          ▒▒▒▒▒▒▒▒▒▒▒▒▒▒                    ▒▒▒▒▒▒▒▒▒▒▒▒▒ … unless they are so many
 *
 * The run is looked at in slices: where threads wanted to run and had no
 * processor, the program is in its own way if nearly all of these threads would
 * have had none if it had had all; or half of them, where it had nearly all.
 *
 * Input   samples of a view, which may claim anything. */
#ifndef AXP_ANALYZE_CROWD_H
#define AXP_ANALYZE_CROWD_H
#include "model/model_view.h"

struct axp__crowd {
    double n_cpus;    /* 0: not known, and nothing else is */
    double lasts_ns;  /* so much of the run */
    double ready_ns;  /* that threads were in each other's way, together … */
    double wanted_ns; /* … and with what they ran */
    /* The same, whoever had the processors: the program alone wanted more. */
    double all_ready_ns;
    size_t n_threads; /* that wanted to run in a crowd of its own */
    size_t n_samples; /* of processor time, in all */
};

/* What a run can be shorter at most by other use of the processors, if so much of
 * their time is not needed: all of it is spread evenly then. What is given, where
 * that is not known; of several processes, which may be on several machines, too. */
axp_ns axp__crowd_most(const axp_view *v, axp_ns spared_ns, axp_ns otherwise);

/* False: no memory. */
bool axp__crowd_find(const axp_view *v, struct axp__crowd *out);

#endif
