/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who stood ready and did not want to go on; see model_idle.h. */
#include "model/model_idle.h"

#include <stdlib.h>

#include "model/model_slots.h"
#include "wire/wire_states.h"

/* At times, for all waits together, and at threads: waits may be within waits. */
#define MOST_LOOKS ((uint64_t)1 << 27)

struct axp__idle_time {
    axp_ns begin, end; /* it stood ready; … */
    axp_ns idle_ns;    /* … so long of that in a wait, in vain */
};

struct axp__idle_sum { /* of a thread */
    axp_ns idle_ns, spun_ns;
};

static axp_ns least(axp_ns a, axp_ns b)
{
    return a < b ? a : b;
}

static bool add_ready(struct axp__idle *i, const struct axp__record *r)
{
    void *at = i->at;
    if (!axp__array_grow(&at, &i->cap, i->n + 1, sizeof *i->at)) return false;
    i->at = at;
    i->at[i->n++] = (struct axp__idle_time){
        .begin = r->time_ns - least(r->id, r->time_ns), .end = r->time_ns};
    return true;
}

/* A wait in a wait says the same of its time once more. Of one that nobody is known
 * to have ended it is not known when that was. */
static void add_wait(struct axp__idle *i, const struct axp__record *r)
{
    axp_ns given = least(r->end_ns, r->time_ns);
    if (r->from_row == UINT32_MAX) return;
    for (size_t k = i->n; k-- && i->n_looks++ < MOST_LOOKS;) {
        struct axp__idle_time *t = &i->at[k];
        if (t->end <= r->begin_ns) break;
        axp_ns begin = t->begin > r->begin_ns ? t->begin : r->begin_ns;
        axp_ns end = least(t->end, given);
        if (end > begin && end - begin > t->idle_ns) t->idle_ns = end - begin;
    }
}

static void end_row(struct axp__idle *i, const struct axp__stream *s)
{
    const struct axp__cap_row *row =
        i->n || i->spun_ns ? axp__stream_row(s, i->row)->cap : NULL;
    size_t state = row ? axp__view_state_of(i->v, row) : 0;
    struct axp__idle_sum none = {0},
                         *sum = state ? &i->of_states[state - 1] : &none;
    for (size_t k = 0; k < i->n; k++) {
        const struct axp__idle_time *t = &i->at[k];
        bool is_idle = i->is_pooled && k >= i->n_before; /* to its end */
        sum->idle_ns += is_idle ? t->end - t->begin : t->idle_ns;
    }
    sum->spun_ns += i->spun_ns;
    i->n = 0;
    i->spun_ns = 0;
    i->is_pooled = false;
}

static void see_pool(struct axp__idle *i, const struct axp__record *r)
{
    if (r->kind != AXP__R_SYNC ||
        (axp__record_sync(r) != AXP_SYNC_REGION && !axp__record_is_back(r)))
        return;
    i->is_pooled = axp__record_is_back(r);
    i->n_before = i->n;
}

bool axp__idle_is_pooled(const struct axp__idle *i)
{
    return i->is_pooled;
}

bool axp__idle_take(struct axp__idle *i, const struct axp__stream *s,
                    const struct axp__record *r)
{
    size_t n_states = i->v->capture->n_states;
    if (n_states && !i->of_states)
        i->of_states = calloc(n_states, sizeof *i->of_states);
    if (n_states && !i->of_states) return false;
    if (r->row != i->row) end_row(i, s);
    i->row = r->row;
    see_pool(i, r);
    if (!n_states) return true;
    if (r->kind == AXP__R_SAMPLE)
        return r->argument != AXP_SAMPLE_READY || add_ready(i, r);
    if (r->kind == AXP__R_SYNC && axp__record_verb(r) == AXP_SYNC_WAITED)
        add_wait(i, r);
    return true;
}

void axp__idle_spun(struct axp__idle *i, axp_ns ns)
{
    i->spun_ns += ns;
}

/* Its line among the threads, which has its sums; those of rows that none told of
 * have others'. */
static void tell_line(struct axp__idle *i, const struct axp__thread_states *s,
                      struct axp__idle_sum sum)
{
    axp_view *v = i->v;
    for (size_t k = 0; k < v->n_threads && i->n_looks++ < 2 * MOST_LOOKS; k++) {
        axp_thread_info *t = &v->threads[k];
        if (t->id != s->tid || t->process_id != (s->process & UINT32_MAX) ||
            !t->is_scheduled || t->ready_ns != s->ready_ns)
            continue;
        t->ready_ns -= sum.idle_ns;
        t->off_ns += sum.idle_ns;
        t->spun_ns += sum.spun_ns;
        return;
    }
}

void axp__idle_keep(struct axp__idle *i, const struct axp__stream *s)
{
    struct axp__capture *c = i->v->capture;
    end_row(i, s);
    for (size_t k = 0; i->of_states && k < c->n_states; k++) {
        struct axp__thread_states *of = &c->states[k];
        struct axp__idle_sum sum = i->of_states[k];
        sum.idle_ns = least(sum.idle_ns, of->ready_ns);
        axp_ns ns = sum.idle_ns;
        if (!ns && !sum.spun_ns) continue;
        tell_line(i, of, sum);
        of->ready_ns -= ns;
        of->waited_ns += ns;
        i->v->ready_ns -= least(ns, i->v->ready_ns);
        i->v->idle_ready_ns += ns;
    }
}

void axp__idle_fini(struct axp__idle *i)
{
    free(i->at);
    free(i->of_states);
}
