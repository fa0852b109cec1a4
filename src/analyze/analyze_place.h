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
    double current_bytes;
};

/* The places that `is_meant` chooses, those of one name, file and line as one,
 * the heaviest AXP__MOST_PLACES, heaviest first. Returns how many. */
#define AXP__MOST_PLACES 16u
size_t axp__places(const axp_view *v, bool (*is_meant)(const axp_heap_place *p),
                   double (*weight)(const struct axp__heap_spot *p),
                   struct axp__heap_spot out[AXP__MOST_PLACES]);
/* A draft about a place, which has no time of its own. */
struct axp__draft *axp__place_draft(struct axp__analysis *a,
                                    enum axp__rule_id rule,
                                    const struct axp__heap_spot *p);

#endif
