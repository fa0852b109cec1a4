/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whose serial work is; see analyze_serial_own.h. */
#include "analyze/analyze_serial_own.h"

#include <string.h>

struct look {
    const struct axp__serial *s;
    struct axp__stack_functions of; /* self_ns: of what is below it */
    double all_ns;
    bool has_failed;
};

/* The part that a moment is in; NULL: none. */
static const struct axp__serial_part *part_at(const struct axp__serial *s,
                                              axp_ns at)
{
    size_t low = 0, high = s->n_parts;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->parts[mid].end < at)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n_parts && s->parts[low].begin < at ? &s->parts[low] : NULL;
}

static bool is_in(const struct axp__serial *s, const axp_sample *sample)
{
    const struct axp__serial_part *p = part_at(s, sample->time_ns);
    if (!p || sample->kind != AXP_SAMPLE_CPU || sample->n_scopes) return false;
    const struct axp__stream_row *row = &s->g->rows[p->row].is;
    return row->thread_id == sample->thread_id &&
           row->process_id == sample->process_id;
}

/* Ours, or the kernel's for its own sake. */
static bool is_nobodys(const struct look *l, uint32_t first, uint32_t own)
{
    const char *at = axp__stack_functions_module(&l->of, first);
    const char *by = axp__stack_functions_module(&l->of, own);
    return axp__is_own_code(at) || (by && !strcmp(by, "[kernel]"));
}

static int on_sample(const axp_sample *sample, void *ctx)
{
    struct look *l = ctx;
    if (!is_in(l->s, sample)) return 0;
    l->all_ns += (double)sample->weight;
    if (!sample->stack) return 0;
    const struct axp__stack_of *of =
        axp__stack_functions_get(&l->of, sample->stack);
    l->has_failed |= !of;
    if (!of || !of->n) return l->has_failed;
    uint32_t own = axp__stack_functions_own(&l->of, of);
    if (is_nobodys(l, of->first, own)) return 0;
    l->of.functions[l->of.frames[own].function].self_ns += sample->weight;
    return 0;
}

/* A name that lives as long as the graph does. */
static bool find_name(const axp_graph *g, const char *name,
                      struct axp__serial_own *out)
{
    const axp_view *v = g->v;
    for (size_t i = 0; i < v->n_functions && !out->op; i++)
        if (!strcmp(v->functions[i].name, name)) out->op = &v->functions[i];
    if (out->op) out->name = out->op->name;
    for (size_t i = 0; i < g->ops.n && !out->name; i++)
        if (g->ops.at[i].is_function && !strcmp(g->ops.at[i].text, name))
            out->name = g->ops.at[i].text;
    return out->name;
}

bool axp__serial_own_find(const struct axp__serial *s,
                          struct axp__serial_own *out)
{
    const axp_view *v = s->g->v;
    struct look l = {.s = s, .of = {.v = v}};
    const struct axp__function *most = NULL;
    *out = (struct axp__serial_own){0};
    /* Of a timeline that is damaged: as far as it goes. */
    bool ok =
        axp_view_samples(v, on_sample, &l) != AXP_E_NO_MEMORY && !l.has_failed;
    for (size_t i = 0; i < l.of.n_functions; i++) {
        const struct axp__function *f = &l.of.functions[i];
        if (f->self_ns > (most ? most->self_ns : 0)) most = f;
    }
    if (ok && most && find_name(s->g, most->name, out))
        out->share = (double)most->self_ns / l.all_ns;
    axp__stack_functions_fini(&l.of);
    return ok;
}
