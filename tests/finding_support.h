/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Findings as tests ask for them. */
#ifndef AXP_FINDING_SUPPORT_H
#define AXP_FINDING_SUPPORT_H
#include "test_support.h"

#include <math.h>

#include "axprof/axprof_adapter.h"

/* The first of a type; NULL: there is none. */
static inline const axp_finding *ts_find(const axp_findings *f,
                                         axp_finding_type type)
{
    for (size_t i = 0; i < axp_findings_count(f); i++)
        if (axp_findings_at(f, i)->type == type) return axp_findings_at(f, i);
    return NULL;
}

/* The same of one name. */
static inline const axp_finding *ts_find_named(const axp_findings *f,
                                               axp_finding_type type,
                                               const char *name)
{
    for (size_t i = 0; i < axp_findings_count(f); i++)
        if (axp_findings_at(f, i)->type == type &&
            !strcmp(axp_findings_at(f, i)->name, name))
            return axp_findings_at(f, i);
    return NULL;
}

/* What is found; takes the view with it. */
static inline axp_findings *ts_analyze_view(axp_view *v)
{
    axp_findings *f = axp_analyze(v, NULL);
    if (!f) fail_msg("no findings: %s", axp_last_error());
    axp_view_destroy(v);
    return f;
}

/* What is found now. */
static inline axp_findings *ts_analyze_now(axp_profiler *p)
{
    return ts_analyze_view(ts_snapshot(p));
}

/* The same; takes the profiler with it. */
static inline axp_findings *ts_analyze(axp_profiler *p)
{
    axp_findings *f = ts_analyze_now(p);
    axp_profiler_destroy(p);
    return f;
}

/* A text that has to hold another. */
static inline void ts_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' is not in '%s'", part, text);
}

/* Memory of the heap that is not there, a block a number; from a scope. */
static inline void *ts_block(unsigned i)
{
    return (void *)((uintptr_t)0x500000000000 + (uintptr_t)i * 1048576);
}

static inline void ts_allocate(const char *scope, unsigned i, size_t bytes)
{
    static const uint64_t frames[] = {0x1000};
    axp_heap_stack s = {0, frames, 1, 0x9e3779b97f4a7c15u};
    axp_start(axp_global(), scope);
    axp_heap_alloc(ts_block(i), bytes, &s);
    axp_stop(axp_global(), scope);
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
