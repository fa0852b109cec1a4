/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the kernel's processor time is for: the function of the program that most of
 * it is below, and what that calls.
 *
 *   main ─► load ─► read ─► [kernel]      load, which calls read
 *   main ─► fill ─────────► [kernel]      fill, which calls nothing: it touches
 *                                         pages that are not there yet
 *   main ─► grow ─► memset ─► [kernel]    grow: the same
 *
 * Input   samples of a view, which may claim anything.
 * Names   the view's.
 * Not here  what threads wait for there: analyze_asker.h. */
#ifndef AXP_ANALYZE_KERNEL_H
#define AXP_ANALYZE_KERNEL_H
#include "analyze/analyze_library.h"

struct axp__kernel_use {
    const char *by;   /* NULL: half of it is nobody's */
    const char *call; /* NULL: none, or not known */
    const char *file; /* where it calls, or touches; NULL: not known */
    int line;
    /* It calls nothing, or what only fills memory, and pages were not there. */
    bool is_fault;
    const char *fills; /* what it calls then; NULL: nothing */
    axp_ns ns;         /* of the kernel's, for that */
    double faults;     /* of the run's processes, as far as they were counted */
    /* The kernel and the library's functions below the call: without them; none:
     * there is no such call, or it takes next to nothing itself. */
    struct axp__gain_part *parts;
    size_t n_parts;
    axp_ns with_ns; /* theirs, but for the kernel's */
};

/* {0} before. False: no memory. */
bool axp__kernel_find(const axp_view *v, const struct axp__library *library,
                      struct axp__kernel_use *out);
void axp__kernel_fini(struct axp__kernel_use *k);

#endif
