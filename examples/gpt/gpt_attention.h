/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_attention.h: causal multi-head self-attention. */
#ifndef GPT_ATTENTION_H
#define GPT_ATTENTION_H
#include <stddef.h>

#include "gpt_real.h"

/* With rows = batch * seq:
 *   qkv    [rows, 3 width]             queries, keys and values side by side
 *   probs  [batch, heads, seq, seq]    what each position attends to
 *   out    [rows, width] */
typedef struct gpt_attention {
    size_t batch, seq, heads, width;
} gpt_attention;

void gpt_attention_forward(gpt_attention size, real *out, real *probs,
                           const real *qkv);
/* Sets dqkv. */
void gpt_attention_backward(gpt_attention size, real *dqkv, const real *dout,
                            const real *probs, const real *qkv);

#endif
