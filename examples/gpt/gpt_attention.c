/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_attention.c: causal multi-head self-attention.
 *
 * The heads of all sequences are independent of each other, so the threads
 * share them out. Each thread opens an "attention.heads" scope around its part:
 * in the timeline they lie one below the other, and a difference in their
 * length is an imbalance. The work is declared on the operation as a whole. */
#include "gpt_attention.h"

#include <omp.h>
#include <tgmath.h>

#include "gpt_matmul.h"
#include "gpt_memory.h"
#include "gpt_plant.h"
#include "gpt_profile.h"

/* The products are computed as full squares, `products` of them; the softmax
 * costs `flops_each` on the entries on and below the diagonal. qkv and its kind
 * are `wide` tensors, out and its kind `narrow` ones, probs is moved once. */
#define ATTENTION_WORK(s, products, flops_each, wide, narrow)                  \
    .flops = (double)(s).batch * (double)(s).seq *                             \
             (2.0 * (products) * (double)(s).seq * (double)(s).width +         \
              0.5 * (flops_each) * (double)((s).seq + 1) * (double)(s).heads), \
    .bytes = (double)sizeof(real) * (double)(s).batch * (double)(s).seq *      \
             ((3.0 * (wide) + (narrow)) * (double)(s).width +                  \
              (double)(s).seq * (double)(s).heads),                            \
    .dtype = GPT_DTYPE,                                                        \
    .dims = {(uint32_t)(s).batch, (uint32_t)(s).heads, (uint32_t)(s).seq,      \
             (uint32_t)((s).width / (s).heads)}

/* Where one head of one sequence begins in the three kinds of tensor. */
typedef struct head_place {
    size_t qkv, out, probs;
} head_place;

static head_place place_of(gpt_attention s, size_t sequence, size_t head)
{
    const size_t column = head * (s.width / s.heads);
    return (head_place){
        .qkv = sequence * s.seq * 3 * s.width + column,
        .out = sequence * s.seq * s.width + column,
        .probs = (sequence * s.heads + head) * s.seq * s.seq,
    };
}

static real score_scale(gpt_attention s)
{
    return 1 / sqrt((real)(s.width / s.heads));
}

/* Row t sees positions 0 to t; the rest of the row becomes 0. Five operations
 * for an entry: comparison, subtraction, exp, addition, multiplication. */
static void causal_softmax(real *scores, size_t seq)
{
    for (size_t t = 0; t < seq; t++) {
        real *row = scores + t * seq;
        real max = row[0], sum = 0;
        for (size_t i = 1; i <= t; i++)
            if (row[i] > max) max = row[i];
        for (size_t i = 0; i <= t; i++)
            sum += row[i] = exp(row[i] - max);
        const real inverse = 1 / sum;
        for (size_t i = 0; i <= t; i++)
            row[i] *= inverse;
        for (size_t i = t + 1; i < seq; i++)
            row[i] = 0;
    }
}

/* Turns the gradient of the probabilities into that of the scores. Four
 * operations for an entry: a multiply-add, a subtraction, a multiplication. */
static void causal_softmax_backward(real *grad, const real *probs, size_t seq)
{
    for (size_t t = 0; t < seq; t++) {
        real *g = grad + t * seq;
        const real *p = probs + t * seq;
        real dot = 0;
        for (size_t i = 0; i <= t; i++)
            dot += p[i] * g[i];
        for (size_t i = 0; i <= t; i++)
            g[i] = p[i] * (g[i] - dot);
        for (size_t i = t + 1; i < seq; i++)
            g[i] = 0;
    }
}

static void head_forward(gpt_attention s, real *out, real *probs,
                         const real *qkv)
{
    const size_t size = s.width / s.heads, stride = 3 * s.width;
    const real *q = qkv, *k = qkv + s.width, *v = qkv + 2 * s.width;

    gpt_gemm(s.seq, s.seq, size, score_scale(s), gpt_plain(q, stride),
             gpt_transposed(k, stride), 0, probs, s.seq);
    causal_softmax(probs, s.seq);
    gpt_gemm(s.seq, size, s.seq, 1, gpt_plain(probs, s.seq),
             gpt_plain(v, stride), 0, out, s.width);
}

static void head_backward(gpt_attention s, real *dqkv, real *dscores,
                          const real *dout, const real *probs, const real *qkv)
{
    const size_t size = s.width / s.heads, stride = 3 * s.width;
    const real scale = score_scale(s);
    const real *q = qkv, *k = qkv + s.width, *v = qkv + 2 * s.width;
    real *dq = dqkv, *dk = dqkv + s.width, *dv = dqkv + 2 * s.width;

    gpt_gemm(s.seq, size, s.seq, 1, gpt_transposed(probs, s.seq),
             gpt_plain(dout, s.width), 0, dv, stride);
    gpt_gemm(s.seq, s.seq, size, 1, gpt_plain(dout, s.width),
             gpt_transposed(v, stride), 0, dscores, s.seq);
    causal_softmax_backward(dscores, probs, s.seq);
    gpt_gemm(s.seq, size, s.seq, scale, gpt_plain(dscores, s.seq),
             gpt_plain(k, stride), 0, dq, stride);
    gpt_gemm(s.seq, size, s.seq, scale, gpt_transposed(dscores, s.seq),
             gpt_plain(q, stride), 0, dk, stride);
}

void gpt_attention_forward(gpt_attention size, real *out, real *probs,
                           const real *qkv)
{
    /* 2 products; reads qkv, writes probs and out. */
    AXP_SCOPE_WORK("attention.forward", ATTENTION_WORK(size, 2, 5, 1, 1));
    const size_t piece = gpt_split(size.batch * size.heads);

#pragma omp parallel
    {
        AXP_SCOPE("attention.heads");
#pragma omp for collapse(2) schedule(static, piece) nowait
        for (size_t b = 0; b < size.batch; b++)
            for (size_t h = 0; h < size.heads; h++) {
                const head_place at = place_of(size, b, h);
                head_forward(size, out + at.out, probs + at.probs,
                             qkv + at.qkv);
            }
    }
}

void gpt_attention_backward(gpt_attention size, real *dqkv, const real *dout,
                            const real *probs, const real *qkv)
{
    /* 4 products; reads qkv, probs and dout, writes dqkv. */
    AXP_SCOPE_WORK("attention.backward", ATTENTION_WORK(size, 4, 4, 2, 1));
    const size_t piece = gpt_split(size.batch * size.heads);
    const size_t square = size.seq * size.seq;
    real *scratch =
        gpt_alloc("attention.scratch", AXP_MEM_TEMPORARY,
                  (size_t)omp_get_max_threads() * square, sizeof *scratch);

#pragma omp parallel
    {
        AXP_SCOPE("attention.heads");
        real *dscores = scratch + (size_t)omp_get_thread_num() * square;
#pragma omp for collapse(2) schedule(static, piece) nowait
        for (size_t b = 0; b < size.batch; b++)
            for (size_t h = 0; h < size.heads; h++) {
                const head_place at = place_of(size, b, h);
                head_backward(size, dqkv + at.qkv, dscores, dout + at.out,
                              probs + at.probs, qkv + at.qkv);
            }
    }
    gpt_free(scratch);
}
