/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rounds of trials; see machine_item.h. */
#include "machine/machine_item.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PASSES (1ull << 40)

struct axp__item *axp__items_add(struct axp__items *s, struct axp__item item)
{
    if (s->n == AXP__MOST_ITEMS) return NULL;
    s->all[s->n] = item;
    return &s->all[s->n++];
}

bool axp__items_tell(struct axp__items *s, double part, const char *what)
{
    const axp_machine_options *o = s->options;
    if (axp__crew_now() > s->limit_s) s->is_stopped = true;
    if (!s->is_stopped && o && o->progress &&
        o->progress(part < 1 ? part : 1, what, o->ctx))
        s->is_stopped = true;
    return s->is_stopped;
}

/* ---- a trial ------------------------------------------------------------------ */

static void run_one(void *ctx, uint32_t thread)
{
    const struct axp__item *item = ctx;
    item->run(item, thread, item->passes);
}

static double time_of(struct axp__items *s, struct axp__item *item)
{
    return axp__crew_run(s->crew, item->threads, run_one, item);
}

/* How many passes take as long as a trial, of the processor's time: one for which
 * a thread waits for its processor is no long one. Not fewer than are known. */
static void find_passes(struct axp__items *s, struct axp__item *item)
{
    if (!item->passes) item->passes = 1;
    for (int i = 0; i < 40 && item->passes < MOST_PASSES; i++) {
        time_of(s, item);
        double ran = axp__crew_ran(s->crew);
        if (ran >= s->trial_s / 2) return;
        double times = ran > 0 ? s->trial_s / ran : 16;
        if (times > 16) times = 16;
        if (times < 2) times = 2;
        item->passes = (uint64_t)((double)item->passes * times);
    }
}

static void try_once(struct axp__items *s, struct axp__item *item)
{
    if (!item->passes) find_passes(s, item);
    double took = time_of(s, item);
    double ran = axp__crew_ran(s->crew);
    if (ran < s->trial_s / 4) { /* the search was disturbed: it goes on */
        find_passes(s, item);
        took = time_of(s, item);
    }
    double work = item->work * (double)item->passes * item->threads;
    if (!(took > 0) || item->n_trials == AXP__MOST_TRIALS) return;
    float rate = (float)(work / took);
    item->rates[item->n_trials++] = rate;
    if (rate <= item->best) return;
    item->best = rate;
    item->lost = (float)axp__crew_lost(s->crew);
}

/* ---- all of them ----------------------------------------------------------------- */

static int by_rate(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Of several items for one figure the best. Trials that a neighbour made slow
 * alike agree: then the best had no processor for a part of its time. */
static void finish(struct axp__item *item)
{
    if (!item->n_trials) return;
    qsort(item->rates, item->n_trials, sizeof *item->rates, by_rate);
    double best = (double)item->rates[item->n_trials - 1];
    double middle = (double)item->rates[item->n_trials / 2];
    double spread = fmax(1 - middle / best, (double)item->lost);
    spread = round(spread * 1000) / 1000; /* as it is stored */
    if (best > item->to->best) *item->to = (struct axp__figure){best, spread};
}

void axp__items_round(struct axp__items *s)
{
    double all = s->end_s - s->begin_s;
    for (size_t i = 0; i < s->n; i++) {
        double part = (axp__crew_now() - s->begin_s) / all;
        if (axp__items_tell(s, part, s->all[i].what)) return;
        try_once(s, &s->all[i]);
    }
}

void axp__items_measure(struct axp__items *s)
{
    for (int round = 1; round < AXP__MOST_TRIALS && !s->is_stopped; round++) {
        axp__items_round(s);
        if (axp__crew_now() >= s->end_s) break;
    }
    for (size_t i = 0; i < s->n; i++)
        finish(&s->all[i]);
}
