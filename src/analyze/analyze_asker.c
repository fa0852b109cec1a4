/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who asks the kernel; see analyze_asker.h. */
#include "analyze/analyze_asker.h"

#include <string.h>

#include "model/model_samples.h"
#include "model/model_stack_functions.h"

#define KERNEL "[kernel]"

struct look {
    struct axp__stack_functions of; /* self_ns: of the kernel, below it */
    uint64_t kernel_ns;
    bool has_failed;
};

static const char *module_of(const struct look *l, uint32_t frame)
{
    const char *module = l->of.functions[l->of.frames[frame].function].module;
    return module ? module : "";
}

/* A function's number; UINT32_MAX: the kernel was not at work, or of itself. */
static uint32_t asker_of(const struct look *l, const struct axp__stack_of *s)
{
    uint32_t at = s->first, end = s->first + s->n;
    while (at < end && !strcmp(module_of(l, at), KERNEL))
        at++;
    if (at == s->first || at == end) return UINT32_MAX;
    const char *asked = module_of(l, at), *began = module_of(l, end - 1);
    bool is_same = !strcmp(asked, began);
    for (uint32_t i = at; i < end; i++) {
        const char *module = module_of(l, i);
        if (is_same ? strcmp(module, asked) != 0 : !strcmp(module, began))
            return l->of.frames[i].function;
    }
    return l->of.frames[at].function; /* there is one module */
}

static int on_sample(const axp_sample *s, void *ctx)
{
    struct look *l = ctx;
    if (s->kind != AXP_SAMPLE_CPU || !s->stack) return 0;
    const struct axp__stack_of *of = axp__stack_functions_get(&l->of, s->stack);
    if (!of) l->has_failed = true;
    uint32_t by = of ? asker_of(l, of) : UINT32_MAX;
    if (by == UINT32_MAX) return l->has_failed;
    l->of.functions[by].self_ns += s->weight;
    l->kernel_ns += s->weight;
    return 0;
}

static const axp_op *op_of(const axp_view *v, const char *name)
{
    for (size_t i = 0; i < v->n_functions; i++)
        if (!strcmp(v->functions[i].name, name)) return &v->functions[i];
    return NULL;
}

bool axp__asker_find(const axp_view *v, struct axp__asker *out)
{
    struct look l = {.of = {.v = v}};
    *out = (struct axp__asker){0};
    for (size_t i = 0; i < v->n_functions && !out->kernel; i++)
        if (v->functions[i].is_kernel) out->kernel = &v->functions[i];
    if (!out->kernel) return true;
    if (axp__samples_give(v, on_sample, &l)) l.has_failed = true;
    for (size_t i = 0; i < l.of.n_functions && !l.has_failed; i++)
        if (l.of.functions[i].self_ns > l.kernel_ns / 2)
            out->by = op_of(v, l.of.functions[i].name);
    axp__stack_functions_fini(&l.of);
    return !l.has_failed;
}
