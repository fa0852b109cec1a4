/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_model.c: the tensors of the model: where they are and how they start.
 *
 * Weights and gradients are one block of memory each, cut into tensors by
 * list_tensors(); what the forward pass remembers is a block for each tensor,
 * so that the profile can tell which of them fills the memory. */
#include "gpt_model.h"

#include <math.h>

#include "gpt_memory.h"
#include "gpt_random.h"

enum { TENSORS_PER_BLOCK = 12, TENSORS_OUTSIDE = 4 };

/* The two places that will point at a tensor, once there is memory for it. */
typedef struct tensor_slot {
    real **weight, **grad;
} tensor_slot;

typedef struct tensor_list {
    gpt_model *model;
    tensor_slot *slots;
    size_t layer;
} tensor_list;

static void add_tensor(tensor_list *list, const char *name, gpt_role role,
                       size_t count, real **weight, real **grad)
{
    gpt_model *m = list->model;
    list->slots[m->n_tensors] = (tensor_slot){weight, grad};
    m->tensors[m->n_tensors++] = (gpt_tensor){.name = name,
                                              .layer = list->layer,
                                              .role = role,
                                              .count = count,
                                              .offset = m->n_weights};
    m->n_weights += count;
}

#define ADD(role, count, field)                                                \
    add_tensor(list, #field, role, count, &w->field, &g->field)

static void list_block(tensor_list *list, gpt_block *w, gpt_block *g)
{
    const size_t c = list->model->config.width;
    ADD(GPT_GAIN, c, norm1_gain);
    ADD(GPT_BIAS, c, norm1_bias);
    ADD(GPT_MATRIX, 3 * c * c, qkv_weight);
    ADD(GPT_BIAS, 3 * c, qkv_bias);
    ADD(GPT_BRANCH_END, c * c, proj_weight);
    ADD(GPT_BIAS, c, proj_bias);
    ADD(GPT_GAIN, c, norm2_gain);
    ADD(GPT_BIAS, c, norm2_bias);
    ADD(GPT_MATRIX, 4 * c * c, up_weight);
    ADD(GPT_BIAS, 4 * c, up_bias);
    ADD(GPT_BRANCH_END, 4 * c * c, down_weight);
    ADD(GPT_BIAS, c, down_bias);
}

static void list_tensors(tensor_list *list)
{
    const gpt_config *config = &list->model->config;
    gpt_weights *w = &list->model->weights, *g = &list->model->grads;
    const size_t c = config->width;

    ADD(GPT_MATRIX, config->vocab * c, token_table);
    ADD(GPT_MATRIX, config->seq * c, position_table);
    for (size_t l = 0; l < config->layers; l++) {
        list->layer = l;
        list_block(list, &w->blocks[l], &g->blocks[l]);
    }
    list->layer = 0;
    ADD(GPT_GAIN, c, norm_gain);
    ADD(GPT_BIAS, c, norm_bias);
}

static void bind_tensors(gpt_model *m, const tensor_slot *slots)
{
    for (size_t i = 0; i < m->n_tensors; i++) {
        *slots[i].weight = m->weights.data + m->tensors[i].offset;
        *slots[i].grad = m->grads.data + m->tensors[i].offset;
    }
}

static void create_weights(gpt_model *m)
{
    const size_t layers = m->config.layers;
    const size_t cap = layers * TENSORS_PER_BLOCK + TENSORS_OUTSIDE;
    gpt_weights *w = &m->weights, *g = &m->grads;

    m->tensors = gpt_alloc("tables", AXP_MEM_NONE, cap, sizeof *m->tensors);
    w->blocks = gpt_alloc("tables", AXP_MEM_NONE, layers, sizeof *w->blocks);
    g->blocks = gpt_alloc("tables", AXP_MEM_NONE, layers, sizeof *g->blocks);
    tensor_list list = {.model = m};
    list.slots = gpt_alloc("tables", AXP_MEM_NONE, cap, sizeof *list.slots);
    list_tensors(&list);
    w->data = gpt_alloc("weights", AXP_MEM_WEIGHT, m->n_weights, sizeof(real));
    g->data =
        gpt_alloc("gradients", AXP_MEM_GRADIENT, m->n_weights, sizeof(real));
    bind_tensors(m, list.slots);
    gpt_free(list.slots);
}

/* As GPT-2 does: gains 1, biases 0, matrices normal with deviation 0.02, and
 * less for those that add to the residual stream, two of which are in each
 * layer. */
static void start_weights(gpt_model *m)
{
    const double branches = 2.0 * (double)m->config.layers;
    uint64_t random = m->config.seed;

    for (size_t i = 0; i < m->n_tensors; i++) {
        const gpt_tensor *t = &m->tensors[i];
        real *w = m->weights.data + t->offset;
        const double deviation =
            t->role == GPT_BRANCH_END ? 0.02 / sqrt(branches) : 0.02;
        for (size_t j = 0; j < t->count; j++) {
            if (t->role == GPT_GAIN)
                w[j] = 1;
            else if (t->role == GPT_BIAS)
                w[j] = 0;
            else
                w[j] = (real)(deviation * gpt_random_normal(&random));
        }
    }
}

/* Calls visit for everything in the trace: to allocate it, and to free it. */
typedef void trace_visit(real **slot, const char *name, size_t count);

static void visit_block_trace(gpt_block_trace *b, const gpt_config *config,
                              trace_visit *visit)
{
    const size_t rows = gpt_row_count(config), narrow = rows * config->width;
    visit(&b->norm1, "activation.norm", narrow);
    visit(&b->mean1, "activation.stats", rows);
    visit(&b->rstd1, "activation.stats", rows);
    visit(&b->qkv, "activation.qkv", 3 * narrow);
    visit(&b->probs, "activation.probs", rows * config->heads * config->seq);
    visit(&b->mixed, "activation.mixed", narrow);
    visit(&b->middle, "activation.residual", narrow);
    visit(&b->norm2, "activation.norm", narrow);
    visit(&b->mean2, "activation.stats", rows);
    visit(&b->rstd2, "activation.stats", rows);
    visit(&b->up, "activation.up", 4 * narrow);
    visit(&b->gelu, "activation.gelu", 4 * narrow);
    visit(&b->out, "activation.residual", narrow);
}

static void visit_trace(gpt_trace *t, const gpt_config *config,
                        trace_visit *visit)
{
    const size_t rows = gpt_row_count(config), narrow = rows * config->width;
    visit(&t->embedded, "activation.residual", narrow);
    for (size_t l = 0; l < config->layers; l++)
        visit_block_trace(&t->blocks[l], config, visit);
    visit(&t->branch, "activation.branch", narrow);
    visit(&t->norm, "activation.norm", narrow);
    visit(&t->mean, "activation.stats", rows);
    visit(&t->rstd, "activation.stats", rows);
    visit(&t->logits, "activation.logits", rows * config->vocab);
    visit(&t->losses, "activation.stats", rows);
}

static void allocate_slot(real **slot, const char *name, size_t count)
{
    *slot = gpt_alloc(name, AXP_MEM_ACTIVATION, count, sizeof **slot);
}

static void free_slot(real **slot, const char *name, size_t count)
{
    (void)name;
    (void)count;
    gpt_free(*slot);
    *slot = NULL;
}

void gpt_model_init(gpt_model *model, const gpt_config *config)
{
    *model = (gpt_model){.config = *config};
    create_weights(model);
    start_weights(model);
    model->trace.blocks = gpt_alloc("tables", AXP_MEM_NONE, config->layers,
                                    sizeof *model->trace.blocks);
    visit_trace(&model->trace, config, allocate_slot);
}

void gpt_model_destroy(gpt_model *model)
{
    visit_trace(&model->trace, &model->config, free_slot);
    gpt_free(model->trace.blocks);
    gpt_free(model->weights.data);
    gpt_free(model->grads.data);
    gpt_free(model->weights.blocks);
    gpt_free(model->grads.blocks);
    gpt_free(model->tensors);
    *model = (gpt_model){0};
}
