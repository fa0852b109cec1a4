/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a routine of BLAS does, by its arguments.
 *
 * FLOPs   of products what everybody counts, a multiply-add as 2 (8 in complex
 *         types), scaling by alpha and beta not at all; of triangles what is in
 *         them.
 * Bytes   each matrix and vector once if it is read, once if it is written;
 *         what beta = 0 leaves unread is not counted. Of a symmetric or
 *         triangular matrix one half and the diagonal.
 * Sizes   come in words of which the upper half may be anything. One that is 0
 *         or less: no work, as the routine then does none.
 */
#ifndef BLAS_WORK_H
#define BLAS_WORK_H
#include <axprof/axprof.h>

#include "blas_signature.h"

/* ---- types ------------------------------------------------------------------ */

#define SCALAR_s float
#define SCALAR_d double
#define SCALAR_c W
#define SCALAR_z W
#define SCALAR_sb float
#define TYPE_s AXP_F32
#define TYPE_d AXP_F64
#define TYPE_c AXP_C64
#define TYPE_z AXP_C128
#define TYPE_sb AXP_BF16
/* FLOPs of a multiply-add, of a multiplication; parts of a number */
#define MACS_s 2
#define MACS_d 2
#define MACS_c 8
#define MACS_z 8
#define MULS_s 1
#define MULS_d 1
#define MULS_c 6
#define MULS_z 6
#define PARTS_s 1
#define PARTS_d 1
#define PARTS_c 2
#define PARTS_z 2

/* ---- arguments -------------------------------------------------------------- */

static inline int32_t blas_int(W at)
{
    return *(const int32_t *)at;
}

static inline bool blas_is_letter(W at, char letter)
{
    return (*(const char *)at | 32) == letter;
}

/* By their bits: neither 0 nor -0. A comparison would take longer, and set the
 * program's floating-point flags where there is no number. */
static inline bool blas_nonzero_f(W at, int parts)
{
    const uint32_t *v = (const uint32_t *)at;
    return ((v[0] | (parts > 1 ? v[1] : 0)) << 1) != 0;
}

static inline bool blas_nonzero_d(W at, int parts)
{
    const uint64_t *v = (const uint64_t *)at;
    return ((v[0] | (parts > 1 ? v[1] : 0)) << 1) != 0;
}

#define INT(a) blas_int(a)
#define LEFT(a) blas_is_letter(a, 'l')
#define PLAIN(a) blas_is_letter(a, 'n')
#define C_LEFT(a) ((int32_t)(a) == 141)  /* CblasLeft */
#define C_PLAIN(a) ((int32_t)(a) == 111) /* CblasNoTrans */
#define NONZERO_s(v) (!((v) == 0))
#define NONZERO_d(v) (!((v) == 0))
#define NONZERO_c(a) blas_nonzero_f(a, 2)
#define NONZERO_z(a) blas_nonzero_d(a, 2)
#define NONZERO_sb(v) (!((v) == 0))
#define AT_s(a) blas_nonzero_f(a, 1)
#define AT_d(a) blas_nonzero_d(a, 1)
#define AT_c(a) blas_nonzero_f(a, 2)
#define AT_z(a) blas_nonzero_d(a, 2)
#define AT_sb(a) blas_nonzero_f(a, 1)

/* ---- work ------------------------------------------------------------------- */

/* In registers until all of it is known. The dims are in words, two each: they are
 * compared so, and what is written in halves takes long to be read as a whole. */
struct blas_work {
    double flops, bytes;
    axp_dtype dtype;
    uint64_t dims[2];
};
#define WORK static inline __attribute__((always_inline)) struct blas_work

static inline uint64_t blas_dims(int32_t first, int32_t second)
{
    return (uint32_t)first | (uint64_t)(uint32_t)second << 32;
}

/* Once, where the recorder reads it. */
static inline void blas_put(axp_work *to, struct blas_work work)
{
    const uint64_t dims[3] = {work.dims[0], work.dims[1], 0};
    _Static_assert(sizeof dims == sizeof to->dims, "six of them");
    to->flops = work.flops;
    to->bytes = work.bytes;
    to->dtype = work.dtype;
    __builtin_memcpy(to->dims, dims, sizeof dims);
}

/* FLOPs are those of plain numbers, where a multiply-add is 2. */
WORK blas_make(axp_dtype dtype, double flops, double elements)
{
    bool is_complex = dtype == AXP_C64 || dtype == AXP_C128;
    return (struct blas_work){.flops = is_complex ? 4 * flops : flops,
                              .bytes = elements * axp_dtype_bytes(dtype),
                              .dtype = dtype};
}

static inline double blas_half(double n)
{
    return n * (n + 1) / 2;
}

WORK blas_none(void)
{
    return (struct blas_work){.flops = 0};
}

/* Of a product in bfloat16 what is written are floats: two elements. */
WORK blas_gemm(axp_dtype dtype, W m_, W n_, W k_, bool reads)
{
    int32_t m = (int32_t)m_, n = (int32_t)n_, k = (int32_t)k_;
    if (m <= 0 || n <= 0 || k <= 0) return blas_none();
    double M = m, N = n, K = k;
    double out = M * N * (reads ? 2 : 1) * (dtype == AXP_BF16 ? 2 : 1);
    struct blas_work work =
        blas_make(dtype, 2 * M * N * K, M * K + K * N + out);
    work.dims[0] = blas_dims(m, n);
    work.dims[1] = blas_dims(k, 0);
    return work;
}

