/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_real.h: the number type of the model. Training uses float; the gradient
 * check is compiled with -DGPT_DOUBLE, because finite differences in float
 * cannot tell a small mistake from rounding. */
#ifndef GPT_REAL_H
#define GPT_REAL_H

#ifdef GPT_DOUBLE
typedef double real;
#define GPT_DTYPE AXP_F64
#define GPT_CBLAS_GEMM cblas_dgemm
#else
typedef float real;
#define GPT_DTYPE AXP_F32
#define GPT_CBLAS_GEMM cblas_sgemm
#endif

#include <math.h>
#include <stdint.h>
#include <string.h>

/* e^x. In float by a polynomial of six terms, to 3 parts in 10 million: libm has
 * one for one number at a time, this is computed for as many as a register
 * holds. */
static inline real gpt_exp(real x)
{
#ifdef GPT_DOUBLE
    return exp(x);
#else
    const float shift = 12582912.0f; /* 1.5 x 2^23: adding it rounds */
    const float n = (x * 1.44269504f + shift) - shift;
    const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    const float tail =
        0.5f + r * (0.16666667f + r * (0.041666668f + r * (0.0083333340f +
                                                           r * 0.0013888889f)));
    const int32_t low = (int32_t)n < -126 ? -126 : (int32_t)n;
    const int32_t bits = ((low > 127 ? 127 : low) + 127) * (1 << 23);
    float power;
    memcpy(&power, &bits, sizeof power);
    return power * (1 + r + r * r * tail);
#endif
}

#endif
