/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory: totals by domain, names with what each held at its domain's peak, what
 * is unfreed. */
#include <stdlib.h>
#include <string.h>

#include "model/model_view.h"

static int by_name_id(const void *a, const void *b)
{
    const struct axp__cap_traffic *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

/* The threads' traffic, one record a name, sorted by name; malloc. */
static struct axp__cap_traffic *all_traffic(const struct axp__capture *c,
                                            size_t *count)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        n += c->lanes[i].n_traffic;
    struct axp__cap_traffic *all = malloc((n + 1) * sizeof *all);
    if (!all) return NULL;
    n = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 0; k < c->lanes[i].n_traffic; k++)
            all[n++] = c->lanes[i].traffic[k];
    qsort(all, n, sizeof *all, by_name_id);
    for (size_t i = 0; i < n; i++) {
        if (kept && all[kept - 1].name == all[i].name) {
            all[kept - 1].n_allocs += all[i].n_allocs;
            all[kept - 1].n_frees += all[i].n_frees;
            all[kept - 1].allocated_bytes += all[i].allocated_bytes;
            all[kept - 1].freed_bytes += all[i].freed_bytes;
        } else {
            all[kept++] = all[i];
        }
    }
    *count = kept;
    return all;
}

static int by_at_peak(const void *a, const void *b)
{
    const axp_memory_name *x = a, *y = b;
    if (x->at_peak_bytes != y->at_peak_bytes)
        return x->at_peak_bytes < y->at_peak_bytes ? 1 : -1;
    if (x->peak_bytes != y->peak_bytes)
        return x->peak_bytes < y->peak_bytes ? 1 : -1;
    int order = strcmp(x->name, y->name);
    return order ? order : axp__view_by_device(x->device, y->device);
}

static int by_bytes(const void *a, const void *b)
{
    const axp_leak *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    int order = strcmp(x->name, y->name);
    return order ? order : axp__view_by_device(x->device, y->device);
}

static void add_leak(axp_view *v, const struct axp__cap_live *live,
                     const struct axp__cap_traffic *t)
{
    const struct axp__cap_row *row = axp__view_row(v, live->since_row);
    v->leaks[v->n_leaks++] = (axp_leak){
        .name = axp__view_name(v, live->name),
        .device = axp__view_device(v, live->name),
        .bytes = live->current_bytes,
        .at = axp__view_time(v, live->since_ticks),
        .thread_id = row ? row->tid : 0,
        .is_retained = v->capture->n_steps && live->first_step_bytes &&
                       live->current_bytes <= live->first_step_bytes,
        .n_blocks = t->n_allocs > t->n_frees ? t->n_allocs - t->n_frees : 1,
    };
}

/* ---- domains ------------------------------------------------------------------- */

static int by_device(const void *a, const void *b)
{
    const axp_memory_domain *x = a, *y = b;
    return axp__view_by_device(x->device, y->device);
}

static axp_memory_domain make_domain(const axp_view *v,
                                     const struct axp__cap_domain *d)
{
    return (axp_memory_domain){
        .device = axp__cap_device(v->capture, d->device),
        .memory = {.current_bytes = d->current_bytes,
                   .peak_bytes = d->peak_bytes,
                   .peak_at =
                       d->peak_bytes ? axp__view_time(v, d->peak_ticks) : 0}};
}

/* The host's, and those of devices by number; of_device says where each is. */
static bool make_domains(axp_view *v, uint32_t of_device[AXP__DEVICES])
{
    const struct axp__capture *c = v->capture;
    struct axp__cap_domain host = {0, c->current_bytes, c->peak_bytes,
                                   c->peak_ticks};
    v->domains = calloc(c->n_domains + 1, sizeof *v->domains);
    if (!v->domains) return false;
    v->domains[v->n_domains++] = make_domain(v, &host);
    for (size_t i = 0; i < c->n_domains; i++) {
        of_device[c->domains[i].device] = (uint32_t)v->n_domains;
        v->domains[v->n_domains++] = make_domain(v, &c->domains[i]);
    }
    return true;
}

/* ---- names --------------------------------------------------------------------- */

static void add_traffic(axp_memory *m, const struct axp__cap_traffic *t)
{
    m->total_allocated += t->allocated_bytes;
    m->total_freed += t->freed_bytes;
    m->n_allocs += t->n_allocs;
    m->n_frees += t->n_frees;
}

static void add_name(axp_view *v, const struct axp__cap_traffic *t,
                     const struct axp__cap_live *live)
{
    axp_memory_name *m = &v->memory_names[v->n_memory_names++];
    *m = (axp_memory_name){.name = axp__view_name(v, t->name),
                           .device = axp__view_device(v, t->name),
                           .total_allocated = t->allocated_bytes,
                           .n_allocs = t->n_allocs,
                           .n_frees = t->n_frees};
    if (!live) return; /* it was only ever freed */
    m->kind = (axp_mem)live->kind;
    m->current_bytes = live->current_bytes;
    m->peak_bytes = live->peak_bytes;
    m->at_peak_bytes = live->at_peak_bytes;
    m->growth_early = live->growth_early;
    m->growth_late = live->growth_late;
    if (live->current_bytes) add_leak(v, live, t);
}

bool axp__view_make_memory(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    uint32_t of_device[AXP__DEVICES] = {0};
    size_t n = 0, next = 0;
    struct axp__cap_traffic *all = all_traffic(c, &n);
    v->memory_names = calloc(n + 1, sizeof *v->memory_names);
    v->leaks = calloc(n + 1, sizeof *v->leaks);
    bool ok = all && v->memory_names && v->leaks && make_domains(v, of_device);
    for (size_t i = 0; ok && i < n; i++) {
        const struct axp__cap_traffic *t = &all[i];
        uint32_t device = axp__cap_device_of(c, t->name);
        if (!device || of_device[device])
            add_traffic(&v->domains[of_device[device]].memory, t);
        /* live names come in the order of their ids, as traffic does now */
        while (next < c->n_live && c->live[next].name < t->name)
            next++;
        bool is_live = next < c->n_live && c->live[next].name == t->name;
        add_name(v, t, is_live ? &c->live[next] : NULL);
    }
    if (ok) {
        v->memory = v->domains[0].memory;
        qsort(v->memory_names, v->n_memory_names, sizeof *v->memory_names,
              by_at_peak);
        qsort(v->leaks, v->n_leaks, sizeof *v->leaks, by_bytes);
        qsort(v->domains, v->n_domains, sizeof *v->domains, by_device);
    }
    free(all);
    return ok;
}
