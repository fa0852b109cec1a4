/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What to do about an operation that is below its roof: by what binds it, its
 * shape, and what else the machine can. */
#ifndef AXP_ANALYZE_ROOF_ADVICE_H
#define AXP_ANALYZE_ROOF_ADVICE_H
#include "analyze/analyze.h"

/* Of the roof: below it no roof is what makes an operation slow. */
#define AXP__ROOF_FAR 0.2

/* Of an operation whose roof is known. */
void axp__roof_advise(struct axp__analysis *a, struct axp__draft *d,
                      const axp_op *op, const struct axp__roof *r);

/* What one call of one shape does. */
struct axp__call_work {
    const uint32_t *dims;
    uint32_t n_dims;
    axp_dtype dtype;
    double flops, bytes; /* bytes 0: not known */
};
/* The least of M, N and K of a product; 0: it is none. Dims may also be those of
 * a tensor: a product does 2 M N K FLOPs, or a small multiple, and moves no more
 * than its three matrices. */
uint32_t axp__narrowest(const struct axp__call_work *w);
/* Of the shape of an operation that took longest. */
struct axp__call_work axp__roof_call(const struct axp__roof *r);

/* The product that the machine's BLAS was measured with whose sides are nearest
 * to these, in any order, and what it reaches with so many threads at most;
 * NULL: none was measured. */
const struct axp__machine_blas *axp__blas_near(const struct axp__machine *m,
                                               const uint32_t dims[3],
                                               uint32_t threads, double *rate);

/* What of its time an operation would not take at what can be reached: its roof, or
 * of a product the part of arithmetic's peak that the machine's BLAS was measured
 * to reach at best, if that is less. */
double axp__roof_room(const struct axp__analysis *a, const struct axp__roof *r);

/* That the program's threads wanted processors and did not have them, where it
 * matters. */
void axp__roof_say_starved(struct axp__analysis *a, struct axp__draft *d,
                           const struct axp__roof *r);

/* " on 2 threads"; "": peaks that were given, which know none. */
const char *axp__roof_on_threads(const struct axp__roof *r, char out[48]);

#endif
