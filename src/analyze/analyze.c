/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What holds for all findings; see analyze.h. */
#include "analyze/analyze.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze_steps.h"
#include "analyze/analyze_verdict.h"
#include "analyze/analyze_wall.h"
#include "base/base_number.h"
#include "graph/graph_gain.h"
#include "record/record_name.h"
#include "record/record_thread.h"

/* ---- drafts ------------------------------------------------------------------- */

struct axp__draft *axp__draft_add(struct axp__analysis *a,
                                  enum axp__rule_id rule, const char *name)
{
    if (axp__is_ignored(a, rule, name)) return NULL;
    /* "(other)" itself is nobody's; a warning tells */
    if (name == axp__view_name(a->v, AXP__NAME_OTHER)) return NULL;
    if (a->n_drafts == a->cap) {
        size_t cap = a->cap ? 2 * a->cap : 16;
        struct axp__draft *wider = realloc(a->drafts, cap * sizeof *wider);
        if (!wider) {
            a->has_failed = true;
            return NULL;
        }
        a->drafts = wider;
        a->cap = cap;
    }
    struct axp__draft *d = &a->drafts[a->n_drafts++];
    *d = (struct axp__draft){.rule = rule, .name = name};
    return d;
}

void axp__draft_metric(struct axp__draft *d, const char *key, double value)
{
    for (size_t i = 0; i < d->n_metrics; i++)
        if (!strcmp(d->metrics[i].key, key)) return;
    if (d->n_metrics < AXP__MAX_METRICS)
        d->metrics[d->n_metrics++] = (axp_metric){key, value};
}

void axp__draft_say(struct axp__analysis *a, struct axp__draft *d,
                    const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t len = d->description ? strlen(d->description) : 0;
    size_t size = len + 2 + strlen(text) + 1;
    char *longer = realloc(d->description, size);
    if (!longer) {
        a->has_failed = true;
        return;
    }
    if (len) len = axp__append(longer, size, len, "; ");
    axp__append(longer, size, len, text);
    d->description = longer;
}

void axp__draft_advise(struct axp__analysis *a, struct axp__draft *d,
                       const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    free(d->advice);
    d->suggestion = d->advice = strdup(text);
    if (!d->advice) a->has_failed = true;
}

const char *axp__spoken(const char *name, const char *otherwise)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _.:-/";
    size_t len = name ? strspn(name, plain) : 0;
    return len && !name[len] && len <= 60 ? name : otherwise;
}

bool axp__is_marked(const axp_view *v)
{
    for (size_t i = 0; i < v->n_ops; i++)
        if (!v->ops[i].is_wait) return true;
    return false;
}

axp_severity axp__band(double value, const double steps[3])
{
    int band = AXP_LOW;
    while (band < AXP_CRITICAL && steps[band] > 0 && value >= steps[band])
        band++;
    return (axp_severity)band;
}

/* ---- one cause, one finding ------------------------------------------------------ */

/* Drafts about one op next to each other, the one that speaks first. */
static int by_op(const void *a, const void *b)
{
    const struct axp__draft *x = a, *y = b;
    if (x->op != y->op) return (uintptr_t)x->op > (uintptr_t)y->op ? 1 : -1;
    if (x->specificity != y->specificity)
        return x->specificity < y->specificity ? 1 : -1;
    return (x->rule > y->rule) - (x->rule < y->rule);
}

static void add_evidence(struct axp__analysis *a, struct axp__draft *to,
                         struct axp__draft *from)
{
    for (size_t i = 0; i < from->n_metrics; i++)
        axp__draft_metric(to, from->metrics[i].key, from->metrics[i].value);
    if (from->description) axp__draft_say(a, to, "%s", from->description);
    free(from->description);
    free(from->advice);
    from->description = from->advice = NULL;
}

/* Rules that say why somebody waits. */
static bool names_cause(const struct axp__draft *d)
{
    switch (d->rule) {
    case AXP__RULE_load_imbalance:
    case AXP__RULE_lock_contention:
    case AXP__RULE_serial_phase:
    case AXP__RULE_input_bound:
    case AXP__RULE_comm_bound:
    case AXP__RULE_copy_bound: return true;
    default: return false;
    }
}

/* Waits of which it is not known what they are for are what others name. */
static void drop_last(struct axp__analysis *a)
{
    bool has_cause = false;
    for (size_t i = 0; i < a->n_drafts; i++)
        has_cause |= names_cause(&a->drafts[i]);
    for (size_t i = 0; i < a->n_drafts; i++)
        a->drafts[i].is_gone = has_cause && a->drafts[i].is_last;
}

/* Why a device is idle: what its launches take is LaunchBound's. */
static void explain_idle(struct axp__analysis *a)
{
    for (size_t i = 0; i < a->n_drafts; i++) {
        struct axp__draft *why = &a->drafts[i];
        if (why->rule != AXP__RULE_launch_bound) continue;
        for (size_t k = 0; k < a->n_drafts; k++) {
            struct axp__draft *idle = &a->drafts[k];
            if (idle->rule != AXP__RULE_device_idle ||
                idle->name != why->device || idle->is_gone)
                continue;
            add_evidence(a, why, idle);
            idle->is_gone = true;
        }
    }
}

static void drop_gone(struct axp__analysis *a)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->n_drafts; i++) {
        if (a->drafts[i].is_gone) {
            free(a->drafts[i].description);
            free(a->drafts[i].advice);
        } else if (kept++ != i) { /* a copy onto itself is not defined */
            a->drafts[kept - 1] = a->drafts[i];
        }
    }
    a->n_drafts = kept;
}

