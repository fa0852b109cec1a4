/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* By samples' stacks; see analyze_kernel.h. */
#include "analyze/analyze_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "model/model_samples.h"
#include "model/model_stack_functions.h"

/* A fault takes no longer: else what is below nobody's call is something else,
 * such as a call of a program that has its library inside. */
#define FAULT_NS 10000.0
#define LEAST_FAULT_NS 1000.0 /* usually */

struct look {
    struct axp__stack_functions of; /* ns, self_ns: of the kernel's, for it */
    uint64_t all_ns;
    bool has_failed;
};

static bool is_kernel(const struct look *l, uint32_t frame)
{
    const char *module = axp__stack_functions_module(&l->of, frame);
    return module && !strcmp(module, "[kernel]");
}

static int on_sample(const axp_sample *s, void *ctx)
{
    struct look *l = ctx;
    if (s->kind != AXP_SAMPLE_CPU || !s->stack) return 0;
    struct axp__stack_of *of = axp__stack_functions_get(&l->of, s->stack);
    if (!of) return l->has_failed = true;
    if (of->n && is_kernel(l, of->first)) of->ns += s->weight;
    return 0;
}

/* The frame of the program's that a stack's time in the kernel is for; false: it
 * has none, or was not in the kernel. */
static bool find_own(const struct look *l, const struct axp__stack_of *s,
                     uint32_t *frame)
{
    if (!s->ns) return false;
    *frame = axp__stack_functions_own(&l->of, s);
    return *frame != s->first;
}

/* NULL: half of it is nobody's. */
static const struct axp__function *most(struct look *l)
{
    uint32_t own;
    for (size_t i = 0; i < l->of.n_stacks; i++) {
        const struct axp__stack_of *s = &l->of.stacks[i];
        l->all_ns += s->ns;
        if (find_own(l, s, &own))
            l->of.functions[l->of.frames[own].function].self_ns += s->ns;
    }
    for (size_t i = 0; i < l->of.n_functions; i++)
        if (l->of.functions[i].self_ns > l->all_ns / 2)
            return &l->of.functions[i];
    return NULL;
}

static const char *name_in(const axp_view *v, const char *name)
{
    for (size_t i = 0; i < v->n_functions; i++)
        if (!strcmp(v->functions[i].name, name)) return v->functions[i].name;
    return NULL;
}

/* memset and its kin, as libraries have them: "__memset_evex_unaligned_erms". They
 * ask the kernel for nothing. */
static bool is_filling(const char *name)
{
    static const char *const all[] = {"memset", "memcpy", "memmove", "mempcpy",
                                      "bzero"};
    name += strspn(name, "_");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t n = strlen(all[i]);
        if (!strncmp(name, all[i], n) && (!name[n] || name[n] == '_'))
            return true;
    }
    return false;
}

/* Of all that it calls there what most of the time is for; where, by the stack that
 * was seen most. */
static void set_call(struct look *l, const struct axp__function *by,
                     struct axp__kernel_use *out)
{
    const struct axp__function *call = NULL;
    uint64_t most_ns = 0, most_stack = 0, in_none = 0;
    for (size_t i = 0; i < l->of.n_stacks; i++) {
        const struct axp__stack_of *s = &l->of.stacks[i];
        uint32_t own;
        if (!find_own(l, s, &own)) continue;
        if (&l->of.functions[l->of.frames[own].function] != by) continue;
        struct axp__function *f =
            is_kernel(l, own - 1)
                ? NULL
                : &l->of.functions[l->of.frames[own - 1].function];
        uint64_t *ns = f ? &f->total_ns : &in_none;
        *ns += s->ns;
        if (*ns > most_ns) {
            most_ns = *ns;
            call = f;
        }
        if (s->ns <= most_stack) continue;
        most_stack = s->ns;
        out->file = l->of.frames[own].file;
        out->line = l->of.frames[own].line;
    }
    out->ns = most_ns;
    out->call = call ? name_in(l->of.v, call->name) : NULL;
    out->is_fault = !call && FAULT_NS * out->faults >= (double)most_ns;
    if (!out->call) return;
    /* Libraries name what asks the kernel for something, for others call it; what
     * fills memory on this processor has often no name left. */
    bool has_name = axp__spoken(out->call, NULL) != NULL;
    bool is_mostly_faults = LEAST_FAULT_NS * out->faults >= (double)most_ns / 2;
    if (has_name ? !is_filling(out->call) : !is_mostly_faults) return;
    out->fills = out->call;
    out->call = NULL;
    out->is_fault = true;
}

/* Who asks less often calls less often what asks. */
static bool set_parts(const axp_view *v, const struct axp__library *library,
                      struct axp__kernel_use *out)
{
    const struct axp__called *e = NULL;
    const axp_op *kernel = NULL;
    for (size_t i = 0; i < library->n && out->call; i++)
        if (library->all[i].op.name == out->call) e = &library->all[i];
    for (size_t i = 0; i < v->n_functions && !kernel; i++)
        if (v->functions[i].is_kernel) kernel = &v->functions[i];
    if (!e || !kernel) return true;
    out->parts = calloc(e->n_parts + 1, sizeof *out->parts);
    if (!out->parts) return false;
    memcpy(out->parts, e->parts, e->n_parts * sizeof *out->parts);
    out->n_parts = e->n_parts;
    out->parts[out->n_parts++] = (struct axp__gain_part){kernel, 0};
    out->with_ns = e->op.self_ns;
    return true;
}

bool axp__kernel_find(const axp_view *v, const struct axp__library *library,
                      struct axp__kernel_use *out)
{
    struct look l = {.of = {.v = v}};
    out->faults = axp__outside_at_most(v, "process.minor_faults");
    bool ok = !axp__samples_give(v, on_sample, &l) && !l.has_failed;
    const struct axp__function *by = ok ? most(&l) : NULL;
    if (by) out->by = name_in(v, by->name);
    if (out->by) set_call(&l, by, out);
    axp__stack_functions_fini(&l.of);
    return ok && set_parts(v, library, out);
}

void axp__kernel_fini(struct axp__kernel_use *k)
{
    free(k->parts);
}
