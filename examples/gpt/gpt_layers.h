/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_layers.h: the layers that are loops over rows: embedding, LayerNorm,
 * GELU, residual and cross-entropy. A tensor is row-major, [rows, width]; a
 * name that begins with d is the gradient of what follows the d. */
#ifndef GPT_LAYERS_H
#define GPT_LAYERS_H
#include <stddef.h>
#include <stdint.h>

#include "gpt_real.h"

typedef struct gpt_rows {
    size_t rows, width;
} gpt_rows;

/* Row r is at position r % seq of its sequence. */
void gpt_embedding_forward(gpt_rows size, size_t seq, real *out,
                           const uint32_t *tokens, const real *token_table,
                           const real *position_table);
/* Adds to both tables' gradients. */
void gpt_embedding_backward(gpt_rows size, size_t seq, real *dtoken_table,
                            real *dposition_table, const real *dout,
                            const uint32_t *tokens);

/* mean and rstd, [rows], are kept for the backward pass. */
void gpt_layernorm_forward(gpt_rows size, real *out, real *mean, real *rstd,
                           const real *in, const real *gain, const real *bias);
/* Adds to din, dgain and dbias. */
void gpt_layernorm_backward(gpt_rows size, real *din, real *dgain, real *dbias,
                            const real *dout, const real *in, const real *mean,
                            const real *rstd, const real *gain);

void gpt_gelu_forward(gpt_rows size, real *out, const real *in);
/* grad holds the gradient of out on entry and that of in on return. */
void gpt_gelu_backward(gpt_rows size, real *grad, const real *in);

/* out = in + branch. Its gradient is the same for both, so there is nothing to
 * compute in the backward pass. */
void gpt_residual_forward(gpt_rows size, real *out, const real *in,
                          const real *branch);

/* The mean loss of the rows; losses, [rows], is working space. logits becomes
 * its own gradient: forward and backward in one pass over the data. */
double gpt_cross_entropy(gpt_rows size, real *logits, real *losses,
                         const uint32_t *targets);

#endif
