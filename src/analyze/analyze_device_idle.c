/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* DeviceIdle: a device has nothing to do between its first span and its last.
 * docs/rules/device_idle.md
 *
 *   host     ──────asks──────────────asks──
 *   device      ██████ ·····late·····│lag│██████
 *               the gap: until it was asked for, the host's; a short one is what
 *               every launch costs; the rest is the device's or nobody knows
 *
 * Spans of all tracks of a device count together. Which one was asked for when is
 * known by its flow, as far as flows are not older than FLOWS others. */
#include <stdlib.h>

#include "analyze/analyze.h"
#include "base/base_number.h"
#include "model/model_stream.h"

#define FLOWS 65536u
#define MOST_DEVICES 1024u

struct asked {
    uint64_t flow;
    axp_ns at;
};

struct device {
    axp_ns first, end; /* of spans so far */
    uint64_t n;
    double idle_ns, late_ns, short_ns; /* late and short are parts of idle */
};

struct looker {
    struct asked *asked; /* by flow */
    struct device *devices;
    double short_gap_ns;
};

static void add_gap(struct looker *l, struct device *d,
                    const struct axp__record *r)
{
    const struct asked *asked = &l->asked[r->id % FLOWS];
    double gap = (double)(r->time_ns - d->end);
    bool is_known = r->id && asked->flow == r->id && asked->at <= r->time_ns;
    d->idle_ns += gap;
    if (gap < l->short_gap_ns)
        d->short_ns += gap;
    else if (is_known && asked->at > d->end)
        d->late_ns += (double)(asked->at - d->end);
}

static void on_span(struct looker *l, const struct axp__stream_row *row,
                    const struct axp__record *r)
{
    if (!row->device || row->device >= MOST_DEVICES || r->end_ns < r->time_ns)
        return;
    struct device *d = &l->devices[row->device];
    if (!d->n++)
        d->first = d->end = r->time_ns;
    else if (r->time_ns > d->end)
        add_gap(l, d, r);
    if (r->end_ns > d->end) d->end = r->end_ns;
}

static bool look(struct looker *l, const axp_view *v)
{
    struct axp__stream *stream = NULL;
    const struct axp__record *r;
    if (axp__stream_open(v, AXP__STREAM_ONCE, &stream)) return false;
    while ((r = axp__stream_next(stream))) {
        if (r->kind == AXP__R_FLOW_OUT)
            l->asked[r->id % FLOWS] = (struct asked){r->id, r->time_ns};
        else if (r->kind == AXP__R_SPAN)
            on_span(l, axp__stream_row(stream, r->row), r);
    }
    bool ok = !axp__stream_status(stream);
    axp__stream_close(stream);
    return ok;
}

static void advise(struct axp__analysis *a, struct axp__draft *d,
                   const struct device *of)
{
    char most[32];
    double rest = of->idle_ns - of->late_ns - of->short_ns;
    if (of->late_ns >= of->short_ns && of->late_ns >= rest)
        axp__draft_advise(
            a, d,
            "ask for the next work before %s has done the last: the host came "
            "%s too late, so do less between, or prepare it on another thread",
            axp__spoken(d->name, "the device"),
            axp_format_ns(most, sizeof most, axp__whole(of->late_ns)));
    else if (of->short_ns >= rest)
        axp__draft_advise(
            a, d,
            "ask for fewer and larger pieces: %s is in short gaps "
            "between %llu spans, what every launch costs",
            axp_format_ns(most, sizeof most, axp__whole(of->short_ns)),
            (unsigned long long)of->n);
    else
        axp__draft_advise(
            a, d,
            "see in the timeline what %s waits for: of %s it is "
            "not known, for no flow says when the spans after the "
            "gaps were asked for, or they were asked for before",
            axp__spoken(d->name, "the device"),
            axp_format_ns(most, sizeof most, axp__whole(rest)));
}

static void add(struct axp__analysis *a, const char *name,
                const struct device *of)
{
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_device_idle, name);
    double active = (double)(of->end - of->first);
    char idle[32], part[32], late[32], gaps[32];
    if (!d) return;
    d->has_saving = d->is_bound = d->is_capped = true;
    d->band = AXP_HIGH;
    d->saving_ns = axp__whole(of->idle_ns);
    d->confidence = 0.5;
    axp__draft_say(
        a, d,
        "has nothing to do for %s, %s %% of the time between its first and its "
        "last span: %s until the host asks, %s in short gaps",
        axp_format_ns(idle, sizeof idle, axp__whole(of->idle_ns)),
        axp__fixed(part, sizeof part, 100 * of->idle_ns / active, 1),
        axp_format_ns(late, sizeof late, axp__whole(of->late_ns)),
        axp_format_ns(gaps, sizeof gaps, axp__whole(of->short_ns)));
    advise(a, d, of);
    axp__draft_metric(d, "idle_percentage", 100 * of->idle_ns / active);
    axp__draft_metric(d, "host_late_ms", of->late_ns / 1e6);
    axp__draft_metric(d, "short_gaps_ms", of->short_ns / 1e6);
    axp__draft_metric(d, "spans", (double)of->n);
}

void axp__rule_device_idle(struct axp__analysis *a)
{
    const double *t = a->threshold;
    struct looker l = {.asked = calloc(FLOWS, sizeof *l.asked),
                       .devices = calloc(MOST_DEVICES, sizeof *l.devices),
                       .short_gap_ns =
                           1e3 * t[AXP__T_device_idle_short_gap_us]};
    bool ok = l.asked && l.devices && look(&l, a->v);
    for (uint32_t i = 1; ok && i < MOST_DEVICES; i++) {
        const struct device *d = &l.devices[i];
        const char *name = axp__cap_device(a->v->capture, i);
        double active = (double)(d->end - d->first);
        if (name && (double)d->n >= t[AXP__T_device_idle_spans] &&
            d->idle_ns > 0 &&
            100 * d->idle_ns >= t[AXP__T_device_idle_percent] * active)
            add(a, name, d);
    }
    if (!ok) a->has_failed = true;
    free(l.asked);
    free(l.devices);
}
