/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Findings as tests ask for them. */
#ifndef AXP_FINDING_SUPPORT_H
#define AXP_FINDING_SUPPORT_H
#include "test_support.h"

#include <math.h>

#include "axprof/axprof_adapter.h"
#include "model/model_view.h"

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

/* ---- on how little no rule speaks ------------------------------------------ */

/* By rules.def: calls, allocations, samples and events. */
static const uint8_t ts_least[] = {
#define RULE(type, id, name, inputs, least, about, needs) [type] = (least),
#include "analyze/rules.def"
};

/* Leaves the view with all its times and sizes, but as if so few events had made
 * it. */
static inline void ts_forget_events(axp_view *v, uint64_t n_events)
{
    v->n_events = n_events;
    v->n_sampled = 0;
    for (size_t i = 0; i < v->n_ops; i++)
        v->ops[i].calls = 0;
    for (size_t i = 0; i < v->n_domains; i++)
        v->domains[i].memory.n_allocs = 0;
}

/* Who says something of it nevertheless says it of too few. Spoils the view. */
static inline void ts_check_least(axp_view *v)
{
    for (unsigned n = 3; n--;) {
        ts_forget_events(v, n);
        axp_findings *f = axp_analyze(v, NULL);
        assert_non_null(f);
        for (size_t i = 0; i < axp_findings_count(f); i++) {
            const axp_finding *x = axp_findings_at(f, i);
            if (ts_least[x->type] > n)
                fail_msg("%s of %u events", x->type_name, n);
        }
        axp_findings_destroy(f);
    }
}

/* Of what a rule's thresholds count there must be so many: with more wanted than
 * there can be it is silent. */
static inline bool ts_is_count(const char *key)
{
    static const char *const counts[] = {
        "calls", "meetings", "samples", "spans", "steps", "threads", "waits"};
    const char *name = strchr(key, '.') + 1;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (!strcmp(name, counts[i])) return true;
    return false;
}

static inline void ts_check_counts_of(const axp_view *v, const axp_rule *rule)
{
    axp_rule_threshold all[256];
    size_t n = axp_rule_thresholds(all, 256), n_set = 0, len = strlen(rule->id);
    char texts[8][80];
    const char *set[8];
    assert_true(n <= 256);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(all[i].key, rule->id, len) != 0 || all[i].key[len] != '.' ||
            !ts_is_count(all[i].key))
            continue;
        assert_true(n_set < 8);
        snprintf(texts[n_set], sizeof texts[0], "%s=1e12", all[i].key);
        set[n_set] = texts[n_set];
        n_set++;
    }
    if (!n_set) return;
    axp_findings *f =
        axp_analyze(v, &(axp_thresholds){.set = set, .n_set = n_set});
    assert_non_null(f);
    for (size_t i = 0; i < axp_findings_count(f); i++)
        if (axp_findings_at(f, i)->type == rule->type)
            fail_msg("%s of too few", rule->name);
    axp_findings_destroy(f);
}

static inline void ts_check_counts(const axp_view *v)
{
    axp_findings *f = axp_analyze(v, NULL);
    axp_rule rules[64];
    size_t n = axp_rules(rules, 64);
    assert_true(f && n <= 64);
    for (size_t i = 0; i < n; i++) /* samples are of functions alone */
        if (ts_find(f, rules[i].type) &&
            !(rules[i].type == AXP_SLOW_OPERATION && v->n_ops))
            ts_check_counts_of(v, &rules[i]);
    axp_findings_destroy(f);
}

/* Both, for what is found of this view; spoils it. */
static inline void ts_check_few(axp_view *v)
{
    ts_check_counts(v);
    ts_check_least(v);
}

/* What is found; takes the view with it. Beside it, that nothing is found of
 * fewer events than rules.def says. */
static inline axp_findings *ts_analyze_view(axp_view *v)
{
    axp_findings *f = axp_analyze(v, NULL);
    if (!f) fail_msg("no findings: %s", axp_last_error());
    ts_check_few(v);
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
