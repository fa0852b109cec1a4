/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_train.h: model, optimizer and text together, one step at a time. */
#ifndef GPT_TRAIN_H
#define GPT_TRAIN_H
#include "gpt_data.h"
#include "gpt_model.h"
#include "gpt_optim.h"

typedef struct gpt_trainer {
    gpt_model model;
    gpt_optim optim;
    gpt_text text;
    uint32_t *tokens, *targets; /* [batch, seq] */
} gpt_trainer;

void gpt_trainer_init(gpt_trainer *trainer, const gpt_config *config,
                      double rate);
void gpt_trainer_destroy(gpt_trainer *trainer);

/* Returns the loss before the weights were moved. */
double gpt_train_step(gpt_trainer *trainer);

#endif
