/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MemoryLeak: memory that was not freed. docs/rules/memory_leak.md
 *
 * One finding, about the name that holds most of it: small leaks of many names
 * are one leak together. The host and each device are looked at apart. With steps, what was there before the first one and
 * did not grow is retained (weights, optimizer state) and does not count. */
#include "analyze/analyze.h"
#include "base/base_number.h"

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

static void look_at(struct axp__analysis *a, const axp_memory_domain *of)
{
    static const double steps[3] = {10, 25, 50};
    double allocated = (double)of->memory.total_allocated;
    struct leaked l = add_up(a, of->device);
    double percent = allocated > 0 ? 100 * (double)l.bytes / allocated : 0;
    if (!l.bytes || percent <= a->threshold[AXP__T_memory_leak_percent]) return;
    struct axp__draft *d =
        axp__draft_add(a, AXP__RULE_memory_leak, l.largest->name);
    if (!d) return;
    d->device = of->device;
    d->band = axp__band(percent, steps);
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
