/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time that scopes were off their processor of their thread's own will, as the
 * scheduler told whoever sampled; added up while a timeline is read for functions,
 * so that nobody has to read it again.
 *
 * Of whom    the innermost scope that was open. What is in none is nobody's.
 */
#ifndef AXP_MODEL_BLOCKED_H
#define AXP_MODEL_BLOCKED_H
#include "model/model_slots.h"
#include "model/model_stream.h"

struct axp__blocked {
    uint32_t name; /* of the scope */
    uint64_t n;    /* times */
    axp_ns ns;
};

/* All zero at the beginning. */
struct axp__blocked_sums {
    struct axp__blocked *at;
    size_t n, cap;
    struct axp__slots slots;
};

/* A sample that says so. False: no memory. */
bool axp__blocked_take(struct axp__blocked_sums *sums,
                       const struct axp__stream *s,
                       const struct axp__record *r);
/* When all were taken, into the view: it has them from here on. */
void axp__blocked_keep(struct axp__blocked_sums *sums, axp_view *v);
void axp__blocked_fini(struct axp__blocked_sums *sums);

#endif
