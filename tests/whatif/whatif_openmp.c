/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The same with OpenMP: see whatif_program.c. A part that one thread does alone,
 * a loop whose iterations differ, and a critical section. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof.h>

#include "timed_support.h"

#define UNIT 1000000 /* additions: about 0.4 ms */
#define STEPS 60
#define THREADS 2

static int n_changes;
static char **changes;

static double factor_of(const char *name)
{
    size_t len = strlen(name);
    double factor = 1;
    for (int i = 0; i < n_changes; i++)
        if (!strncmp(changes[i], name, len) && changes[i][len] == '=')
            factor *= atof(changes[i] + len + 1);
    return factor;
}

static void operation(const char *name, double units)
{
    uint64_t scope = axp_begin(axp_global(), name);
    TIMED_SPIN(units * factor_of(name) * UNIT);
    axp_end(scope);
}

/* The first half of the loop is the longer one. */
static void train(void)
{
    for (int i = 0; i < STEPS; i++) {
        operation("prepare", 4);
#pragma omp parallel for num_threads(THREADS) schedule(static)
        for (int k = 0; k < 4; k++)
            operation(k < 2 ? "large" : "small", k < 2 ? 5 : 2);
#pragma omp parallel num_threads(THREADS)
        {
            operation("local", 2);
#pragma omp critical
            operation("reduce", 3);
        }
        axp_step(axp_global());
    }
}

int main(int argc, char **argv)
{
    changes = argv + 2;
    n_changes = argc > 2 ? argc - 2 : 0;
    double began = timed_now();
    train();
#pragma omp parallel num_threads(THREADS)
    if (omp_get_thread_num()) timed_thread_done();
    timed_print(began);
    return 0;
}
