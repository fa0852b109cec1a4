/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_matmul.c: matrix products through CBLAS, split over OpenMP's threads. */
#include "gpt_matmul.h"

#include <cblas.h>
#include <omp.h>
#include <string.h>

#include "gpt_profile.h"

/* Below this many multiply-adds, waking the other threads costs more than
 * they save. */
static const double SPLIT_WORK = 1e6;

enum { COLUMN_BLOCK = 32 }; /* columns that one thread sums at a time */

void gpt_use_one_blas_thread(void)
{
#ifdef OPENBLAS_VERSION
    openblas_set_num_threads(1);
#endif
}

void gpt_gemm(size_t m, size_t n, size_t k, real alpha, gpt_operand a,
              gpt_operand b, real beta, real *c, size_t c_stride)
{
    GPT_CBLAS_GEMM(CblasRowMajor, a.is_transposed ? CblasTrans : CblasNoTrans,
                   b.is_transposed ? CblasTrans : CblasNoTrans, (int)m, (int)n,
                   (int)k, alpha, a.data, (int)a.stride, b.data, (int)b.stride,
                   beta, c, (int)c_stride);
}

/* The same product, each thread computing a band of c's rows. Every element of
 * c is summed by one thread, so runs with as many threads agree to the bit. */
static void gemm_split(size_t m, size_t n, size_t k, gpt_operand a,
                       gpt_operand b, real beta, real *c)
{
    const double work = (double)m * (double)n * (double)k;
    const size_t step = a.is_transposed ? 1 : a.stride; /* to a's next row */

#pragma omp parallel if (work >= SPLIT_WORK)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        const size_t threads = (size_t)omp_get_num_threads();
        const size_t begin = m * thread / threads;
        const size_t end = m * (thread + 1) / threads;
        gpt_operand band = a;
        band.data += begin * step;
        if (begin < end)
            gpt_gemm(end - begin, n, k, 1, band, b, beta, c + begin * n, n);
    }
}

void gpt_matmul_forward(gpt_linear size, real *out, const real *in,
                        const real *weight, const real *bias)
{
    const size_t rows = size.rows, n = size.n, k = size.k;
    AXP_SCOPE_WORK("matmul.forward", GPT_PRODUCT_WORK(rows, n, k));

    for (size_t r = 0; bias && r < rows; r++)
        memcpy(out + r * n, bias, n * sizeof *out);
    gemm_split(rows, n, k, gpt_plain(in, k), gpt_transposed(weight, k),
               bias ? 1 : 0, out);
}

/* dbias += the sum of dout's rows: 1 addition for each element read. Threads
 * take columns, not rows, so that none of them writes what another does. */
static void bias_backward(gpt_linear size, real *dbias, const real *dout)
{
    AXP_SCOPE_WORK("bias.backward", GPT_TENSOR_WORK(size.rows, size.n, 1, 1));

#pragma omp parallel for
    for (size_t first = 0; first < size.n; first += COLUMN_BLOCK) {
        size_t last = first + COLUMN_BLOCK;
        if (last > size.n) last = size.n;
        for (size_t r = 0; r < size.rows; r++)
            for (size_t c = first; c < last; c++)
                dbias[c] += dout[r * size.n + c];
    }
}

void gpt_matmul_backward(gpt_linear size, real *din, real *dweight, real *dbias,
                         const real *dout, const real *in, const real *weight)
{
    const size_t rows = size.rows, n = size.n, k = size.k;

    { /* din[rows, k] = dout[rows, n] weight[n, k] */
        AXP_SCOPE_WORK("matmul.backward.dx", GPT_PRODUCT_WORK(rows, k, n));
        gemm_split(rows, k, n, gpt_plain(dout, n), gpt_plain(weight, k), 0,
                   din);
    }
    { /* dweight[n, k] += dout[rows, n]^T in[rows, k] */
        AXP_SCOPE_WORK("matmul.backward.dw", GPT_PRODUCT_WORK(n, k, rows));
        gemm_split(n, k, rows, gpt_transposed(dout, n), gpt_plain(in, k), 1,
                   dweight);
    }
    if (dbias) bias_backward(size, dbias, dout);
}
