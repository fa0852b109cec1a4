/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_main.c: trains a small GPT on synthetic text and shows where the time
 * and the memory went. */
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof_read.h>

#include "gpt_matmul.h"
#include "gpt_plant.h"
#include "gpt_profile.h"
#include "gpt_train.h"

/* ---- command line ------------------------------------------------------- */
typedef struct settings {
    gpt_config config;
    size_t steps;
    double rate;
    const char *page; /* NULL: none */
} settings;

static const settings DEFAULTS = {
    .config = {.layers = 4,
               .heads = 4,
               .width = 128,
               .vocab = 64,
               .batch = 8,
               .seq = 64,
               .seed = 1},
    .steps = 120,
    .rate = 2e-3,
};

static const char USAGE[] =
    "usage: gpt [--option value]...\n"
    "Trains a small GPT on synthetic text and profiles itself.\n"
    "\n"
    "  --steps N    training steps (120)\n"
    "  --batch N    sequences in a batch (8)\n"
    "  --seq N      tokens in a sequence (64)\n"
    "  --layers N   transformer blocks (4)\n"
    "  --heads N    attention heads (4)\n"
    "  --width N    channels, a multiple of heads (128)\n"
    "  --vocab N    different tokens (64)\n"
    "  --seed N     of the weights and of the text (1)\n"
    "  --lr X       learning rate (0.002)\n"
    "  --plant LIST inefficiencies to leave in: product, split\n"
    "  --html FILE  also write the report as a page for a browser\n"
    "  --help       this text\n";

static bool parse_whole(const char *text, uint64_t min, uint64_t max,
                        uint64_t *out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9') return false; /* no sign, no space */
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0' && *out >= min && *out <= max;
}

static bool set_whole(const char *name, const char *value, uint64_t min,
                      uint64_t max, uint64_t *out)
{
    if (parse_whole(value, min, max, out)) return true;
    fprintf(stderr,
            "gpt: %s must be a whole number from %llu to %llu, not %s\n", name,
            (unsigned long long)min, (unsigned long long)max, value);
    return false;
}

static bool set_size(const char *name, const char *value, uint64_t min,
                     uint64_t max, size_t *out)
{
    uint64_t number;
    if (!set_whole(name, value, min, max, &number)) return false;
    *out = (size_t)number;
    return true;
}

static bool set_rate(const char *name, const char *value, double *out)
{
    char *end;
    *out = strtod(value, &end);
    if (end != value && *end == '\0' && *out > 0 && *out <= 1) return true;
    fprintf(stderr, "gpt: %s must be above 0 and at most 1, not %s\n", name,
            value);
    return false;
}

static bool set_option(settings *s, const char *name, const char *value)
{
    gpt_config *c = &s->config;
    const struct {
        const char *name;
        uint64_t min, max;
        size_t *out;
    } sizes[] = {
        {"--steps", 1, 1000000000, &s->steps},
        {"--batch", 1, 4096, &c->batch},
        {"--seq", 1, 4096, &c->seq},
        {"--layers", 1, 256, &c->layers},
        {"--heads", 1, 256, &c->heads},
        {"--width", 1, 16384, &c->width},
        {"--vocab", 2 * GPT_TEXT_CHOICES, 1000000, &c->vocab},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(name, sizes[i].name) == 0)
            return set_size(name, value, sizes[i].min, sizes[i].max,
                            sizes[i].out);
    if (strcmp(name, "--seed") == 0)
        return set_whole(name, value, 0, UINT64_MAX, &c->seed);
    if (strcmp(name, "--lr") == 0) return set_rate(name, value, &s->rate);
    if (strcmp(name, "--html") == 0) {
        s->page = value;
        return true;
    }
    if (strcmp(name, "--plant") == 0) {
        if (gpt_plant(value)) return true;
        fprintf(stderr, "gpt: --plant knows product and split, not %s\n",
                value);
        return false;
    }
    fprintf(stderr, "gpt: unknown option %s; see gpt --help\n", name);
    return false;
}

