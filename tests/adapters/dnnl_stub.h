/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A oneDNN that computes nothing: what its objects are made of. One source, built
 * as version 2 and as version 3 of the interface. */
#ifndef DNNL_STUB_H
#define DNNL_STUB_H
#include <stdint.h>

struct stub_tensor { /* version 2 shows this part of its objects */
    int n_dims;
    int64_t dims[12];
    int dtype;
};
struct stub_memory {
    struct stub_tensor about;
};
struct stub_primitive {
    int kind, direction, engine; /* engine: 1 CPU, 2 GPU */
    const char *implementation;
};
struct stub_argument {
    int number;
    struct stub_memory *memory;
};

extern int stub_n_executed;
/* Called by an execution, if it is set. */
extern void (*stub_on_execute)(void);

extern int dnnl_primitive_execute(const struct stub_primitive *p, void *stream,
                                  int n, const struct stub_argument *a);
extern int dnnl_sgemm(char transa, char transb, int64_t m, int64_t n, int64_t k,
                      float alpha, const float *a, int64_t lda, const float *b,
                      int64_t ldb, float beta, float *c, int64_t ldc);

#endif
