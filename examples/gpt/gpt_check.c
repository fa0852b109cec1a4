/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_check.c: does the model do what it says?
 *   gradients  of every weight against finite differences of the loss
 *   threads    one thread and several give the same gradients
 *   learning   60 steps bring the loss from guessing to having learned
 *   repeats    the same seed gives the same losses, to the bit
 * Compile with -DGPT_DOUBLE for gradients that can be judged closely. */
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt_matmul.h"
#include "gpt_memory.h"
#include "gpt_random.h"
#include "gpt_train.h"

enum { LEARNING_STEPS = 60, REPEAT_STEPS = 10, MANY_THREADS = 3 };

/* The step of the differences; the error that passes; below this size a
 * gradient's error is taken relative to the size, as rounding is absolute. */
#ifdef GPT_DOUBLE
static const double DELTA = 1e-3, TOLERANCE = 1e-5, FLOOR = 1e-4;
static const double THREADS_TOLERANCE = 1e-10;
#else
static const double DELTA = 2e-2, TOLERANCE = 2e-2, FLOOR = 2e-2;
static const double THREADS_TOLERANCE = 1e-3;
#endif

static double relative_error(double a, double b, double floor)
{
    const double size = fmax(fmax(fabs(a), fabs(b)), floor);
    return fabs(a - b) / size;
}

static bool verdict(const char *check, bool passed)
{
    printf("%-10s %s\n", check, passed ? "ok" : "FAILED");
    return passed;
}

/* ---- gradients ---------------------------------------------------------- */
/* Sizes that are small and differ from each other, so that no mix-up of two
 * of them goes unseen. */
static const gpt_config TINY = {.layers = 2,
                                .heads = 3,
                                .width = 12,
                                .vocab = 13,
                                .batch = 5,
                                .seq = 7,
                                .seed = 7};

/* Larger than at a real start, so that every path matters. */
static void scatter_weights(gpt_model *model)
{
    uint64_t random = model->config.seed;
    for (size_t i = 0; i < model->n_tensors; i++) {
        const gpt_tensor *t = &model->tensors[i];
        const double center = t->role == GPT_GAIN ? 1 : 0;
        for (size_t j = 0; j < t->count; j++)
            model->weights.data[t->offset + j] =
                (real)(center + 0.3 * gpt_random_normal(&random));
    }
}

static double loss_at(gpt_trainer *trainer, real *weight, double value)
{
    *weight = (real)value;
    return gpt_forward(&trainer->model, trainer->tokens, trainer->targets);
}

/* The central difference of fourth order: its error shrinks with DELTA^4. */
static double difference(gpt_trainer *trainer, real *weight)
{
    const real kept = *weight;
    const double at = (double)kept;
    const double near = loss_at(trainer, weight, at + DELTA) -
                        loss_at(trainer, weight, at - DELTA);
    const double far = loss_at(trainer, weight, at + 2 * DELTA) -
                       loss_at(trainer, weight, at - 2 * DELTA);
    *weight = kept;
    return (8 * near - far) / (12 * DELTA);
}

static double check_tensor(gpt_trainer *trainer, const gpt_tensor *tensor)
{
    double worst = 0;
    for (size_t j = tensor->offset; j < tensor->offset + tensor->count; j++) {
        const double want =
            difference(trainer, trainer->model.weights.data + j);
        const double got = (double)trainer->model.grads.data[j];
        const double error = relative_error(got, want, FLOOR);
        if (!(error <= worst)) worst = error; /* keeps a NaN */
    }
    if (!(worst < TOLERANCE))
        printf("  %s of layer %zu: error %.2e\n", tensor->name, tensor->layer,
               worst);
    return worst;
}