/* So many products; dims begin with their number. */
WORK blas_times(W batch_, struct blas_work one)
{
    int32_t batch = (int32_t)batch_;
    if (batch <= 0 || !one.dims[0]) return blas_none();
    return (struct blas_work){.flops = one.flops * batch,
                              .bytes = one.bytes * batch,
                              .dtype = one.dtype,
                              .dims = {(uint32_t)batch | one.dims[0] << 32,
                                       one.dims[0] >> 32 | one.dims[1] << 32}};
}

/* Groups of them, each with one size. Of several groups the number of products
 * is all that they have in common. What is written is taken to be read. */
WORK blas_gemm_batch(axp_dtype dtype, W n_groups_, W counts_, W m_, W n_, W k_)
{
    const int32_t *counts = (const int32_t *)counts_, *m = (const int32_t *)m_;
    const int32_t *n = (const int32_t *)n_, *k = (const int32_t *)k_;
    struct blas_work sum = blas_none();
    int32_t n_groups = (int32_t)n_groups_;
    for (int32_t i = 0; i < n_groups; i++) {
        struct blas_work one =
            blas_times(counts[i], blas_gemm(dtype, m[i], n[i], k[i], true));
        if (n_groups == 1) return one;
        sum.flops += one.flops;
        sum.bytes += one.bytes;
        sum.dims[0] += (uint32_t)one.dims[0];
    }
    sum.dtype = dtype;
    return sum;
}

WORK blas_symm(axp_dtype dtype, bool is_left, W m_, W n_, bool reads)
{
    int32_t m = (int32_t)m_, n = (int32_t)n_;
    if (m <= 0 || n <= 0) return blas_none();
    double M = m, N = n, order = is_left ? m : n;
    struct blas_work work = blas_make(
        dtype, 2 * M * N * order, blas_half(order) + M * N * (reads ? 3 : 2));
    work.dims[0] = blas_dims(m, n);
    return work;
}

/* times: how many products of n x k by k x n make it, 1 or 2. */
WORK blas_syrk(axp_dtype dtype, int times, W n_, W k_, bool reads)
{
    int32_t n = (int32_t)n_, k = (int32_t)k_;
    if (n <= 0 || k <= 0) return blas_none();
    double N = n, K = k;
    struct blas_work work =
        blas_make(dtype, times * N * (N + 1) * K,
                  times * N * K + blas_half(N) * (reads ? 2 : 1));
    work.dims[0] = blas_dims(n, k);
    return work;
}

WORK blas_trmm(axp_dtype dtype, bool is_left, W m_, W n_)
{
    int32_t m = (int32_t)m_, n = (int32_t)n_;
    if (m <= 0 || n <= 0) return blas_none();
    double M = m, N = n, order = is_left ? m : n;
    struct blas_work work =
        blas_make(dtype, M * N * order, blas_half(order) + 2 * M * N);
    work.dims[0] = blas_dims(m, n);
    return work;
}

WORK blas_gemv(axp_dtype dtype, bool is_plain, W m_, W n_, bool reads)
{
    int32_t m = (int32_t)m_, n = (int32_t)n_;
    if (m <= 0 || n <= 0) return blas_none();
    double M = m, N = n, out = is_plain ? m : n, in = is_plain ? n : m;
    out *= (reads ? 2 : 1) * (dtype == AXP_BF16 ? 2 : 1);
    struct blas_work work = blas_make(dtype, 2 * M * N, M * N + in + out);
    work.dims[0] = blas_dims(m, n);
    return work;
}

WORK blas_ger(axp_dtype dtype, W m_, W n_)
{
    int32_t m = (int32_t)m_, n = (int32_t)n_;
    if (m <= 0 || n <= 0) return blas_none();
    double M = m, N = n;
    struct blas_work work = blas_make(dtype, 2 * M * N, 2 * M * N + M + N);
    work.dims[0] = blas_dims(m, n);
    return work;
}

/* A square matrix and vectors of its order. */
WORK blas_square(axp_dtype dtype, W n_, double flops, double elements)
{
    int32_t n = (int32_t)n_;
    if (n <= 0) return blas_none();
    struct blas_work work = blas_make(dtype, flops, elements);
    work.dims[0] = blas_dims(n, 0);
    return work;
}

WORK blas_symv(axp_dtype dtype, W n, bool reads)
{
    double N = (int32_t)n;
    return blas_square(dtype, n, 2 * N * N, blas_half(N) + N * (reads ? 3 : 2));
}

WORK blas_syr(axp_dtype dtype, int times, W n)
{
    double N = (int32_t)n;
    return blas_square(dtype, n, times * N * (N + 1),
                       2 * blas_half(N) + times * N);
}

WORK blas_trmv(axp_dtype dtype, W n)
{
    double N = (int32_t)n;
    return blas_square(dtype, n, N * N, blas_half(N) + 2 * N);
}

WORK blas_vector(axp_dtype dtype, double flops, double vectors, W n_)
{
    int32_t n = (int32_t)n_;
    if (n <= 0) return blas_none();
    struct blas_work work = {.flops = flops * n,
                             .bytes = vectors * n * axp_dtype_bytes(dtype),
                             .dtype = dtype};
    work.dims[0] = blas_dims(n, 0);
    return work;
}

#endif
