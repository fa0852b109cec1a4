/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads of a library's own that help whoever calls it, by samples: nobody
 * recorded what they work for, but they are in the same functions.
 *
 *   main    sgemm [ its kernel 1.1 s ]       2 threads work at sgemm
 *   a pool's        its kernel 1.1 s
 *
 * Of libraries that are known to compute so (analyze_threaded.h). Where samples
 * are few, or there are none, nobody is known to help.
 *
 * Ownership  init with {0}; fini frees.
 */
#ifndef AXP_ANALYZE_HELPERS_H
#define AXP_ANALYZE_HELPERS_H
#include "model/model_view.h"

struct axp__helpers {
    double *inside, *beside; /* by name: ns in its scopes, and helping them */
    uint32_t n_names;
};

/* False: no memory. */
bool axp__helpers_find(const axp_view *v, struct axp__helpers *out);
void axp__helpers_fini(struct axp__helpers *h);
/* Threads that work at a call of that name, the caller among them. */
uint32_t axp__helpers_team(const struct axp__helpers *h, uint32_t name);

#endif
