/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The frame of programs with planted causes; see diagnosis_cause.h. */
#include "diagnosis_cause.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

double cause_k;
pthread_barrier_t cause_barrier;
static bool is_marked = true;
static uint64_t seed = 1;
static __thread uint64_t random_state;

/* ---- marks ---------------------------------------------------------------------- */

uint64_t cause_begin(const char *name)
{
    return is_marked ? axp_begin(axp_global(), name) : 0;
}

uint64_t cause_begin_work(const char *name, axp_work work)
{
    uint64_t scope = cause_begin(name);
    if (is_marked) axp_add_work(axp_global(), work);
    return scope;
}

void cause_data(void)
{
    if (is_marked) axp_category(axp_global(), AXP_CAT_DATA);
}

void cause_step(void)
{
    if (is_marked) axp_step(axp_global());
}

void cause_alloc(const char *name, void *block, size_t bytes)
{
    if (is_marked) axp_track_alloc(axp_global(), name, block, bytes);
}

void cause_free(void *block)
{
    if (is_marked) axp_track_free(axp_global(), block);
    free(block);
}

/* ---- work ------------------------------------------------------------------------- */

double cause_random(void)
{
    if (!random_state) random_state = seed * 0x9e3779b97f4a7c15u + 1;
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) * 0x1p-53;
}

double cause_jitter(void)
{
    return 0.97 + 0.06 * cause_random();
}

OPERATION(layer_1)
OPERATION(layer_2)
OPERATION(layer_3)
OPERATION(layer_4)
OPERATION(layer_5)
OPERATION(layer_6)
OPERATION(layer_7)
OPERATION(layer_8)

void cause_compute(double units)
{
    static void (*const layers[])(double) = {
        layer_1, layer_2, layer_3, layer_4, layer_5, layer_6, layer_7, layer_8};
    for (int i = 0; i < 8; i++)
        layers[i](units / 8);
}

/* In large pages where there are any: which small ones a process gets is chance,
 * and makes the same loop half as fast. */
void *cause_memory(size_t bytes)
{
    const size_t large = (size_t)2 << 20;
    void *block = NULL;
    if (posix_memalign(&block, bytes < large ? 64 : large, bytes)) abort();
    if (bytes >= large) (void)madvise(block, bytes, MADV_HUGEPAGE);
    return memset(block, 1, bytes);
}

/* ---- threads ------------------------------------------------------------------------ */

struct start {
    void *(*body)(void *);
    void *argument;
};

static void *thread_main(void *argument)
{
    struct start s = *(struct start *)argument;
    free(argument);
    void *result = s.body(s.argument);
    timed_thread_done();
    return result;
}

void cause_start(pthread_t *thread, void *(*body)(void *), void *argument)
{
    struct start *s = malloc(sizeof *s);
    if (!s) abort();
    *s = (struct start){body, argument};
    if (pthread_create(thread, NULL, thread_main, s)) abort();
}

static void (*pair_body)(int me);

static void *second(void *unused)
{
    random_state = seed * 0x9e3779b97f4a7c15u + 2;
    pair_body(1);
    return unused;
}

void cause_pair(void (*body)(int me))
{
    pthread_t thread;
    pair_body = body;
    cause_start(&thread, second, NULL);
    body(0);
    pthread_join(thread, NULL);
}

/* ---- the program ---------------------------------------------------------------------- */

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

static int list(void)
{
    for (const struct cause *c = causes; c->name; c++)
        printf("%s %s %s %s %s\n", c->name, or_dash(c->finding),
               or_dash(c->about), or_dash(c->plain),
               c->is_starving ? "starving" : "-");
    return 0;
}

int main(int argc, char **argv)
{
    const struct cause *c = causes;
    if (argc == 2 && !strcmp(argv[1], "--list")) return list();
    while (argc > 2 && c->name && strcmp(c->name, argv[1]) != 0)
        c++;
    if (argc < 3 || !c->name) {
        fprintf(stderr, "usage: %s CAUSE INTENSITY [SEED [plain]]\n", argv[0]);
        return 2;
    }
    cause_k = atof(argv[2]);
    if (argc > 3) seed = strtoull(argv[3], NULL, 10);
    is_marked = argc < 5 || strcmp(argv[4], "plain") != 0;
    pthread_barrier_init(&cause_barrier, NULL, 2);
    double began = timed_now();
    c->run();
    timed_print(began);
    return 0;
}
