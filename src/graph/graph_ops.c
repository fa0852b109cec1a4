/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What time is spent on; see graph_ops.h. */
#include "graph/graph_ops.h"

#include <stdlib.h>
#include <string.h>

#include "axprof/axprof.h"
#include "base/base_text.h"

/* Of functions the first bit is set, so that one hash has both. */
#define IS_FUNCTION 0x80000000u
#define MOST_OPS ((size_t)1 << 24) /* as a part of a stretch has room for */

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    return axp__mix64(((const struct axp__graph_ops *)ctx)->at[i].key);
}

/* The op of the key, made if there is none; AXP__OP_OUTSIDE: no memory. */
static uint32_t get(struct axp__graph_ops *o, uint32_t key, bool *is_new)
{
    void *at = o->at;
    bool ok = o->n < MOST_OPS && axp__slots_widen(&o->slots, o, hash_of) &&
              axp__array_grow(&at, &o->cap, o->n + 1, sizeof *o->at);
    o->at = at;
    *is_new = false;
    o->has_failed |= !ok;
    if (!ok) return AXP__OP_OUTSIDE;
    uint32_t *slot;
    for (uint64_t k = axp__mix64(key); *(slot = axp__slots_at(&o->slots, k));
         k++)
        if (o->at[*slot - 1].key == key) return *slot - 1;
    o->at[o->n] = (struct axp__graph_op){.key = key};
    *slot = (uint32_t)++o->n;
    o->slots.n_used++;
    *is_new = true;
    return (uint32_t)o->n - 1;
}

bool axp__graph_ops_init(struct axp__graph_ops *o, const axp_view *v)
{
    static const char *const texts[AXP__N_NO_OPS] = {
        [AXP__OP_OUTSIDE] = "outside scopes",
        [AXP__OP_NO_CPU] = "waiting for a CPU",
        [AXP__OP_IDLE] = "idle",
        [AXP__OP_BLOCKED] = "blocked: I/O, sleep, other processes",
        [AXP__OP_WOKEN] = "waking threads up"};
    void *at = NULL;
    *o = (struct axp__graph_ops){.v = v, .functions = {.v = v}};
    o->by_name = calloc((size_t)1 << AXP__OP_NAME_BITS, sizeof *o->by_name);
    if (!o->by_name ||
        !axp__array_grow(&at, &o->cap, AXP__N_NO_OPS, sizeof *o->at))
        return false;
    o->at = at;
    for (size_t i = 0; i < AXP__N_NO_OPS; i++) /* in no slot */
        o->at[i] = (struct axp__graph_op){.text = texts[i], .key = UINT32_MAX};
    o->n = AXP__N_NO_OPS;
    return true;
}

void axp__graph_ops_fini(struct axp__graph_ops *o)
{
    axp__stack_functions_fini(&o->functions);
    free(o->slots.at);
    free(o->by_name);
    free(o->at);
}

uint32_t axp__graph_op_slow(struct axp__graph_ops *o, uint32_t key)
{
    uint32_t name = key & AXP__OP_NAME_MASK;
    bool is_new;
    uint32_t i = get(o, key, &is_new);
    if (is_new) {
        uint16_t category = (uint16_t)(key >> AXP__OP_NAME_BITS);
        o->at[i].text = axp__view_name(o->v, name);
        o->at[i].category = category;
        o->at[i].is_wait = axp__view_kind(o->v, name) == AXP__KIND_WAIT ||
                           category == AXP_CAT_SYNC;
    }
    if (i) o->by_name[name] = i;
    return i;
}

static uint32_t op_of_stack(struct axp__graph_ops *o, uint32_t stack,
                            bool is_own)
{
    const struct axp__stack_of *of =
        stack ? axp__stack_functions_get(&o->functions, stack) : NULL;
    bool is_new;
    o->has_failed |= stack && !of;
    if (!of || !of->n) return AXP__OP_OUTSIDE;
    uint32_t at =
        is_own ? axp__stack_functions_own(&o->functions, of) : of->first;
    uint32_t function = o->functions.frames[at].function;
    if (function >= IS_FUNCTION - 1) return AXP__OP_OUTSIDE;
    uint32_t i = get(o, IS_FUNCTION | function, &is_new);
    if (is_new) {
        const struct axp__function *f = &o->functions.functions[function];
        o->at[i].text = f->name;
        o->at[i].is_function = true;
        o->at[i].is_kernel = f->module && !strcmp(f->module, "[kernel]");
        o->at[i].is_own = axp__is_own_code(f->module);
    }
    return i;
}

uint32_t axp__graph_op_of_stack(struct axp__graph_ops *o, uint32_t stack)
{
    return op_of_stack(o, stack, false);
}

uint32_t axp__graph_own_op_of_stack(struct axp__graph_ops *o, uint32_t stack)
{
    return op_of_stack(o, stack, true);
}
