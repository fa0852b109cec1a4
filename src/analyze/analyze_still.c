/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When a run stands still; see analyze_still.h. */
#include "analyze/analyze_still.h"

#include <stdlib.h>

#include "model/model_samples.h"
#include "model/model_slots.h"

struct change {
    axp_ns at;
    int known, off; /* threads more */
    uint32_t stack; /* of who is off no more */
};

struct still {
    struct change *at;
    size_t n, cap;
    uint64_t process, thread; /* the last seen … */
    axp_ns first, last;       /* … and what is known of it */
    bool has_thread, has_failed;
};

/* From begin to end. */
static void add(struct still *s, struct change begin, axp_ns end)
{
    void *at = s->at;
    if (s->has_failed ||
        !axp__array_grow(&at, &s->cap, s->n + 2, sizeof *s->at)) {
        s->has_failed = true;
        return;
    }
    s->at = at;
    s->at[s->n++] = begin;
    s->at[s->n++] = (struct change){end, -begin.known, -begin.off, begin.stack};
}

static void end_thread(struct still *s)
{
    if (s->has_thread && s->last > s->first)
        add(s, (struct change){s->first, 1, 0, 0}, s->last);
    s->has_thread = false;
}

/* Thread by thread, each by time. */
static int on_sample(const axp_sample *x, void *ctx)
{
    struct still *s = ctx;
    axp_ns end = x->time_ns, begin = end > x->weight ? end - x->weight : 0;
    if (x->process_id != s->process || x->thread_id != s->thread) {
        end_thread(s);
        s->process = x->process_id;
        s->thread = x->thread_id;
    }
    if (!s->has_thread) s->first = s->last = begin;
    s->has_thread = true;
    if (begin < s->last) begin = s->last; /* it is in one state at a time */
    if (end <= begin) return s->has_failed;
    if (x->kind == AXP_SAMPLE_WAITED)
        add(s, (struct change){begin, 0, 1, x->stack}, end);
    s->last = end;
    return s->has_failed;
}

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

bool axp__still_give(const axp_view *v, axp__still_fn fn, void *ctx)
{
    struct still s = {0};
    int known = 0, off = 0;
    axp_ns ns = 0;
    if (axp__samples_give(v, on_sample, &s)) s.has_failed = true;
    end_thread(&s);
    if (s.n && !s.has_failed) qsort(s.at, s.n, sizeof *s.at, by_time);
    for (size_t i = 0; i < s.n && !s.has_failed; i++) {
        const struct change *c = &s.at[i];
        if (i && known && off == known) ns += c->at - s.at[i - 1].at;
        known += c->known;
        off += c->off;
        bool is_over = ns && off < known; /* by this one */
        if (!is_over && (i + 1 < s.n || !ns)) continue;
        s.has_failed = !fn(ctx, is_over ? c->stack : 0, ns);
        ns = 0;
    }
    free(s.at);
    return !s.has_failed;
}

static bool add_up(void *sum, uint32_t stack, axp_ns ns)
{
    (void)stack;
    *(axp_ns *)sum += ns;
    return true;
}

static int is_off(const axp_sample *x, void *is)
{
    *(bool *)is = x->kind != AXP_SAMPLE_CPU;
    return *(bool *)is;
}

/* Where samples are of processor time alone: what threads together neither ran nor
 * wanted to, as far as the scheduler told of each of them. */
static axp_ns left_over(const axp_view *v)
{
    axp_ns ran = v->ran_ns > v->sampled_ns ? v->ran_ns : v->sampled_ns;
    axp_ns wanted = ran + v->ready_ns + v->idle_ready_ns;
    if (!v->ran_ns || !v->n_threads) return 0;
    for (size_t i = 0; i < v->n_threads; i++)
        if (!v->threads[i].is_scheduled) return 0;
    return wanted < v->duration_ns ? v->duration_ns - wanted : 0;
}

bool axp__still_find(const axp_view *v, axp_ns *out)
{
    axp_ns sum = 0;
    bool has_off = false;
    if (!axp__still_give(v, add_up, &sum)) return false;
    if (!sum) (void)axp__samples_give(v, is_off, &has_off);
    *out = has_off || sum ? sum : left_over(v);
    return true;
}
