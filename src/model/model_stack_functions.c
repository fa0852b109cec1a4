/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions of stacks; see model_stack_functions.h. */
#include "model/model_stack_functions.h"

#include <stdio.h>
#include <string.h>

#include "base/base_text.h"
#include "symbol/symbol_module.h"
#include "symbol/symbol_standard.h"

#define MOST_FRAMES (2 * AXP__STACK_MOST) /* of a stack, inlined ones too */

/* ---- functions ---------------------------------------------------------- */

static uint64_t hash_text(uint64_t h, const char *text)
{
    for (; text && *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return axp__mix64(h);
}

static uint64_t hash_names(const char *name, const char *module)
{
    return hash_text(hash_text(0xcbf29ce484222325u, name), module);
}

static uint64_t function_hash(const void *ctx, uint32_t i)
{
    const struct axp__stack_functions *s = ctx;
    return hash_names(s->functions[i].name, s->functions[i].module);
}

/* What has no name is called by where it is. */
static char *make_name(const axp_frame *f)
{
    const char *base = f->module ? axp__text_last_part(f->module) : NULL;
    char *text = NULL;
    int n =
        base ? asprintf(&text, "%s+0x%llx", base, (unsigned long long)f->offset)
             : asprintf(&text, "0x%llx", (unsigned long long)f->offset);
    return n < 0 ? NULL : text;
}

/* The slot of a function, or where it would be. */
static uint32_t *function_slot(const struct axp__stack_functions *s,
                               const char *name, const char *module)
{
    uint64_t k = hash_names(name, module);
    uint32_t *at;
    for (; *(at = axp__slots_at(&s->function_slots, k)); k++) {
        const struct axp__function *known = &s->functions[*at - 1];
        if (axp__text_is_same(known->name, name) &&
            axp__text_is_same(known->module, module))
            break;
    }
    return at;
}

/* 1 + its index; 0: no memory. */
static uint32_t get_function(struct axp__stack_functions *s,
                             const axp_frame *frame)
{
    char *made = frame->function ? NULL : make_name(frame);
    const char *name = frame->function ? frame->function : made;
    if (!name || !axp__slots_widen(&s->function_slots, s, function_hash) ||
        !axp__array_grow((void **)&s->functions, &s->cap_functions,
                         s->n_functions + 1, sizeof *s->functions)) {
        free(made);
        return 0;
    }
    uint32_t *at = function_slot(s, name, frame->module);
    if (*at) {
        free(made);
        return *at;
    }
    s->functions[s->n_functions] = (struct axp__function){
        .name = name,
        .module = frame->module,
        .is_made = made,
        .is_standard = axp__code_is_standard(name, frame->file)};
    s->function_slots.n_used++;
    return *at = (uint32_t)++s->n_functions;
}

/* ---- stacks ------------------------------------------------------------- */

static uint64_t stack_hash(const void *ctx, uint32_t i)
{
    const struct axp__stack_functions *s = ctx;
    return axp__mix64(s->stacks[i].id);
}

/* The profiler's own frames are one if they are innermost, and none between the
 * program's. n_inside: how many are left before the first adapter that called on. */
static size_t leave_out_own(axp_frame *frames, size_t n, size_t *n_inside)
{
    size_t kept = 0;
    bool is_outside = false;
    for (size_t i = 0; i < n; i++) {
        const char *module = frames[i].module;
        bool is_own = axp__is_own_code(module);
        if (!is_own || !i) frames[kept++] = frames[i];
        if (is_own && !i) frames[0].module = AXP__OWN_CODE;
        is_outside |= axp__is_own_call(module);
        if (!is_outside || !i) *n_inside = kept;
    }
    return kept;
}

static bool read_stack(struct axp__stack_functions *s, struct axp__stack_of *to)
{
    axp_frame frames[MOST_FRAMES];
    size_t n = axp_view_stack(s->v, to->id, frames, MOST_FRAMES);
    if (n > MOST_FRAMES) n = MOST_FRAMES;
    size_t n_inside = 0;
    n = leave_out_own(frames, n, &n_inside);
    to->first = (uint32_t)s->n_frames;
    to->n = (uint32_t)n;
    to->n_inside = (uint32_t)n_inside;
    if (!axp__array_grow((void **)&s->frames, &s->cap_frames, s->n_frames + n,
                         sizeof *s->frames))
        return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t f = get_function(s, &frames[i]);
        if (!f) return false;
        s->frames[s->n_frames++] =
            (struct axp__stack_frame){f - 1, frames[i].line, frames[i].file};
    }
    return true;
}

struct axp__stack_of *axp__stack_functions_get(struct axp__stack_functions *s,
                                               uint32_t stack)
{
    uint64_t k = axp__mix64(stack);
    uint32_t *at;
    if (!axp__slots_widen(&s->stack_slots, s, stack_hash) ||
        !axp__array_grow((void **)&s->stacks, &s->cap_stacks, s->n_stacks + 1,
                         sizeof *s->stacks))
        return NULL;
    for (; *(at = axp__slots_at(&s->stack_slots, k)); k++)
        if (s->stacks[*at - 1].id == stack) return &s->stacks[*at - 1];
    struct axp__stack_of *fresh = &s->stacks[s->n_stacks];
    *fresh = (struct axp__stack_of){.id = stack};
    if (!read_stack(s, fresh)) return NULL;
    s->stack_slots.n_used++;
    *at = (uint32_t)++s->n_stacks;
    return fresh;
}

void axp__stack_functions_fini(struct axp__stack_functions *s)
{
    for (size_t i = 0; i < s->n_functions; i++)
        if (s->functions[i].is_made)
            free((char *)(uintptr_t)s->functions[i].name);
    free(s->functions);
    free(s->function_slots.at);
    free(s->stacks);
    free(s->stack_slots.at);
    free(s->frames);
    *s = (struct axp__stack_functions){0};
}

/* A name in brackets is no file. */
static bool is_programs(const char *module)
{
    if (!module) return false;
    if (*module != '/') return !strncmp(module, AXP__JIT_CODE, 6);
    return !axp__module_is_system(module);
}

const char *axp__stack_functions_module(const struct axp__stack_functions *s,
                                        uint32_t frame)
{
    return s->functions[s->frames[frame].function].module;
}

bool axp__function_is_programs(const struct axp__function *f)
{
    return is_programs(f->module) && !f->is_standard;
}

uint32_t axp__stack_functions_own(const struct axp__stack_functions *s,
                                  const struct axp__stack_of *of)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t i = of->first; i < of->first + of->n; i++) {
        const struct axp__function *f = &s->functions[s->frames[i].function];
        if (axp__function_is_programs(f)) return i;
        if (first == UINT32_MAX && is_programs(f->module)) first = i;
    }
    return first == UINT32_MAX ? of->first : first;
}
