/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What time is spent on: operations by name and category, functions that were
 * sampled, and what is no operation.
 *
 * Place      the vectors of a graph have numbers of these.
 * Ownership  init with {.v = …}; fini frees. Texts are the view's, or of the
 *            table of functions here.
 */
#ifndef AXP_GRAPH_OPS_H
#define AXP_GRAPH_OPS_H
#include "model/model_slots.h"
#include "model/model_stack_functions.h"
#include "model/model_view.h"

/* What is no operation; numbers of the first ones. */
enum axp__no_op {
    AXP__OP_OUTSIDE, /* the program, in no scope */
    AXP__OP_NO_CPU,  /* it wanted a processor and had none */
    AXP__OP_IDLE,    /* nobody did anything */
    AXP__OP_BLOCKED, /* off its processor, for no other thread's sake */
    AXP__OP_WOKEN,   /* what it waited for was there, and it did not run yet */
    AXP__N_NO_OPS
};

static inline bool axp__op_is_work(uint32_t op)
{
    return op == AXP__OP_OUTSIDE || op >= AXP__N_NO_OPS;
}

struct axp__graph_op {
    const char *text;
    uint32_t key; /* name and category; of a function its number */
    uint16_t category;
    bool is_wait, is_function;
    bool is_kernel, is_own; /* a function of the kernel's, or of ours: nothing
                               that the program could divide */
};

struct axp__graph_ops {
    const axp_view *v;
    struct axp__graph_op *at;
    size_t n, cap;
    struct axp__slots slots;
    uint32_t *by_name; /* of each name the op that it had last; 0: none */
    struct axp__stack_functions functions;
    bool has_failed; /* no memory: some time is another's */
};

bool axp__graph_ops_init(struct axp__graph_ops *o, const axp_view *v);
void axp__graph_ops_fini(struct axp__graph_ops *o);
uint32_t axp__graph_op_slow(struct axp__graph_ops *o, uint32_t key);
/* The innermost function of a stack; AXP__OP_OUTSIDE: it has none. */
uint32_t axp__graph_op_of_stack(struct axp__graph_ops *o, uint32_t stack);
/* The innermost that is the program's own: axp__stack_functions_own. */
uint32_t axp__graph_own_op_of_stack(struct axp__graph_ops *o, uint32_t stack);

#define AXP__OP_NAME_BITS 20
#define AXP__OP_NAME_MASK (((uint32_t)1 << AXP__OP_NAME_BITS) - 1)
static inline uint32_t axp__graph_op(struct axp__graph_ops *o, uint32_t name,
                                     uint32_t category)
{
    name &= AXP__OP_NAME_MASK;
    uint32_t key = name | (category & 0x7ff) << AXP__OP_NAME_BITS;
    uint32_t i = o->by_name[name];
    if (i && o->at[i].key == key && !o->at[i].is_function) return i;
    return axp__graph_op_slow(o, key);
}

#endif
