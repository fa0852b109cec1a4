/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_profile.h: what this program adds to axprof's own macros: the work of an
 * operation in one line. */
#ifndef GPT_PROFILE_H
#define GPT_PROFILE_H
#include <axprof/axprof.h>

#include "gpt_real.h"

/* Arguments for AXP_SCOPE_WORK. A product of m x k and k x n is m n k
 * multiply-adds, and touches each of its three matrices once. */
#define GPT_PRODUCT_WORK(m, n, k)                                              \
    .flops = 2.0 * (double)(m) * (double)(n) * (double)(k),                    \
    .bytes = (double)sizeof(real) *                                            \
             ((double)(m) * (double)(k) + (double)(k) * (double)(n) +          \
              (double)(m) * (double)(n)),                                      \
    .dtype = GPT_DTYPE, .dims = {(uint32_t)(m), (uint32_t)(n), (uint32_t)(k)}

/* An operation on a rows x width tensor. Every element costs flops_each
 * operations (an exp, sqrt, division or comparison counts as one) and moves
 * moves_each elements between memory and the processor. Vectors of one row
 * or one column are small beside the tensor and are not counted. */
#define GPT_TENSOR_WORK(rows, width, flops_each, moves_each)                   \
    .flops = (double)(flops_each) * (double)(rows) * (double)(width),          \
    .bytes = (double)(moves_each) * (double)(rows) * (double)(width) *         \
             (double)sizeof(real),                                             \
    .dtype = GPT_DTYPE, .dims = {(uint32_t)(rows), (uint32_t)(width)}

#endif
