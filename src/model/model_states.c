/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the scheduler told of threads, beside what they recorded: processor time,
 * and how long each wanted a processor and had none. */
#include <stdlib.h>

#include "model/model_view.h"
#include "wire/wire_states.h"

static int by_thread(const void *a, const void *b)
{
    const struct axp__thread_states *x = a, *y = b;
    if (x->process != y->process) return x->process > y->process ? 1 : -1;
    if (x->tid != y->tid) return x->tid > y->tid ? 1 : -1;
    return (x->begin_ticks > y->begin_ticks) -
           (x->begin_ticks < y->begin_ticks);
}

/* Of those of a thread's id the last that had begun: ids are used again. */
static const struct axp__thread_states *find(const struct axp__capture *c,
                                             uint64_t process, uint64_t tid,
                                             uint64_t ticks)
{
    struct axp__thread_states wanted = {
        .process = process, .tid = tid, .begin_ticks = ticks};
    size_t low = 0, high = c->n_states;
    while (low < high) { /* the first that is after it */
        size_t mid = (low + high) / 2;
        if (by_thread(&c->states[mid], &wanted) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    const struct axp__thread_states *s = low ? &c->states[low - 1] : NULL;
    return s && s->process == process && s->tid == tid ? s : NULL;
}

void axp__view_sort_states(axp_view *v)
{
    struct axp__capture *c = v->capture;
    if (c->n_states)
        qsort(c->states, c->n_states, sizeof *c->states, by_thread);
    for (size_t i = 0; i < c->n_states; i++) {
        v->ran_ns += c->states[i].ran_ns;
        v->ready_ns += c->states[i].ready_ns;
    }
}

static const struct axp__thread_states *states_of(
    const axp_view *v, const struct axp__cap_row *row)
{
    const struct axp__capture *c = v->capture;
    uint64_t whose = axp__cap_whose(c, axp__cap_process_of(c, row->id));
    return find(c, whose, row->tid, row->first);
}

axp_ns axp__view_end_of(const axp_view *v, const struct axp__cap_row *row)
{
    const struct axp__thread_states *s = states_of(v, row);
    return s ? axp__view_time(v, s->end_ticks) : 0;
}

void axp__view_set_states(const axp_view *v, const struct axp__cap_row *row,
                          axp_thread_info *out)
{
    const struct axp__thread_states *s = states_of(v, row);
    if (!s) return;
    out->ready_ns = s->ready_ns;
    out->is_scheduled = true;
    if (!out->cpu_ns) out->cpu_ns = s->ran_ns;
}