static void group(struct axp__analysis *a)
{
    size_t kept = 0;
    if (!a->n_drafts) return;
    qsort(a->drafts, a->n_drafts, sizeof *a->drafts, by_op);
    for (size_t i = 0; i < a->n_drafts; i++) {
        struct axp__draft *d = &a->drafts[i];
        struct axp__draft *last = kept ? &a->drafts[kept - 1] : NULL;
        if (d->op && last && last->op == d->op)
            add_evidence(a, last, d);
        else if (kept++ != i) /* a copy onto itself is not defined */
            a->drafts[kept - 1] = *d;
    }
    a->n_drafts = kept;
}

/* ---- savings ----------------------------------------------------------------------- */

/* At no time can more be regained than there is: where the drafts want more of
 * a slice of the wall time, each gets its part. */
static void share(struct axp__analysis *a)
{
    double part[AXP__WALL_SLICES], wanted[AXP__WALL_SLICES] = {0};
    double slice = (double)a->v->duration_ns / AXP__WALL_SLICES;
    for (size_t i = 0; i < a->n_drafts; i++) {
        if (!a->drafts[i].op || a->drafts[i].has_saving) continue;
        axp__wall_spread(a->wall, a->drafts[i].op, part);
        for (int k = 0; k < AXP__WALL_SLICES; k++)
            wanted[k] += part[k] * a->drafts[i].fraction;
    }
    for (size_t i = 0; i < a->n_drafts; i++) {
        struct axp__draft *d = &a->drafts[i];
        double sum = 0;
        if (!d->op || d->has_saving) continue;
        axp__wall_spread(a->wall, d->op, part);
        for (int k = 0; k < AXP__WALL_SLICES; k++)
            sum += part[k] / (wanted[k] > 1 ? wanted[k] : 1);
        d->saving_ns = axp__whole(sum * d->fraction * slice);
        if (d->saving_ns > d->op->self_ns) d->saving_ns = d->op->self_ns;
    }
}

#define MOST_REPLAYS 32u

/* Where it is known who waited for whom, a replay knows better: time that is
 * hidden behind another thread regains nothing. Single gains do not add up to
 * more than the run: each is part of what its path consists of. */
static void replay(struct axp__analysis *a)
{
    unsigned n = 0;
    for (size_t i = 0; i < a->n_drafts && n < MOST_REPLAYS; i++) {
        struct axp__draft *d = &a->drafts[i];
        if (!d->op || d->has_saving || !d->saving_ns) continue;
        n++;
        if (!axp__graph_gain(a->v, d->op, 1 - d->fraction, &d->saving_ns))
            a->has_failed = true;
    }
}

static int by_saving(const void *a, const void *b)
{
    const struct axp__draft *x = a, *y = b;
    bool all_x = x->is_bound && !x->has_saving;
    bool all_y = y->is_bound && !y->has_saving;
    if (all_x != all_y) return all_x ? 1 : -1;
    if (x->saving_ns != y->saving_ns)
        return x->saving_ns < y->saving_ns ? 1 : -1;
    int order = strcmp(x->name, y->name);
    return order ? order : (int)x->rule - (int)y->rule;
}

/* Some are about the same time though no operation says so: those that save less
 * have what is left of the run, and last those that know no better than all of
 * an operation's time. */
static void limit(struct axp__analysis *a)
{
    axp_ns left = a->v->duration_ns;
    if (a->n_drafts)
        qsort(a->drafts, a->n_drafts, sizeof *a->drafts, by_saving);
    for (size_t i = 0; i < a->n_drafts; i++) {
        struct axp__draft *d = &a->drafts[i];
        if (d->saving_ns > left) d->saving_ns = left;
        left -= d->saving_ns;
    }
}

static axp_severity severity_of(const struct axp__draft *d, double saving_share)
{
    static const double steps[3] = {0.05, 0.15, 0.35};
    axp_severity by_saving = axp__band(saving_share, steps);
    if (!d->op && !d->has_saving) return d->band;
    if (!d->is_bound) return by_saving;
    return d->is_capped && by_saving < d->band ? by_saving : d->band;
}

/* ---- rank and result ------------------------------------------------------------------ */

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
        const char *file = d->op ? d->op->file : d->file;
        const char *device = d->op && !d->device ? d->op->device : d->device;
        if (d->op) d->line = d->op->line;
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

static void run_rules(struct axp__analysis *a)
{
    unsigned inputs = inputs_of(a->v);
    uint64_t n = count_allocs(a->v) + a->v->n_sampled + a->v->n_events;
    for (size_t i = 0; i < a->v->n_ops; i++)
        n += a->v->ops[i].calls;
#define RULE(type, id, name, wanted, least, about, needs)                      \
    if ((inputs & (wanted)) == (wanted) && n >= (least) &&                     \
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
    if (ok) {
        run_rules(&a);
        drop_last(&a);
        explain_idle(&a);
        drop_gone(&a);
        group(&a);
        share(&a);
        replay(&a);
        limit(&a);
    }
    if (ok && !a.has_failed) f = make_findings(&a);
    for (size_t i = 0; i < a.n_drafts; i++) {
        free(a.drafts[i].description);
        free(a.drafts[i].advice);
    }
    free(a.drafts);
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
