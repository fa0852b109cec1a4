/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Places of the heap for rules: what they are called, and where they are. */
#ifndef AXP_ANALYZE_PLACE_H
#define AXP_ANALYZE_PLACE_H
#include "analyze/analyze.h"

struct axp__heap_spot {
    const char *name; /* the program's, or the function; never NULL */
    const char *file; /* NULL, 0: not known */
    int line;
    double growth_early, growth_late, step_allocs, step_bytes;
    double current_bytes, at_peak_bytes;
    double n_allocs, allocated_bytes;
    double n_temporary; /* freed within 1 ms, by the thread that allocated */
};

/* The places that `is_meant` chooses, those of one name, file and line as one,
 * the heaviest AXP__MOST_PLACES, heaviest first. Returns how many. */
#define AXP__MOST_PLACES 16u
size_t axp__places(const axp_view *v, bool (*is_meant)(const axp_heap_place *p),
                   double (*weight)(const struct axp__heap_spot *p),
                   struct axp__heap_spot out[AXP__MOST_PLACES]);
static inline bool axp__place_is_at_peak(const axp_heap_place *p)
{
    return p->at_peak_bytes > 0;
}
/* Blocks of a place that its thread freed within 1 ms, as far as that is known. */
double axp__place_temporary(const axp_heap_place *p);
/* Each step allocates there anew what it freed before, and enough of it to be
 * said (allocation_churn). */
bool axp__spot_churns(const struct axp__analysis *a,
                      const struct axp__heap_spot *p);
/* A draft about a place, which has no time of its own. */
struct axp__draft *axp__place_draft(struct axp__analysis *a,
                                    enum axp__rule_id rule,
                                    const struct axp__heap_spot *p);

#endif
