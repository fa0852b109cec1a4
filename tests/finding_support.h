/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Findings as tests ask for them. */
#ifndef AXP_FINDING_SUPPORT_H
#define AXP_FINDING_SUPPORT_H
#include "test_support.h"

#include <math.h>

/* The first of a type; NULL: there is none. */
static inline const axp_finding *ts_find(const axp_findings *f,
                                         axp_finding_type type)
{
    for (size_t i = 0; i < axp_findings_count(f); i++)
        if (axp_findings_at(f, i)->type == type) return axp_findings_at(f, i);
    return NULL;
}

/* It has to be there. */
static inline double ts_metric(const axp_finding *f, const char *key)
{
    for (size_t i = 0; i < f->n_metrics; i++)
        if (!strcmp(f->metrics[i].key, key)) return f->metrics[i].value;
    fail_msg("%s has no %s", f->name, key);
    return NAN;
}

#endif
