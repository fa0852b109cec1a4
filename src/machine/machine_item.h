/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Figures that are measured together, in rounds: one trial of each, then one of
 * each again, until the time is up. So a neighbour that is busy for a moment,
 * or a processor that is throttled for one, spoils no figure for good.
 *
 * Trial      some milliseconds; how often the work has to be done for that is
 *            found before the first, and again where one is far too short.
 * Failure    a figure that had no trial is 0.
 */
#ifndef AXP_MACHINE_ITEM_H
#define AXP_MACHINE_ITEM_H
#include "machine/machine.h"
#include "machine/machine_kernel.h"
#include "machine/machine_crew.h"

#define AXP__MOST_ITEMS 192
#define AXP__MOST_TRIALS 256

struct axp__item {
    const char *what; /* for whoever waits */
    uint32_t threads;
    /* Does the work `passes` times, on each thread. */
    void (*run)(const struct axp__item *item, uint32_t thread, uint64_t passes);
    const void *of;     /* for run: what */
    void *const *where; /* … and memory, by thread */
    size_t bytes;       /* … how much of it */
    double work;        /* of a pass on one thread */
    struct axp__figure *to;
    uint64_t passes; /* a trial's; 0: not known yet */
    uint32_t n_trials;
    float best, lost; /* of the best trial: part without a processor */
    float rates[AXP__MOST_TRIALS];
};

struct axp__items {
    struct axp__crew *crew;
    double trial_s;
    double end_s;   /* when rounds end, by axp__crew_now */
    double limit_s; /* when even the first one does */
    const axp_machine_options *options;
    double begin_s;
    bool is_stopped; /* by the caller, or at the limit */
    struct axp__kernel kernels[AXP__MACHINE_COMPUTE]; /* of the processor */
    size_t n;
    struct axp__item all[AXP__MOST_ITEMS];
};

/* NULL: there is no room. */
struct axp__item *axp__items_add(struct axp__items *s, struct axp__item item);
/* Tells how far it is; true: stop. */
bool axp__items_tell(struct axp__items *s, double part, const char *what);
/* One trial of each. */
void axp__items_round(struct axp__items *s);
/* Rounds until the time is up; then the figures are known. */
void axp__items_measure(struct axp__items *s);

/* Each adds its items (false: no memory), or measures at once. */
void axp__compute_add(struct axp__items *s, struct axp__machine *m);
struct axp__buffers;
struct axp__buffers *axp__memory_add(struct axp__items *s,
                                     struct axp__machine *m);
void axp__buffers_free(struct axp__buffers *b);
void axp__threads_measure(struct axp__items *s, struct axp__machine *m);
/* In a child of its own: a library may do anything when it is loaded. */
void axp__blas_measure(struct axp__items *s, struct axp__machine *m);

#endif
