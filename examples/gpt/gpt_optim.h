/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_optim.h: AdamW, with weight decay on the matrices only. */
#ifndef GPT_OPTIM_H
#define GPT_OPTIM_H
#include <stddef.h>

#include "gpt_model.h"

typedef struct gpt_optim {
    double rate;  /* how far a step goes */
    size_t step;  /* how many were made */
    real *mean;   /* running means of the gradient and of its square: */
    real *square; /* [n_weights] each */
} gpt_optim;

void gpt_optim_init(gpt_optim *optim, const gpt_model *model, double rate);
void gpt_optim_destroy(gpt_optim *optim);

/* Moves the model's weights by its gradients. */
void gpt_optim_step(gpt_optim *optim, gpt_model *model);

#endif
