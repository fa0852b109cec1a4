/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What to do about an operation that is below its roof: by what binds it, its
 * shape, and what else the machine can. */
#ifndef AXP_ANALYZE_ROOF_ADVICE_H
#define AXP_ANALYZE_ROOF_ADVICE_H
#include "analyze/analyze.h"

/* Of an operation whose roof is known. */
void axp__roof_advise(struct axp__analysis *a, struct axp__draft *d,
                      const axp_op *op, const struct axp__roof *r);

/* The least of M, N and K of a product; 0: it is none. Dims may also be those of
 * a tensor: a call of a product does 2 M N K FLOPs, or a small multiple, and
 * moves fewer bytes than an elementwise one would. bytes 0: not known. */
uint32_t axp__narrowest(const uint32_t *dims, uint32_t n_dims, double flops,
                        double bytes);

/* The product that the machine's BLAS was measured with whose work is nearest
 * to so many FLOPs, and what it reaches with so many threads at most; NULL:
 * none was measured. */
const struct axp__machine_blas *axp__blas_near(const struct axp__machine *m,
                                               double flops, uint32_t threads,
                                               double *rate);

/* " on 2 threads"; "": peaks that were given, which know none. */
const char *axp__roof_on_threads(const struct axp__roof *r, char out[48]);

#endif
