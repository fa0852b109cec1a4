/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* MemoryHotspot: a name that holds much of the memory at the moment of its
 * peak. docs/rules/memory_hotspot.md */
#include "analyze/analyze.h"
#include "base/base_number.h"

static const char *suggestion_for(axp_mem kind)
{
    switch (kind) {
    case AXP_MEM_WEIGHT: return "hold it in a smaller type, share or shard it";
    case AXP_MEM_GRADIENT:
        return "free gradients as they are applied, accumulate in place, or "
               "use a smaller type";
    case AXP_MEM_OPTIMIZER:
        return "use an optimizer with less state, or a smaller type for it, "
               "or shard it";
    case AXP_MEM_ACTIVATION:
        return "recompute it in the backward pass (checkpointing), or use "
               "smaller batches";
    case AXP_MEM_INPUT:
        return "load it in smaller batches, or map it from the file";
    case AXP_MEM_CACHE: return "bound the cache";
    default:
        return "work in place, reuse buffers, use smaller batches or a "
               "smaller type";
    }
}

#define SMALL_BYTES (256.0 * 1024 * 1024) /* on any machine */

/* What fits many times into the machine is no trouble, however large a part of
 * the program's memory it is. */
static bool is_small(const struct axp__analysis *a, const axp_memory_name *m)
{
    double memory = (double)a->v->capture->about.memory_bytes;
    double part = a->threshold[AXP__T_memory_hotspot_machine_percent] / 100;
    double bytes = (double)m->at_peak_bytes;
    bool is_part = bytes < part * memory || m->device; /* whose is not known */
    return is_part && bytes < SMALL_BYTES;
}

static void add(struct axp__analysis *a, const axp_memory_name *m,
                uint64_t peak_bytes)
{
    static const double steps[3] = {45, 60, 0};
    char held[32], all[32], part[32];
    double percent = 100 * (double)m->at_peak_bytes / (double)peak_bytes;
    if (percent < a->threshold[AXP__T_memory_hotspot_percent]) return;
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_memory_hotspot, m->name);
    if (!d) return;
    d->device = m->device;
    d->band = axp__band(percent, steps);
    if (is_small(a, m)) d->band = AXP_LOW;
    d->confidence = 1;
    d->suggestion = suggestion_for(m->kind);
    axp__draft_say(a, d, "holds %s %% of the memory at its peak: %s of %s",
                   axp__fixed(part, sizeof part, percent, 1),
                   axp_format_bytes(held, sizeof held, m->at_peak_bytes),
                   axp_format_bytes(all, sizeof all, peak_bytes));
    axp__draft_metric(d, "memory_percentage", percent);
    axp__draft_metric(d, "memory_bytes", (double)m->at_peak_bytes);
}

/* Each domain, host and devices, has a peak of its own. */
void axp__rule_memory_hotspot(struct axp__analysis *a)
{
    const axp_view *v = a->v;
    for (size_t k = 0; k < v->n_domains; k++) {
        const axp_memory_domain *of = &v->domains[k];
        for (size_t i = 0; i < v->n_memory_names && of->memory.peak_bytes; i++)
            if (!axp__view_by_device(v->memory_names[i].device, of->device))
                add(a, &v->memory_names[i], of->memory.peak_bytes);
    }
}
