/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program takes in the system's libraries, by what it calls there.
 *
 *   train ─► gelu ─► tanhf ─► expm1f        27 % tanhf, 26 % expm1f:
 *   (the program's)  (libm's)               53 % tanhf, which gelu calls
 *
 * A library of the system is one in a folder that distributions install to.
 * Nobody changes what is inside of it, and its functions' names tell a reader
 * little: what can be changed is the call. Time that a library takes on its own
 * threads, or below nobody who is the program's, stays with its functions.
 *
 * Ownership  init with {0}; fini frees. Names are the view's.
 */
#ifndef AXP_ANALYZE_LIBRARY_H
#define AXP_ANALYZE_LIBRARY_H
#include "graph/graph_gain.h"
#include "model/model_view.h"

struct axp__called {
    axp_op op; /* the function that is called; its place is that of the call */
    const char *caller;           /* who calls it for most of that time */
    struct axp__gain_part *parts; /* of the view's functions: without it */
    size_t n_parts;
};

struct axp__library {
    struct axp__called *all;
    size_t n;
    /* Of each of the view's functions: what is in these; whether it is the
     * program's own (of one that takes next to nothing: not known, false). */
    double *part;
    bool *is_own;
};

/* is_outside: by samples in no scope alone, as a scope speaks for what is in it.
 * False: no memory. */
bool axp__library_find(const axp_view *v, bool is_outside,
                       struct axp__library *out);
void axp__library_fini(struct axp__library *e);
/* Whether these speak for a function of the view's. */
static inline bool axp__library_has(const struct axp__library *e, size_t i)
{
    return e->part && e->part[i] > 0.5;
}

#endif
