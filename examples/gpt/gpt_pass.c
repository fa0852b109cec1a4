/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_pass.c: the forward and the backward pass through the whole model.
 *
 * The layers open their own scopes; here the two passes are named and put into
 * their categories, which the layers inside inherit. */
#include <string.h>

#include "gpt_attention.h"
#include "gpt_layers.h"
#include "gpt_matmul.h"
#include "gpt_memory.h"
#include "gpt_model.h"
#include "gpt_plant.h"
#include "gpt_profile.h"

/* The sizes of the layers, all of which follow from the configuration. */
typedef struct pass_sizes {
    gpt_rows narrow, wide, logits;
    gpt_attention attention;
    gpt_linear qkv, proj, up, down, head;
} pass_sizes;

static pass_sizes sizes_of(const gpt_config *config)
{
    const size_t rows = gpt_row_count(config), c = config->width;
    return (pass_sizes){
        .narrow = {rows, c},
        .wide = {rows, 4 * c},
        .logits = {rows, config->vocab},
        .attention = {config->batch, config->seq, config->heads, c},
        .qkv = {.rows = rows, .k = c, .n = 3 * c},
        .proj = {.rows = rows, .k = c, .n = c},
        .up = {.rows = rows, .k = c, .n = 4 * c},
        .down = {.rows = rows, .k = 4 * c, .n = c},
        .head = {.rows = rows, .k = c, .n = config->vocab},
    };
}

static void project(gpt_linear size, real *out, const real *in,
                    const real *weight, const real *bias)
{
    if (gpt_planted.product)
        gpt_product_by_hand(size, out, in, weight, bias);
    else
        gpt_matmul_forward(size, out, in, weight, bias);
}

static void block_forward(const pass_sizes *s, const gpt_block *w,
                          gpt_block_trace *t, real *branch, const real *in)
{
    gpt_layernorm_forward(s->narrow, t->norm1, t->mean1, t->rstd1, in,
                          w->norm1_gain, w->norm1_bias);
    gpt_matmul_forward(s->qkv, t->qkv, t->norm1, w->qkv_weight, w->qkv_bias);
    gpt_attention_forward(s->attention, t->mixed, t->probs, t->qkv);
    project(s->proj, branch, t->mixed, w->proj_weight, w->proj_bias);
    gpt_residual_forward(s->narrow, t->middle, in, branch);

    gpt_layernorm_forward(s->narrow, t->norm2, t->mean2, t->rstd2, t->middle,
                          w->norm2_gain, w->norm2_bias);
    gpt_matmul_forward(s->up, t->up, t->norm2, w->up_weight, w->up_bias);
    gpt_gelu_forward(s->wide, t->gelu, t->up);
    gpt_matmul_forward(s->down, branch, t->gelu, w->down_weight, w->down_bias);
    gpt_residual_forward(s->narrow, t->out, t->middle, branch);
}

double gpt_forward(gpt_model *model, const uint32_t *tokens,
                   const uint32_t *targets)
{
    AXP_SCOPE("forward");
    AXP_CATEGORY(AXP_CAT_FORWARD);
    const gpt_config *config = &model->config;
    const gpt_weights *w = &model->weights;
    const pass_sizes s = sizes_of(config);
    gpt_trace *t = &model->trace;

    gpt_embedding_forward(s.narrow, config->seq, t->embedded, tokens,
                          w->token_table, w->position_table);
    const real *x = t->embedded;
    for (size_t l = 0; l < config->layers; l++) {
        block_forward(&s, &w->blocks[l], &t->blocks[l], t->branch, x);
        x = t->blocks[l].out;
    }
    gpt_layernorm_forward(s.narrow, t->norm, t->mean, t->rstd, x, w->norm_gain,
                          w->norm_bias);
    gpt_matmul_forward(s.head, t->logits, t->norm, w->token_table, NULL);
    return gpt_cross_entropy(s.logits, t->logits, t->losses, targets);
}

/* Gradients of activations, needed only during a backward pass. */
typedef struct scratch {
    real *dx;      /* [rows, width]: of the residual stream, updated in place */
    real *dnarrow; /* [rows, width] */
    real *dwide;   /* [rows, 4 width]; the first three quarters hold dqkv */
    real *memory;  /* all three */
} scratch;

static scratch scratch_create(gpt_rows narrow)
{
    const size_t count = narrow.rows * narrow.width;
    real *memory = gpt_alloc("backward.scratch", AXP_MEM_TEMPORARY, 6 * count,
                             sizeof *memory);
    return (scratch){memory, memory + count, memory + 2 * count, memory};
}

/* On entry dx is the gradient of the block's output, on return that of in.
 * The branches add theirs to it, since the residual passes it on as it is. */
static void block_backward(const pass_sizes *s, const gpt_block *w,
                           gpt_block *g, const gpt_block_trace *t, scratch d,
                           const real *in)
{
    gpt_matmul_backward(s->down, d.dwide, g->down_weight, g->down_bias, d.dx,
                        t->gelu, w->down_weight);
    gpt_gelu_backward(s->wide, d.dwide, t->up);
    gpt_matmul_backward(s->up, d.dnarrow, g->up_weight, g->up_bias, d.dwide,
                        t->norm2, w->up_weight);
    gpt_layernorm_backward(s->narrow, d.dx, g->norm2_gain, g->norm2_bias,
                           d.dnarrow, t->middle, t->mean2, t->rstd2,
                           w->norm2_gain);

    gpt_matmul_backward(s->proj, d.dnarrow, g->proj_weight, g->proj_bias, d.dx,
                        t->mixed, w->proj_weight);
    gpt_attention_backward(s->attention, d.dwide, d.dnarrow, t->probs, t->qkv);
    gpt_matmul_backward(s->qkv, d.dnarrow, g->qkv_weight, g->qkv_bias, d.dwide,
                        t->norm1, w->qkv_weight);
    gpt_layernorm_backward(s->narrow, d.dx, g->norm1_gain, g->norm1_bias,
                           d.dnarrow, in, t->mean1, t->rstd1, w->norm1_gain);
}

static void clear_gradients(gpt_model *model)
{
    AXP_SCOPE_WORK("zero_grad",
                   .bytes = (double)model->n_weights * (double)sizeof(real));
    memset(model->grads.data, 0, model->n_weights * sizeof(real));
}

void gpt_backward(gpt_model *model, const uint32_t *tokens)
{
    AXP_SCOPE("backward");
    AXP_CATEGORY(AXP_CAT_BACKWARD);
    const gpt_config *config = &model->config;
    const gpt_weights *w = &model->weights;
    const gpt_trace *t = &model->trace;
    const pass_sizes s = sizes_of(config);
    gpt_weights *g = &model->grads;
    scratch d = scratch_create(s.narrow);

    clear_gradients(model);
    gpt_matmul_backward(s.head, d.dnarrow, g->token_table, NULL, t->logits,
                        t->norm, w->token_table);
    gpt_layernorm_backward(s.narrow, d.dx, g->norm_gain, g->norm_bias,
                           d.dnarrow, t->blocks[config->layers - 1].out,
                           t->mean, t->rstd, w->norm_gain);
    for (size_t l = config->layers; l-- > 0;)
        block_backward(&s, &w->blocks[l], &g->blocks[l], &t->blocks[l], d,
                       l > 0 ? t->blocks[l - 1].out : t->embedded);
    gpt_embedding_backward(s.narrow, config->seq, g->token_table,
                           g->position_table, d.dx, tokens);
    gpt_free(d.memory);
}
