/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_model.h: a GPT-2-style transformer: its sizes, its weights, what it
 * remembers of a forward pass, and the two passes.
 *
 *   x = token embedding + position embedding
 *   each block:  x = x + attention(norm1(x))
 *                x = x + down(gelu(up(norm2(x))))
 *   logits = norm(x) times the token embedding, transposed
 */
#ifndef GPT_MODEL_H
#define GPT_MODEL_H
#include <stddef.h>
#include <stdint.h>

#include "gpt_real.h"

typedef struct gpt_config {
    size_t layers, heads, width, vocab; /* width is a multiple of heads */
    size_t batch, seq;                  /* sequences in a batch, their length */
    uint64_t seed;
} gpt_config;

/* The weights, and in the same shape their gradients. */
typedef struct gpt_block {
    real *norm1_gain, *norm1_bias; /* [width] */
    real *qkv_weight, *qkv_bias;   /* [3 width, width], [3 width] */
    real *proj_weight, *proj_bias; /* [width, width], [width] */
    real *norm2_gain, *norm2_bias; /* [width] */
    real *up_weight, *up_bias;     /* [4 width, width], [4 width] */
    real *down_weight, *down_bias; /* [width, 4 width], [width] */
} gpt_block;

typedef struct gpt_weights {
    real *token_table;    /* [vocab, width]; the head too */
    real *position_table; /* [seq, width] */
    gpt_block *blocks;    /* [layers] */
    real *norm_gain, *norm_bias;
    real *data; /* all of the above, one after the other */
} gpt_weights;

/* What a tensor is for decides how it starts and whether it decays. */
typedef enum gpt_role {
    GPT_MATRIX,
    GPT_BRANCH_END, /* a matrix that writes to the residual stream */
    GPT_GAIN,
    GPT_BIAS
} gpt_role;

typedef struct gpt_tensor {
    const char *name;
    size_t layer; /* 0 for those outside the blocks */
    gpt_role role;
    size_t count, offset; /* in weights.data and in grads.data */
} gpt_tensor;

/* What the backward pass needs of the forward pass. rows = batch * seq. */
typedef struct gpt_block_trace {
    real *norm1, *mean1, *rstd1; /* [rows, width], [rows], [rows] */
    real *qkv;                   /* [rows, 3 width] */
    real *probs;                 /* [batch, heads, seq, seq] */
    real *mixed;                 /* [rows, width]: attention's output */
    real *middle;                /* [rows, width]: x between the branches */
    real *norm2, *mean2, *rstd2;
    real *up, *gelu; /* [rows, 4 width] */
    real *out;       /* [rows, width]: x after the block */
} gpt_block_trace;

typedef struct gpt_trace {
    real *embedded;          /* [rows, width] */
    gpt_block_trace *blocks; /* [layers] */
    real *branch;            /* [rows, width]: a branch before it is added */
    real *norm, *mean, *rstd;
    real *logits; /* [rows, vocab]; their gradient after the loss */
    real *losses; /* [rows] */
} gpt_trace;

typedef struct gpt_model {
    gpt_config config;
    gpt_weights weights, grads;
    gpt_tensor *tensors;
    size_t n_tensors;
    size_t n_weights; /* elements of all tensors */
    gpt_trace trace;
} gpt_model;

void gpt_model_init(gpt_model *model, const gpt_config *config);
void gpt_model_destroy(gpt_model *model);

/* tokens and targets are [batch, seq]. Returns the mean loss; every token must
 * be below vocab. */
double gpt_forward(gpt_model *model, const uint32_t *tokens,
                   const uint32_t *targets);
/* Follows a gpt_forward with the same tokens; sets the gradients. */
void gpt_backward(gpt_model *model, const uint32_t *tokens);

static inline size_t gpt_row_count(const gpt_config *config)
{
    return config->batch * config->seq;
}

#endif
