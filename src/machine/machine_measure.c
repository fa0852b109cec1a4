/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All that is measured, in its order; see machine.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine/machine_cpu.h"
#include "machine/machine_item.h"

/* Seconds: rounds of trials, and when everything ends. What is under way then
 * may take a little longer. */
#define ROUNDS_S 4.5
#define LIMIT_S 9.0
#define SHORT_ROUNDS_S 1.5
#define SHORT_LIMIT_S 2.5
#define TRIAL_S 0.002

void axp__machine_identify(struct axp__machine *m)
{
    *m = (struct axp__machine){0};
    axp__cpu_identify(m, "");
}

static void measure_with(struct axp__items *s, struct axp__machine *m)
{
    m->n_threads = axp__crew_size(s->crew);
    axp__compute_add(s, m);
    axp__items_round(s); /* memory may take long to be had */
    struct axp__buffers *b = s->is_stopped ? NULL : axp__memory_add(s, m);
    axp__items_measure(s);
    axp__buffers_free(b);
    if (!s->is_stopped) axp__threads_measure(s, m);
}

/* One thread is all of them. */
static void copy_one(struct axp__machine *m)
{
    if (m->n_threads > 1) return;
    for (size_t i = 0; i < m->n_compute; i++)
        m->compute[i].all = m->compute[i].one;
    for (size_t i = 0; i < m->n_memory; i++) {
        m->memory[i].read_all = m->memory[i].read_one;
        m->memory[i].move_all = m->memory[i].move_one;
    }
    for (size_t i = 0; i < m->n_blas; i++)
        m->blas[i].one = m->blas[i].all;
}

void axp__machine_measure(struct axp__machine *m,
                          const axp_machine_options *options)
{
    struct axp__items *s = calloc(1, sizeof *s);
    *m = (struct axp__machine){0};
    axp__cpu_look(m, "");
    m->is_short = options && options->is_short;
    m->is_partial = true;
    m->measured_s = (uint64_t)time(NULL);
    if (getloadavg(&m->load, 1) != 1) m->load = 0;
    if (!s) return;
    s->options = options;
    s->begin_s = axp__crew_now();
    s->end_s = s->begin_s + (m->is_short ? SHORT_ROUNDS_S : ROUNDS_S);
    s->limit_s = s->begin_s + (m->is_short ? SHORT_LIMIT_S : LIMIT_S);
    s->trial_s = TRIAL_S;
    s->crew = axp__crew_create(m->n_threads);
    s->is_stopped = !s->crew;
    if (s->crew) measure_with(s, m);
    axp__crew_destroy(s->crew);
    if (!s->is_stopped && !m->is_short) axp__blas_measure(s, m);
    copy_one(m);
    m->is_partial = s->is_stopped;
    free(s);
}
