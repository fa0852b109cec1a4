/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Drafts: what rules have to say, as they say it; see analyze.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/base_number.h"
#include "record/record_name.h"

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

axp_severity axp__band_by_saving(double share)
{
    static const double steps[3] = {0.05, 0.15, 0.35};
    return axp__band(share, steps);
}
