/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LaunchBound: asking a device for work takes longer than the work.
 * docs/rules/launch_bound.md
 *
 *   host     [launch]──────[launch]──────      a scope that asks for one span,
 *               └─flow──┐     └─flow──┐        and in which no other is
 *   device              ██            ██       the span that it asked for
 *
 * Either end of a flow may come first: the span may begin before the launch has
 * returned. Flows are known as long as no other has their place in the table. */
#include <stdlib.h>

#include "analyze/analyze.h"
#include "base/base_number.h"
#include "graph/graph_gain.h"
#include "model/model_stream.h"

#define FLOWS 65536u
#define MOST_DEVICES 1024u
#define NO_NAME UINT32_MAX

struct launch { /* a flow, as far as it is known */
    uint64_t flow;
    axp_ns launch_ns, span_ns;
    uint32_t by, span, device; /* names, and the device's number */
    bool has_launch, has_span;
};

struct asker { /* a row: the scope in which it asked last */
    axp_ns begin_ns;
    uint64_t flow; /* 0: it has asked for nothing, or is no launch */
    uint32_t name;
    axp_ns last_end_ns; /* of any scope */
};

struct device {
    axp_ns end; /* of spans so far; 0: none */
    double idle_ns;
    uint64_t n, n_short;
    double short_launch_ns, short_span_ns;
    uint32_t name, by; /* of the most time in short launches */
};

struct looker {
    const axp_view *v;
    struct launch *launches; /* by flow */
    struct device *devices;
    struct asker *askers; /* by row */
    size_t n_askers;
    /* By name, of short launches: of what was launched, and by whom. */
    double *of_ns, *by_ns;
    bool has_failed;
};

/* ---- launches and what they ask for ------------------------------------------------------ */

static void keep_most(uint32_t *most, const double *ns, uint32_t name)
{
    if (*most == NO_NAME || ns[name] > ns[*most]) *most = name;
}

static void account(struct looker *l, struct launch *x)
{
    uint32_t n_names = l->v->capture->n_names;
    struct device *d = &l->devices[x->device];
    if (!x->has_launch || !x->has_span) return;
    x->flow = 0; /* once */
    d->n++;
    if (x->span_ns >= x->launch_ns || x->by >= n_names || x->span >= n_names)
        return;
    if (!d->n_short++) d->name = d->by = NO_NAME;
    d->short_launch_ns += (double)x->launch_ns;
    d->short_span_ns += (double)x->span_ns;
    l->of_ns[x->span] += (double)x->launch_ns;
    l->by_ns[x->by] += (double)x->launch_ns;
    keep_most(&d->name, l->of_ns, x->span);
    keep_most(&d->by, l->by_ns, x->by);
}

static struct launch *launch_of(struct looker *l, uint64_t flow)
{
    struct launch *x = &l->launches[flow % FLOWS];
    if (x->flow != flow) *x = (struct launch){.flow = flow};
    return x;
}

static struct asker *asker_of(struct looker *l, uint32_t row)
{
    if (row >= l->n_askers) {
        size_t n = 2 * (size_t)row + 16;
        struct asker *wider = realloc(l->askers, n * sizeof *wider);
        l->has_failed = !wider;
        if (!wider) return NULL;
        memset(wider + l->n_askers, 0, (n - l->n_askers) * sizeof *wider);
        l->askers = wider;
        l->n_askers = n;
    }
    return &l->askers[row];
}

/* A scope that asks twice, or has others in it, is no launch. */
static void on_ask(struct asker *a, const struct axp__stream *stream,
                   uint64_t flow)
{
    size_t n;
    const struct axp__scope *open = axp__stream_scopes(stream, &n);
    while (n && open[n - 1].name == AXP__SCOPE_GONE)
        n--;
    bool is_again =
        n && a->begin_ns == open[n - 1].begin_ns && a->name == open[n - 1].name;
    a->flow = 0;
    if (!n || is_again || a->last_end_ns > open[n - 1].begin_ns) return;
    a->begin_ns = open[n - 1].begin_ns;
    a->name = open[n - 1].name;
    a->flow = flow;
}

static void on_end(struct looker *l, struct asker *a,
                   const struct axp__record *r)
{
    bool is_it = a->flow && a->begin_ns == r->begin_ns && a->name == r->name;
    a->last_end_ns = r->time_ns;
    if (!is_it) return;
    struct launch *x = launch_of(l, a->flow);
    x->launch_ns = r->time_ns - r->begin_ns;
    x->by = r->name;
    x->has_launch = true;
    a->flow = 0;
    account(l, x);
}

static void on_span(struct looker *l, uint32_t device,
                    const struct axp__record *r)
{
    if (!device || device >= MOST_DEVICES || r->end_ns < r->time_ns) return;
    struct device *d = &l->devices[device];
    if (d->end && r->time_ns > d->end)
        d->idle_ns += (double)(r->time_ns - d->end);
    if (r->end_ns > d->end) d->end = r->end_ns;
    if (!r->id || r->category == AXP_CAT_COPY || r->category == AXP_CAT_COMM)
        return;
    struct launch *x = launch_of(l, r->id);
    x->span_ns = r->end_ns - r->time_ns;
    x->span = r->name;
    x->device = device;
    x->has_span = true;
    account(l, x);
}

