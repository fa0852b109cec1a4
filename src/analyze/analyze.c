/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What holds for all findings; see analyze.h. */
#include "analyze/analyze.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/analyze_outside.h"
#include "analyze/analyze_steps.h"
#include "analyze/analyze_still.h"
#include "analyze/analyze_verdict.h"
#include "analyze/analyze_wall.h"
#include "record/record_thread.h"

/* ---- rank and result ------------------------------------------------------------------ */

static axp_severity severity_of(const struct axp__draft *d, double saving_share)
{
    axp_severity by_saving = axp__band_by_saving(saving_share);
    if (!d->op && !d->has_saving) return d->band;
    if (!d->is_bound) return by_saving;
    bool is_capped = d->is_capped || (d->op && d->op->is_doubtful);
    return is_capped && by_saving < d->band ? by_saving : d->band;
}

static int by_rank(const void *a, const void *b)
{
    const axp_finding *x = a, *y = b;
    if (x->severity != y->severity) return x->severity < y->severity ? 1 : -1;
    if (x->saving_ns != y->saving_ns)
        return x->saving_ns < y->saving_ns ? 1 : -1;
    int order = strcmp(x->name, y->name);
    if (!order) order = (int)x->type - (int)y->type;
    return order ? order : axp__view_by_device(x->device, y->device);
}

static axp_finding finish(struct axp__draft *d, axp_ns wall)
{
    static const struct {
        axp_finding_type type;
        const char *name;
    } types[AXP__N_RULES] = {
#define RULE(type, id, name, inputs, least, about, needs) {type, name},
#include "analyze/rules.def"
    };
    double saving = wall ? (double)d->saving_ns / (double)wall : 0;
    return (axp_finding){.type = types[d->rule].type,
                         .type_name = types[d->rule].name,
                         .severity = severity_of(d, saving),
                         .name = d->name,
                         .description = d->description,
                         .suggestion = d->suggestion,
                         .saving_ns = d->saving_ns,
                         .saving_share = saving,
                         .saving_is_bound = d->is_bound,
                         .confidence = d->confidence,
                         .metrics = d->metrics,
                         .n_metrics = d->n_metrics,
                         .file = d->file,
                         .line = d->line,
                         .device = d->device};
}

static bool copy_ignored(axp_findings *f, const axp_thresholds *t)
{
    f->ignored = calloc(t->n_ignore + 1, sizeof *f->ignored);
    if (!f->ignored) return false;
    for (size_t i = 0; i < t->n_ignore; i++) {
        f->ignored[i] = strdup(t->ignore[i]);
        if (!f->ignored[i]) return false;
        f->n_ignored++;
    }
    return true;
}

/* Takes the drafts over, whose names become copies. NULL: no memory. */
static axp_findings *make_findings(struct axp__analysis *a)
{
    axp_findings *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    memcpy(f->threshold, a->threshold, sizeof f->threshold);
    f->roofs = a->roofs;
    a->roofs = NULL;
    f->all = calloc(a->n_drafts + 1, sizeof *f->all);
    bool ok = f->all && copy_ignored(f, &a->given);
    f->drafts = a->drafts;
    f->n = a->n_drafts;
    a->drafts = NULL;
    a->n_drafts = 0;
    for (size_t i = 0; i < f->n; i++) {
        struct axp__draft *d = &f->drafts[i];
        bool is_ops = d->op && !d->has_place;
        if (!d->op && !d->file)
            d->file = axp__view_place(a->v, d->name, &d->line);
        const char *file = is_ops ? d->op->file : d->file;
        const char *device = d->op && !d->device ? d->op->device : d->device;
        if (is_ops) d->line = d->op->line;
        d->name = ok ? strdup(d->name) : NULL;
        d->file = ok && file ? strdup(file) : NULL;
        d->device = ok && device ? strdup(device) : NULL;
        ok = ok && d->name && !d->file == !file && !d->device == !device;
        if (ok) f->all[i] = finish(d, a->v->duration_ns);
        d->op = NULL; /* the view's */
    }
    if (ok && f->n) qsort(f->all, f->n, sizeof *f->all, by_rank);
    if (ok) f->verdict = axp__verdict(a, f);
    if (ok && f->verdict) return f;
    axp_findings_destroy(f);
    return NULL;
}

/* ---- the rules ---------------------------------------------------------------------------- */

static uint64_t count_allocs(const axp_view *v)
{
    uint64_t n = 0;
    for (size_t i = 0; i < v->n_domains; i++)
        n += v->domains[i].memory.n_allocs;
    return n;
}

static unsigned inputs_of(const axp_view *v)
{
    unsigned inputs = v->n_ops || v->n_functions ? AXP__IN_OPS : 0;
    for (size_t i = 0; i < v->n_ops && !(inputs & AXP__IN_WORK); i++)
        if (v->ops[i].n_flops_calls) inputs |= AXP__IN_WORK;
    if (count_allocs(v)) inputs |= AXP__IN_MEMORY;
    if (v->n_threads > 1 && v->capture->has_timeline) inputs |= AXP__IN_WAITS;
    if (axp_view_steps(v).count) inputs |= AXP__IN_STEPS;
    if (v->heap.is_seen) inputs |= AXP__IN_HEAP;
    for (size_t i = 0; i < v->n_tracks; i++)
        if (v->tracks[i].device && v->capture->has_timeline)
            inputs |= AXP__IN_DEVICES;
    if (v->ready_ns && v->capture->n_samples) inputs |= AXP__IN_SCHEDULER;
    return inputs;
}

/* What the recorder touches for the first time, and the files that it opens, take
 * 30 to 200 us of whoever records, in whose own time nobody knows (test_run_story.py);
 * a run that is hardly longer says nothing of the program's times. What others
 * recorded, with no cost that is known, is theirs. */