static bool check_gradients(void)
{
    gpt_trainer trainer;
    gpt_trainer_init(&trainer, &TINY, 1e-3);
    scatter_weights(&trainer.model);
    gpt_model *model = &trainer.model;
    gpt_text_batch(&trainer.text, trainer.tokens, trainer.targets,
                   gpt_row_count(&TINY));
    gpt_forward(model, trainer.tokens, trainer.targets);
    gpt_backward(model, trainer.tokens);

    bool passed = true;
    double worst = 0;
    for (size_t i = 0; i < model->n_tensors; i++) {
        const double error = check_tensor(&trainer, &model->tensors[i]);
        if (!(error < TOLERANCE)) passed = false;
        worst = fmax(worst, error);
    }
    printf("gradients: %zu entries of %zu tensors, largest error %.2e\n",
           model->n_weights, model->n_tensors, worst);
    gpt_trainer_destroy(&trainer);
    return verdict("gradients", passed);
}

/* ---- threads ------------------------------------------------------------ */
static const gpt_config SMALL = {.layers = 2,
                                 .heads = 4,
                                 .width = 48,
                                 .vocab = 32,
                                 .batch = 8,
                                 .seq = 32,
                                 .seed = 3};

/* The gradients of the first batch; the caller frees them. */
static real *first_gradients(int threads)
{
    gpt_trainer trainer;
    omp_set_num_threads(threads);
    gpt_trainer_init(&trainer, &SMALL, 1e-3);
    const size_t count = trainer.model.n_weights;
    real *grads = gpt_alloc("check", AXP_MEM_NONE, count, sizeof *grads);
    gpt_train_step(&trainer);
    memcpy(grads, trainer.model.grads.data, count * sizeof *grads);
    gpt_trainer_destroy(&trainer);
    omp_set_num_threads(1);
    return grads;
}

static bool check_threads(void)
{
    real *one = first_gradients(1), *many = first_gradients(MANY_THREADS);
    gpt_model model;
    gpt_model_init(&model, &SMALL);
    double worst = 0;
    for (size_t i = 0; i < model.n_weights; i++) {
        const double error =
            relative_error((double)one[i], (double)many[i], 1e-3);
        if (!(error <= worst)) worst = error;
    }
    printf("threads: 1 and %d differ by at most %.2e\n", MANY_THREADS, worst);
    gpt_model_destroy(&model);
    gpt_free(one);
    gpt_free(many);
    return verdict("threads", worst < THREADS_TOLERANCE);
}

/* ---- learning and repeats ----------------------------------------------- */
static void run(double *losses, size_t steps)
{
    gpt_trainer trainer;
    gpt_trainer_init(&trainer, &SMALL, 5e-3);
    for (size_t i = 0; i < steps; i++)
        losses[i] = gpt_train_step(&trainer);
    gpt_trainer_destroy(&trainer);
}

static double mean_of(const double *losses, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += losses[i];
    return sum / (double)count;
}

/* From guessing, log(vocab), to having learned what follows a word. */
static bool check_learning(void)
{
    double losses[LEARNING_STEPS];
    run(losses, LEARNING_STEPS);
    const double guess = log((double)SMALL.vocab), first = losses[0];
    const double last = mean_of(losses + LEARNING_STEPS - 5, 5);
    printf("learning: loss %.4f -> %.4f in %d steps, bound %.4f\n", first, last,
           LEARNING_STEPS, GPT_TEXT_LAST_WORD + 0.3);
    return verdict("learning", fabs(first - guess) < 0.2 &&
                                   last < GPT_TEXT_LAST_WORD + 0.3);
}

static bool check_repeats(int threads)
{
    double a[REPEAT_STEPS], b[REPEAT_STEPS];
    omp_set_num_threads(threads);
    run(a, REPEAT_STEPS);
    run(b, REPEAT_STEPS);
    omp_set_num_threads(1);
    printf("repeats: %d steps twice, threads: %d\n", REPEAT_STEPS, threads);
    return verdict("repeats", memcmp(a, b, sizeof a) == 0);
}

int main(void)
{
    gpt_use_one_blas_thread();
    omp_set_dynamic(0);
    omp_set_num_threads(1);
    bool passed = check_gradients();
    passed = check_threads() && passed;
    passed = check_learning() && passed;
    passed = check_repeats(1) && passed;
    passed = check_repeats(MANY_THREADS) && passed;
    return passed ? 0 : 1;
}
