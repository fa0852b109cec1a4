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

#endif
