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
static bool is_small(const struct axp__analysis *a, uint64_t bytes)
{
    double memory = (double)a->v->capture->about.memory_bytes;
    double part = a->threshold[AXP__T_memory_hotspot_machine_percent] / 100;
    return (double)bytes < part * memory && (double)bytes < SMALL_BYTES;
}

void axp__rule_memory_hotspot(struct axp__analysis *a)
{
    static const double steps[3] = {45, 60, 0};
    const axp_view *v = a->v;
    double peak = (double)v->memory.peak_bytes;
    char held[32], all[32], part[32];
    for (size_t i = 0; i < v->n_memory_names && peak > 0; i++) {
        const axp_memory_name *m = &v->memory_names[i];
        double percent = 100 * (double)m->at_peak_bytes / peak;
        if (percent < a->threshold[AXP__T_memory_hotspot_percent])
            return; /* and those after it hold less */
        struct axp__draft *d =
            axp__draft_add(a, AXP__RULE_memory_hotspot, m->name);
        if (!d) continue;
        d->band = axp__band(percent, steps);
        if (is_small(a, m->at_peak_bytes)) d->band = AXP_LOW;
        d->confidence = 1;
        d->suggestion = suggestion_for(m->kind);
        axp__draft_say(a, d, "holds %s %% of the memory at its peak: %s of %s",
                       axp__fixed(part, sizeof part, percent, 1),
                       axp_format_bytes(held, sizeof held, m->at_peak_bytes),
                       axp_format_bytes(all, sizeof all, v->memory.peak_bytes));
        axp__draft_metric(d, "memory_percentage", percent);
        axp__draft_metric(d, "memory_bytes", (double)m->at_peak_bytes);
    }
}