#define OUR_START_NS 300000u

static bool is_mostly_ours(const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    bool is_known = c->own_cost.around_ticks || c->own_cost.inside_ticks;
    for (size_t i = 0; i < c->n_lanes && !is_known; i++)
        is_known = c->lanes[i].own_cost.around_ticks ||
                   c->lanes[i].own_cost.inside_ticks;
    return is_known && v->duration_ns < OUR_START_NS;
}

/* What is the program's however short it ran: memory, what it declares, and what a
 * device was told to have taken. */
static bool is_sure(enum axp__rule_id rule)
{
    switch (rule) {
    case AXP__RULE_memory_hotspot:
    case AXP__RULE_memory_leak:
    case AXP__RULE_memory_growth:
    case AXP__RULE_allocation_churn:
    case AXP__RULE_peak_pressure:
    case AXP__RULE_temporary_allocations:
    case AXP__RULE_fragmentation:
    case AXP__RULE_implausible_work:
    case AXP__RULE_device_idle: return true;
    default: return false;
    }
}

static void run_rules(struct axp__analysis *a)
{
    unsigned inputs = inputs_of(a->v);
    bool is_ours = is_mostly_ours(a->v);
    uint64_t n = count_allocs(a->v) + a->v->n_sampled + a->v->n_events;
    for (size_t i = 0; i < a->v->n_ops; i++)
        n += a->v->ops[i].calls;
#define RULE(type, id, name, wanted, least, about, needs)                      \
    if ((inputs & (wanted)) == (wanted) && n >= (least) &&                     \
        (!is_ours || is_sure(AXP__RULE_##id)) &&                               \
        !axp__is_ignored(a, AXP__RULE_##id, NULL))                             \
        axp__rule_##id(a);
#include "analyze/rules.def"
}

const struct axp__roof *axp__roof_of(const struct axp__analysis *a,
                                     const axp_op *op)
{
    uintptr_t at = (uintptr_t)op, from = (uintptr_t)a->v->ops;
    size_t i = (at - from) / sizeof *op;
    if (at < from || i >= a->v->n_ops || !a->roofs->at[i].is_known) return NULL;
    return &a->roofs->at[i];
}

double axp__outside_at_most(const axp_view *v, const char *name)
{
    for (size_t i = 0; i < v->n_counters; i++)
        if (v->counters[i].is_outside && !strcmp(v->counters[i].name, name))
            return v->counters[i].max;
    return 0;
}

/* Where something is marked functions say what the scopes above them say, but
 * for those that have none. */
static bool look_at_functions(struct axp__analysis *a)
{
    const axp_view *v = a->v;
    if (!axp__still_find(v, &a->still_ns)) return false;
    if (!axp__crowd_find(v, &a->crowd)) return false;
    if (!v->n_functions || !v->sampled_ns) return true;
    bool is_marked = axp__is_marked(v);
    if (!axp__library_find(v, is_marked, &a->library)) return false;
    if (!is_marked) return axp__kernel_find(v, &a->library, &a->kernel);
    a->outside = axp__outside_functions(v, a->library.is_own, &a->n_outside);
    return a->outside;
}

/* ---- the public calls ------------------------------------------------------------------------ */

axp_status axp__analyze(const axp_view *v, const axp_thresholds *thresholds,
                        axp_findings **out)
{
    struct axp__analysis a = {.v = v};
    axp_findings *f = NULL;
    if (!v) return axp__fail(AXP_E_INVALID, "axp_analyze needs a view");
    axp_status status = axp__thresholds_read(&a, thresholds);
    if (status) return status;
    a.wall = axp__wall_create(v);
    a.roofs =
        axp__roofs_create(v, a.threshold[AXP__T_low_throughput_peak_gflops],
                          a.threshold[AXP__T_low_throughput_peak_gbps]);
    bool ok = axp__step_look_create(v, &a.steps) && a.wall && a.roofs;
    ok = ok && look_at_functions(&a);
    if (ok) {
        run_rules(&a);
        axp__drafts_settle(&a);
    }
    if (ok && !a.has_failed) f = make_findings(&a);
    for (size_t i = 0; i < a.n_drafts; i++) {
        free(a.drafts[i].description);
        free(a.drafts[i].advice);
    }
    free(a.drafts);
    axp__kernel_fini(&a.kernel);
    axp__library_fini(&a.library);
    free(a.outside);
    axp__step_look_destroy(a.steps);
    axp__wall_destroy(a.wall);
    free(a.roofs);
    if (!f) return axp__fail(AXP_E_NO_MEMORY, "no memory for findings");
    *out = f;
    return AXP_OK;
}

axp_findings *axp_analyze(const axp_view *v, const axp_thresholds *thresholds)
{
    axp_findings *f = NULL;
    axp__analyze(v, thresholds, &f);
    return f;
}

size_t axp_findings_count(const axp_findings *f)
{
    return f ? f->n : 0;
}

const axp_finding *axp_findings_at(const axp_findings *f, size_t i)
{
    return f && i < f->n ? &f->all[i] : NULL;
}

const char *axp_findings_verdict(const axp_findings *f)
{
    return f ? f->verdict : NULL;
}

void axp_findings_destroy(axp_findings *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->n && f->drafts; i++) {
        free((char *)f->drafts[i].name);
        free((char *)f->drafts[i].file);
        free((char *)f->drafts[i].device);
        free(f->drafts[i].description);
        free(f->drafts[i].advice);
    }
    for (size_t i = 0; i < f->n_ignored; i++)
        free(f->ignored[i]);
    free(f->verdict);
    free(f->ignored);
    free(f->roofs);
    free(f->drafts);
    free(f->all);
    free(f);
}
