/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The verdict: one sentence on what the run's time is, and what to change first.
 *
 *   "62 % of the run is matmul, 22 % load_batch; loading load_batch ahead gives
 *    back 20 %."
 *   "76 % of the run is sgemm; no finding is above Low: computing sgemm with
 *    narrower numbers gives back at most 58 %."
 *   "Nothing to gain by more than 4 %: 90 % of the run is matmul. Looked at: …"
 *   "No one function gives back more than 12 %: 14 % of the run is parse. …"
 *   "Nothing could be judged: no scope, allocation or step was recorded. …"
 *
 * Place      made with the findings; every report begins with it.
 * Input      names may hold anything, and are cut: whoever writes it escapes it.
 * Ownership  malloc.
 */
#ifndef AXP_ANALYZE_VERDICT_H
#define AXP_ANALYZE_VERDICT_H
#include "analyze/analyze.h"

/* f: ranked. NULL: no memory. */
char *axp__verdict(const struct axp__analysis *a, const axp_findings *f);

#endif
