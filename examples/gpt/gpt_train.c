/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_train.c: one training step, and the marks it leaves in the profile. */
#include "gpt_train.h"

#include "gpt_memory.h"
#include "gpt_profile.h"

void gpt_trainer_init(gpt_trainer *trainer, const gpt_config *config,
                      double rate)
{
    const size_t rows = gpt_row_count(config);
    gpt_model_init(&trainer->model, config);
    gpt_optim_init(&trainer->optim, &trainer->model, rate);
    gpt_text_init(&trainer->text, config->vocab, config->seed);
    trainer->tokens =
        gpt_alloc("tokens", AXP_MEM_INPUT, rows, sizeof *trainer->tokens);
    trainer->targets =
        gpt_alloc("tokens", AXP_MEM_INPUT, rows, sizeof *trainer->targets);
}

void gpt_trainer_destroy(gpt_trainer *trainer)
{
    gpt_free(trainer->targets);
    gpt_free(trainer->tokens);
    gpt_text_destroy(&trainer->text);
    gpt_optim_destroy(&trainer->optim);
    gpt_model_destroy(&trainer->model);
}

double gpt_train_step(gpt_trainer *trainer)
{
    const size_t rows = gpt_row_count(&trainer->model.config);

    gpt_text_batch(&trainer->text, trainer->tokens, trainer->targets, rows);
    const double loss =
        gpt_forward(&trainer->model, trainer->tokens, trainer->targets);
    gpt_backward(&trainer->model, trainer->tokens);
    gpt_optim_step(&trainer->optim, &trainer->model);

    AXP_COUNTER("loss", loss);
    AXP_COUNTER("tokens", (double)(trainer->optim.step * rows));
    AXP_STEP();
    return loss;
}
