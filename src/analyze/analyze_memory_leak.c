/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MemoryLeak: memory that was not freed. docs/rules/memory_leak.md
 *
 * One finding, about the name that holds most of it: small leaks of many names
 * are one leak together. The host and each device are looked at apart. With steps, what was there before the first one and
 * did not grow is retained (weights, optimizer state) and does not count.
 *
 * How bad it is follows the part of what was allocated, and no more than the part
 * of the program's memory that it takes, or will have taken after as many steps
 * as a long run has: all of 100 bytes is nothing. */
#include <math.h>

#include "analyze/analyze.h"
#include "base/base_number.h"

#define SMALL_BYTES 1e6   /* on any machine */
#define MORE_STEPS 1000.0 /* as MemoryGrowth looks ahead */

struct leaked {
    uint64_t bytes, retained;
    size_t n_names;
    const axp_leak *largest;
};

static struct leaked add_up(const struct axp__analysis *a, const char *device)
{
    struct leaked l = {0};
    for (size_t i = 0; i < a->v->n_leaks; i++) {
        const axp_leak *leak = &a->v->leaks[i];
        if (axp__view_by_device(leak->device, device)) continue;
        if (leak->is_retained) {
            l.retained += leak->bytes;
        } else if (!axp__is_ignored(a, AXP__RULE_memory_leak, leak->name)) {
            l.bytes += leak->bytes;
            l.n_names++;
            if (!l.largest) l.largest = leak; /* they come largest first */
        }
    }
    return l;
}

static void describe(struct axp__analysis *a, struct axp__draft *d,
                     const struct leaked *l, double percent)
{
    char all[32], one[32], part[32];
    axp__fixed(part, sizeof part, percent, 1);
    axp_format_bytes(all, sizeof all, l->bytes);
    axp_format_bytes(one, sizeof one, l->largest->bytes);
    if (l->n_names == 1)
        axp__draft_say(a, d, "%s not freed, %s %% of what was allocated", all,
                       part);
    else
        axp__draft_say(a, d,
                       "%s not freed by %zu names, %s %% of what was "
                       "allocated; this one holds %s",
                       all, l->n_names, part, one);
    if (l->retained)
        axp__draft_say(a, d,
                       "%s held since before the first step is not counted",
                       axp_format_bytes(one, sizeof one, l->retained));
}

/* The most that is known to have been in use at once. */
static double peak_of(const axp_view *v, const axp_memory_domain *of)
{
    double peak = (double)of->memory.peak_bytes;
    if (of->device) return peak; /* the others are the host's */
    peak = fmax(peak, (double)v->heap.peak_bytes);
    return fmax(peak, axp__outside_at_most(v, "process.rss_bytes"));
}

static axp_severity band_of(const axp_view *v, const axp_memory_domain *of,
                            double bytes, double percent)
{
    static const double steps[3] = {10, 25, 50};
    double n_steps = (double)v->steps.count, peak = peak_of(v, of);
    if (n_steps > 0) bytes += MORE_STEPS * bytes / n_steps;
    if (bytes < SMALL_BYTES) return AXP_LOW;
    if (peak > 0) percent = fmin(percent, 100 * bytes / peak);
    return axp__band(percent, steps);
}

static void look_at(struct axp__analysis *a, const axp_memory_domain *of)
{
    double allocated = (double)of->memory.total_allocated;
    struct leaked l = add_up(a, of->device);
    double percent = allocated > 0 ? 100 * (double)l.bytes / allocated : 0;
    if (!l.bytes || percent <= a->threshold[AXP__T_memory_leak_percent]) return;
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_memory_leak, l.largest->name);
    if (!d) return;
    d->device = of->device;
    d->band = band_of(a->v, of, (double)l.bytes, percent);
    d->confidence = a->v->steps.count ? 0.9 : 0.6;
    d->suggestion = "free it where it is last used, or allocate it once and "
                    "use it again; what is kept on purpose should be there "
                    "before the first axp_step";
    describe(a, d, &l, percent);
    axp__draft_metric(d, "leak_percentage", percent);
    axp__draft_metric(d, "leaked_bytes", (double)l.bytes);
}

void axp__rule_memory_leak(struct axp__analysis *a)
{
    for (size_t i = 0; i < a->v->n_domains; i++)
        look_at(a, &a->v->domains[i]);
}
