/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_matmul.h: matrix products, and the linear layer made of them.
 *
 * Threads: there is one pool, OpenMP's. A threaded BLAS beside it would bring
 * a second pool, and the two would fight for the same cores. So BLAS is told
 * to use one thread, and a large product is split by rows over OpenMP. */
#ifndef GPT_MATMUL_H
#define GPT_MATMUL_H
#include <stdbool.h>
#include <stddef.h>

#include "gpt_real.h"

/* A row-major matrix in memory, read as it is or transposed. */
typedef struct gpt_operand {
    const real *data;
    size_t stride; /* elements from one row in memory to the next */
    bool is_transposed;
} gpt_operand;

static inline gpt_operand gpt_plain(const real *data, size_t stride)
{
    return (gpt_operand){.data = data, .stride = stride};
}

static inline gpt_operand gpt_transposed(const real *data, size_t stride)
{
    return (gpt_operand){.data = data, .stride = stride, .is_transposed = true};
}

/* Call once before the first product. */
void gpt_use_one_blas_thread(void);

/* c = alpha a b + beta c on the calling thread; c is m x n, a is m x k. */
void gpt_gemm(size_t m, size_t n, size_t k, real alpha, gpt_operand a,
              gpt_operand b, real beta, real *c, size_t c_stride);

/* The linear layer: out[rows, n] = in[rows, k] weight[n, k]^T + bias[n].
 * bias may be NULL. */
typedef struct gpt_linear {
    size_t rows, k, n;
} gpt_linear;
void gpt_matmul_forward(gpt_linear size, real *out, const real *in,
                        const real *weight, const real *bias);
/* Sets din; adds to dweight and to dbias, which may be NULL. */
void gpt_matmul_backward(gpt_linear size, real *din, real *dweight, real *dbias,
                         const real *dout, const real *in, const real *weight);

#endif
