/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_optim.c: AdamW. */
#include "gpt_optim.h"

#include <stdbool.h>
#include <tgmath.h>

#include "gpt_memory.h"
#include "gpt_profile.h"

static const double BETA1 = 0.9, BETA2 = 0.99, EPSILON = 1e-8, DECAY = 0.01;

enum { SPLIT_COUNT = 8192 }; /* smaller tensors do not pay for the threads */

/* The numbers of one step, the same for every weight. */
typedef struct update {
    real rate, decay;
    real keep1, keep2; /* what a running mean keeps of itself */
    real fix1, fix2;   /* make up for the means having started at 0 */
} update;

void gpt_optim_init(gpt_optim *optim, const gpt_model *model, double rate)
{
    const size_t count = model->n_weights;
    *optim = (gpt_optim){.rate = rate};
    optim->mean =
        gpt_alloc("adamw.mean", AXP_MEM_OPTIMIZER, count, sizeof(real));
    optim->square =
        gpt_alloc("adamw.square", AXP_MEM_OPTIMIZER, count, sizeof(real));
}

void gpt_optim_destroy(gpt_optim *optim)
{
    gpt_free(optim->mean);
    gpt_free(optim->square);
    *optim = (gpt_optim){0};
}

static void update_tensor(const update *u, size_t count, real *weight,
                          const real *grad, real *mean, real *square)
{
    const real epsilon = (real)EPSILON;
#pragma omp parallel for if (count >= SPLIT_COUNT)
    for (size_t i = 0; i < count; i++) {
        const real g = grad[i];
        mean[i] = u->keep1 * mean[i] + (1 - u->keep1) * g;
        square[i] = u->keep2 * square[i] + (1 - u->keep2) * g * g;
        const real size = sqrt(square[i] * u->fix2) + epsilon;
        weight[i] -=
            u->rate * (mean[i] * u->fix1 / size + u->decay * weight[i]);
    }
}

/* 16 operations for a weight: 3 for the mean, 4 for the square, 3 for the size,
 * 2 for the direction, 2 for the decay, 2 for the step. Reads the weight, the
 * gradient and both means; writes all but the gradient. */
static void adamw(const gpt_optim *optim, const gpt_model *model, update u)
{
    AXP_SCOPE_WORK("adamw", GPT_TENSOR_WORK(1, model->n_weights, 16, 7));

    for (size_t i = 0; i < model->n_tensors; i++) {
        const gpt_tensor *t = &model->tensors[i];
        const bool is_matrix =
            t->role == GPT_MATRIX || t->role == GPT_BRANCH_END;
        u.decay = is_matrix ? (real)DECAY : 0;
        update_tensor(&u, t->count, model->weights.data + t->offset,
                      model->grads.data + t->offset, optim->mean + t->offset,
                      optim->square + t->offset);
    }
}

void gpt_optim_step(gpt_optim *optim, gpt_model *model)
{
    AXP_SCOPE("optimizer");
    AXP_CATEGORY(AXP_CAT_OPTIMIZER);

    const double step = (double)++optim->step;
    adamw(optim, model,
          (update){.rate = (real)optim->rate,
                   .keep1 = (real)BETA1,
                   .keep2 = (real)BETA2,
                   .fix1 = (real)(1 / (1 - pow(BETA1, step))),
                   .fix2 = (real)(1 / (1 - pow(BETA2, step)))});
}
