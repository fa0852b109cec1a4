/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Causes in matrix products: written by hand, in pieces too thin, in a type
 * too wide. And two programs that leave them to OpenBLAS as it likes it. */
#include <cblas.h>
#include <stdlib.h>

#include "diagnosis_cause.h"

#define STEPS 32

static float *floats(int n)
{
    float *x = cause_memory(sizeof *x * (size_t)n);
    for (int i = 0; i < n; i++)
        x[i] = (float)cause_random();
    return x;
}

/* c = a b, of m×k and k×n. */
static void gemm(int m, int n, int k, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b,
                n, 0, c, n);
}

/* ---- by hand ----------------------------------------------------------------------------- */

#define SIDE 192

static __attribute__((noinline)) void multiply(const float *a, const float *b,
                                               float *c, bool is_by_hand)
{
    uint64_t scope =
        cause_begin_work("multiply", axp_work_gemm(SIDE, SIDE, SIDE, AXP_F32));
    for (int i = 0; i < SIDE && is_by_hand; i++)
        for (int j = 0; j < SIDE; j++) {
            float sum = 0;
            for (int k = 0; k < SIDE; k++)
                sum += a[i * SIDE + k] * b[k * SIDE + j];
            c[i * SIDE + j] = sum;
        }
    if (!is_by_hand) gemm(SIDE, SIDE, SIDE, a, b, c);
    CAUSE_USE(c);
    axp_end(scope);
}

static void run_by_hand(void)
{
    float *a = floats(SIDE * SIDE), *b = floats(SIDE * SIDE);
    float *c = floats(SIDE * SIDE);
    openblas_set_num_threads(1);
    for (int i = 0; i < STEPS; i++) {
        cause_compute(20);
        multiply(a, b, c, i % 4 < 2 * cause_k);
        cause_step();
    }
    free(c);
    free(b);
    free(a);
}

/* ---- too thin ------------------------------------------------------------------------------ */

#define WIDE 384
#define BATCH 64

/* Each of a batch alone, or all at once. */
static __attribute__((noinline)) void project(const float *w, const float *x,
                                              float *y, int thin)
{
    uint64_t scope =
        cause_begin_work("project", axp_work_gemm(BATCH, WIDE, WIDE, AXP_F32));
    for (int i = 0; i < thin; i++)
        gemm(1, WIDE, WIDE, x + i * WIDE, w, y + i * WIDE);
    if (thin < BATCH)
        gemm(BATCH - thin, WIDE, WIDE, x + thin * WIDE, w, y + thin * WIDE);
    axp_end(scope);
}

static void run_thin(void)
{
    float *w = floats(WIDE * WIDE), *x = floats(BATCH * WIDE);
    float *y = floats(BATCH * WIDE);
    openblas_set_num_threads(1);
    for (int i = 0; i < STEPS; i++) {
        cause_compute(24);
        for (int layer = 0; layer < 2; layer++)
            project(w, x, y, (int)(BATCH / 2 * cause_k));
        cause_step();
    }
    free(y);
    free(x);
    free(w);
}

/* ---- too wide ------------------------------------------------------------------------------- */

static __attribute__((noinline)) void attend(const void *a, const void *b,
                                             void *c, bool is_double)
{
    uint64_t scope = cause_begin_work(
        "attend",
        axp_work_gemm(WIDE, WIDE, WIDE, is_double ? AXP_F64 : AXP_F32));
    if (is_double)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, WIDE, WIDE, WIDE,
                    1, a, WIDE, b, WIDE, 0, c, WIDE);
    else
        gemm(WIDE, WIDE, WIDE, a, b, c);
    axp_end(scope);
}

static void run_double(void)
{
    float *a = floats(2 * WIDE * WIDE), *b = floats(2 * WIDE * WIDE);
    float *c = floats(2 * WIDE * WIDE);
    openblas_set_num_threads(1);
    for (int i = 0; i < STEPS; i++) {
        cause_compute(8);
        attend(a, b, c, i % 4 < 2 * cause_k);
        attend(a, b, c, i % 4 < 2 * cause_k);
        cause_step();
    }
    free(c);
    free(b);
    free(a);
}

/* ---- healthy --------------------------------------------------------------------------------- */

static void run_product(void)
{
    float *a = floats(WIDE * WIDE), *b = floats(WIDE * WIDE);
    float *c = floats(WIDE * WIDE);
    openblas_set_num_threads(1);
    for (int i = 0; i < 4 * STEPS; i++)
        attend(a, b, c, false);
    free(c);
    free(b);
    free(a);
}

static __attribute__((noinline)) void linear(const float *w, const float *x,
                                             float *y)
{
    uint64_t scope =
        cause_begin_work("linear", axp_work_gemm(BATCH, WIDE, WIDE, AXP_F32));
    gemm(BATCH, WIDE, WIDE, x, w, y);
    axp_end(scope);
}

static __attribute__((noinline)) void relu(float *y)
{
    uint64_t scope = cause_begin_work(
        "relu", axp_work_elementwise(BATCH * WIDE, 1, 1, AXP_F32));
    for (int i = 0; i < BATCH * WIDE; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
    CAUSE_USE(y);
    axp_end(scope);
}

static __attribute__((noinline)) void sgd(float *w, const float *gradient)
{
    uint64_t scope =
        cause_begin_work("sgd", axp_work_sgd(WIDE * WIDE, AXP_F32));
    for (int i = 0; i < WIDE * WIDE; i++)
        w[i] -= 1e-3f * gradient[i];
    CAUSE_USE(w);
    axp_end(scope);
}

static __attribute__((noinline)) void linear_backward(const float *w,
                                                      const float *x, float *y,
                                                      float *gradient)
{
    uint64_t scope = cause_begin_work(
        "linear_backward", axp_work_gemm_backward(BATCH, WIDE, WIDE, AXP_F32));
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, WIDE, WIDE, BATCH, 1,
                x, WIDE, y, WIDE, 0, gradient, WIDE);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, BATCH, WIDE, WIDE, 1,
                y, WIDE, w, WIDE, 0, y + BATCH * WIDE, WIDE);
    axp_end(scope);
}

static void run_mlp(void)
{
    float *w = floats(WIDE * WIDE), *gradient = floats(WIDE * WIDE);
    float *x = floats(BATCH * WIDE), *y = floats(2 * BATCH * WIDE);
    openblas_set_num_threads(1);
    for (int i = 0; i < 10 * STEPS; i++) {
        linear(w, x, y);
        relu(y);
        linear_backward(w, x, y, gradient);
        sgd(w, gradient);
        cause_step();
    }
    free(y);
    free(x);
    free(gradient);
    free(w);
}

const struct cause causes[] = {
    {"by_hand", "LowThroughput", "multiply", "SlowOperation=multiply",
     run_by_hand, 0},
    {"thin", "LowThroughput|ShapeUnfriendly", "project|sgemm", NULL, run_thin,
     0},
    {"double", "Precision|ComputeBound", "attend|dgemm", NULL, run_double, 0},
    {"healthy_product", NULL, NULL, NULL, run_product, 0},
    {"healthy_mlp", NULL, NULL, NULL, run_mlp, 0},
    {0}};