static bool look(struct looker *l)
{
    struct axp__stream *stream = NULL;
    const struct axp__record *r;
    if (axp__stream_open(l->v, AXP__STREAM_ONCE, &stream)) return false;
    while (!l->has_failed && (r = axp__stream_next(stream))) {
        struct asker *a = NULL;
        if (r->kind == AXP__R_SPAN)
            on_span(l, axp__stream_row(stream, r->row)->device, r);
        else if (r->kind <= AXP__R_END || r->kind == AXP__R_FLOW_OUT)
            a = asker_of(l, r->row);
        if (!a) continue;
        if (r->kind == AXP__R_FLOW_OUT)
            on_ask(a, stream, r->id);
        else if (r->kind == AXP__R_END)
            on_end(l, a, r);
        else
            a->flow = 0; /* another scope within */
    }
    bool ok = !l->has_failed && !axp__stream_status(stream);
    axp__stream_close(stream);
    return ok;
}

/* ---- what is said of it -------------------------------------------------------------------- */

static const axp_op *op_of(const axp_view *v, uint32_t name)
{
    const char *text = axp__view_name(v, axp__view_op_of(v, name));
    for (size_t i = 0; i < v->n_ops; i++)
        if (!v->ops[i].device && !v->ops[i].is_wait &&
            !strcmp(v->ops[i].name, text))
            return &v->ops[i];
    return NULL;
}

/* What is regained at most: launches that take no time leave the device busy. */
static void set_saving(struct axp__analysis *a, struct axp__draft *d,
                       const struct looker *l, const struct device *of)
{
    double most = of->short_launch_ns;
    if (of->idle_ns < most) most = of->idle_ns;
    d->has_saving = d->is_bound = d->is_capped = true;
    d->saving_ns = axp__whole(most);
    if (!d->op || !d->op->self_ns) return;
    double part = l->by_ns[of->by] / (double)d->op->self_ns;
    axp_ns gain = d->saving_ns;
    if (!axp__graph_gain(a->v, d->op, part < 1 ? 1 - part : 0, &gain))
        a->has_failed = true;
    if (gain < d->saving_ns) d->saving_ns = gain;
}

static void describe(struct axp__analysis *a, struct axp__draft *d,
                     const struct device *of)
{
    char launch[32], span[32], all[32], share[32];
    double n = (double)of->n_short;
    double part = 100 * of->short_launch_ns / (double)a->v->duration_ns;
    axp_format_ns(launch, sizeof launch, axp__whole(of->short_launch_ns / n));
    axp_format_ns(span, sizeof span, axp__whole(of->short_span_ns / n));
    axp_format_ns(all, sizeof all, axp__whole(of->short_launch_ns));
    axp__draft_say(
        a, d,
        "%llu of %llu spans of %s took less than asking for them: %s, and %s to "
        "launch; these launches are %s, %s %% of the run, most of them for this",
        (unsigned long long)of->n_short, (unsigned long long)of->n,
        axp__spoken(d->device, "the device"), span, launch, all,
        axp__fixed(share, sizeof share, part, 1));
    axp__draft_advise(
        a, d,
        "do more with a launch of %s: fuse it with what comes before and after, "
        "take larger batches, or record the launches of a step once and replay "
        "them as a graph: each costs %s for %s of work",
        axp__spoken(d->name, "this"), launch, span);
    axp__draft_metric(d, "launch_percentage", part);
    axp__draft_metric(d, "short_spans", n);
    axp__draft_metric(d, "spans", (double)of->n);
    axp__draft_metric(d, "launch_us", of->short_launch_ns / n / 1e3);
    axp__draft_metric(d, "span_us", of->short_span_ns / n / 1e3);
}

static void add(struct axp__analysis *a, const struct looker *l,
                const struct device *of, const char *device)
{
    const double *t = a->threshold;
    double part = 100 * of->short_launch_ns / (double)a->v->duration_ns;
    const char *name = axp__view_name(a->v, axp__view_op_of(a->v, of->name));
    if ((double)of->n < t[AXP__T_launch_bound_spans] || !of->n_short ||
        part < t[AXP__T_launch_bound_wall_percent])
        return;
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_launch_bound, name);
    if (!d) return;
    d->device = device;
    d->op = op_of(a->v, of->by);
    d->specificity = 6;
    d->band =
        part < t[AXP__T_launch_bound_high_percent] ? AXP_MEDIUM : AXP_HIGH;
    d->confidence = 0.6;
    set_saving(a, d, l, of);
    describe(a, d, of);
}

void axp__rule_launch_bound(struct axp__analysis *a)
{
    size_t n_names = a->v->capture->n_names + (size_t)1;
    struct looker l = {.v = a->v,
                       .launches = calloc(FLOWS, sizeof *l.launches),
                       .devices = calloc(MOST_DEVICES, sizeof *l.devices),
                       .of_ns = calloc(n_names, sizeof *l.of_ns),
                       .by_ns = calloc(n_names, sizeof *l.by_ns)};
    bool ok = l.launches && l.devices && l.of_ns && l.by_ns && look(&l);
    for (uint32_t i = 1; ok && i < MOST_DEVICES; i++) {
        const char *name = axp__cap_device(a->v->capture, i);
        if (name && l.devices[i].n) add(a, &l, &l.devices[i], name);
    }
    if (!ok) a->has_failed = true;
    free(l.launches);
    free(l.devices);
    free(l.askers);
    free(l.of_ns);
    free(l.by_ns);
}