static bool parse_arguments(settings *s, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        if (strncmp(argv[i], "--", 2) != 0) {
            fprintf(stderr, "gpt: %s is not an option; see gpt --help\n",
                    argv[i]);
            return false;
        }
        if (i + 1 == argc) {
            fprintf(stderr, "gpt: no value after %s; see gpt --help\n",
                    argv[i]);
            return false;
        }
        if (!set_option(s, argv[i], argv[i + 1])) return false;
    }
    if (s->config.width % s->config.heads != 0) {
        fprintf(stderr,
                "gpt: --width must be a multiple of --heads; %zu is not one "
                "of %zu\n",
                s->config.width, s->config.heads);
        return false;
    }
    return true;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) return true;
    return false;
}

/* ---- training ----------------------------------------------------------- */
/* Names the rows of the timeline. OpenMP keeps its threads from here on. */
static void name_threads(void)
{
#pragma omp parallel
    {
        const int thread = omp_get_thread_num();
        char name[32] = "main";
        if (thread > 0) snprintf(name, sizeof name, "worker %d", thread);
        AXP_THREAD_NAME(name);
    }
}

static void print_start(const settings *s, const gpt_model *model)
{
    const gpt_config *c = &model->config;
    printf("gpt: %zu layers, %zu heads, width %zu, vocab %zu: %zu weights\n",
           c->layers, c->heads, c->width, c->vocab, model->n_weights);
    printf("%zu steps of %zu x %zu tokens on %d threads\n\n", s->steps,
           c->batch, c->seq, omp_get_max_threads());
    printf("%8s %10s %10s %12s\n", "step", "loss", "ms/step", "tokens/s");
}

static void print_progress(size_t step, double loss, double seconds,
                           double tokens)
{
    printf("%8zu %10.4f %10.2f %12.0f\n", step, loss, 1e3 * seconds,
           tokens / seconds);
    fflush(stdout);
}

/* About ten lines for a run, and always the first and the last step. */
static void train(gpt_trainer *trainer, const settings *s)
{
    const size_t interval = s->steps > 10 ? s->steps / 10 : 1;
    const double tokens = (double)gpt_row_count(&s->config);
    const double begin = omp_get_wtime();
    double first = 0, loss = 0, mark = begin;
    size_t marked = 0;

    for (size_t step = 1; step <= s->steps; step++) {
        loss = gpt_train_step(trainer);
        if (step == 1) first = loss;
        if (step != 1 && step % interval != 0 && step != s->steps) continue;
        const double now = omp_get_wtime();
        print_progress(step, loss, (now - mark) / (double)(step - marked),
                       tokens);
        mark = now;
        marked = step;
    }
    const double seconds = omp_get_wtime() - begin;
    const double steps = (double)s->steps;
    printf("\nloss %.4f -> %.4f (at best %.4f), %.2f s, %.2f ms/step, %.0f "
           "tokens/s\n",
           first, loss, GPT_TEXT_ENTROPY, seconds, 1e3 * seconds / steps,
           tokens * steps / seconds);
}

/* The profile as one file that any browser opens, offline. */
static bool write_page(const char *path)
{
#ifndef AXP_DISABLE
    axp_view *view = axp_snapshot(axp_global());
    const bool is_written =
        view && axp_report_export(view, path, AXP_FORMAT_HTML) == AXP_OK;
    if (is_written)
        printf("\nwrote %s: open it in a browser\n", path);
    else
        fprintf(stderr, "gpt: cannot write %s: %s\n", path, axp_last_error());
    axp_view_destroy(view);
    return is_written;
#else
    fprintf(stderr, "gpt: cannot write %s: built without axprof\n", path);
    return false;
#endif
}

int main(int argc, char **argv)
{
    if (wants_help(argc, argv)) {
        fputs(USAGE, stdout);
        return 0;
    }
    settings s = DEFAULTS;
    if (!parse_arguments(&s, argc, argv)) return 2;

    gpt_use_one_blas_thread();
    name_threads();
    gpt_trainer trainer;
    gpt_trainer_init(&trainer, &s.config, s.rate);
    print_start(&s, &trainer.model);
    train(&trainer, &s);
    gpt_trainer_destroy(&trainer);

    putchar('\n');
    /* `axprof run` shows the same report when the program has ended. */
    if (!getenv("AXPROF_RUN_ID")) AXP_CALL(axp_print_summary(axp_global()));
    if (s.page && !write_page(s.page)) return 1;
    return fflush(stdout) == 0 ? 0 : 1;
}
