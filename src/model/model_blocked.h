/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time that threads were off their processor of their own will, as the scheduler
 * told whoever sampled; added up while a timeline is read for functions, so that
 * nobody has to read it again.
 *
 * Of whom    the innermost scope that was open, which may be a wait. What is in
 *            none is that of the stack that the thread left its processor with,
 *            where one is known.
 */
#ifndef AXP_MODEL_BLOCKED_H
#define AXP_MODEL_BLOCKED_H
#include "model/model_slots.h"
#include "model/model_stream.h"

struct axp__blocked {
    uint32_t of; /* the scope's name; the stack's id */
    uint64_t n;  /* times */
    axp_ns ns;
};

/* All zero at the beginning. */
struct axp__blocked_sums {
    struct axp__blocked *at;
    size_t n, cap;
    struct axp__slots slots;
};
struct axp__blocked_all {
    struct axp__blocked_sums scopes, stacks;
};

/* A sample that says so. False: no memory. */
bool axp__blocked_take(struct axp__blocked_all *all,
                       const struct axp__stream *s,
                       const struct axp__record *r);
/* The same of a thread that has no scopes. */
bool axp__blocked_take_stack(struct axp__blocked_all *all, uint32_t stack,
                             axp_ns ns);
/* When all were taken, into the view: it has them from here on. */
void axp__blocked_keep(struct axp__blocked_all *all, axp_view *v);
void axp__blocked_fini(struct axp__blocked_all *all);

#endif
