/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Keeping a part of a timeline; see outside_keep.h. */
#include "outside/outside_keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_order.h"
#include "os/os_clock.h"
#include "wire/wire_decode.h"

#define N_DURATIONS 255u
#define N_FIRST 8u /* steps that warm up */
#define MEDIAN_EVERY 16u
#define N_SLOW 256u /* slow steps that waiting chunks may still touch */
#define N_STEPS 4096u
#define N_MARKS 4096u
#define N_WAITING 4096u
#define LEAST_CUT ((uint64_t)1 << 20)

struct waiting {
    struct waiting *next;
    uint64_t begin, end; /* ticks of its first and last event */
    struct axp__chunk chunk;
};

struct span {
    uint64_t begin, end;
};

struct mark {
    uint64_t ticks, offset;
};

struct axp__keep {
    struct axp__keep_rule rule;
    /* Steps: beginnings of the newest, durations, those that were slow. */
    uint64_t begins[N_STEPS], n_steps, last_end;
    uint64_t durations[N_DURATIONS], median;
    struct span slow[N_SLOW];
    uint64_t n_slow;
    struct waiting *first, **last;
    size_t n_waiting;
    struct mark marks[N_MARKS]; /* a ring; oldest at n_marks - N_MARKS */
    uint64_t n_marks;
};

struct axp__keep *axp__keep_create(const struct axp__keep_rule *rule)
{
    struct axp__keep *k = calloc(1, sizeof *k);
    if (!k) return NULL;
    k->rule = *rule;
    k->last = &k->first;
    return k;
}

void axp__keep_destroy(struct axp__keep *k)
{
    for (struct waiting *w = k ? k->first : NULL, *next; w; w = next) {
        next = w->next;
        free(w);
    }
    free(k);
}

/* ---- steps -------------------------------------------------------------------- */

static void find_median(struct axp__keep *k)
{
    uint64_t sorted[N_DURATIONS];
    size_t n = k->n_steps < N_DURATIONS ? (size_t)k->n_steps : N_DURATIONS;
    memcpy(sorted, k->durations, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, axp__by_u64);
    k->median = sorted[n / 2];
}

static bool is_slow(const struct axp__keep *k, uint64_t duration)
{
    const struct axp__keep_rule *r = &k->rule;
    if (r->slow_ticks && duration > r->slow_ticks) return true;
    return r->slow_times > 0 && k->n_steps >= N_FIRST &&
           (double)duration > r->slow_times * (double)k->median;
}

static void add_step(struct axp__keep *k, uint64_t begin, uint64_t end)
{
    uint64_t duration = end > begin ? end - begin : 0;
    if (is_slow(k, duration))
        k->slow[k->n_slow++ % N_SLOW] = (struct span){begin, end};
    k->begins[k->n_steps % N_STEPS] = begin;
    k->durations[k->n_steps % N_DURATIONS] = duration;
    k->n_steps++;
    if (end > k->last_end) k->last_end = end;
    if (k->n_steps % MEDIAN_EVERY == 0 || k->n_steps == N_FIRST) find_median(k);
}

/* Steps that a chunk holds, and when its first and last event were. */
static struct span read_chunk(struct axp__keep *k, const struct axp__chunk *c)
{
    struct axp__decoder d;
    struct axp__wire_event e;
    struct span span = {c->base_ticks, c->base_ticks};
    axp__decoder_init(&d, c->words, c->n_words, c->base_ticks);
    while (axp__decoder_next(&d, &e)) {
        span.end = e.ticks;
        if (e.kind == AXP__W_STEP && e.n_payload >= 3)
            add_step(k, e.payload[2], e.ticks);
    }
    return span;
}

/* ---- slow steps ------------------------------------------------------------------ */

static bool is_wanted(const struct axp__keep *k, const struct waiting *w)
{
    uint64_t n = k->n_slow < N_SLOW ? k->n_slow : N_SLOW;
    for (uint64_t i = 0; i < n; i++)
        if (w->begin <= k->slow[i].end && w->end >= k->slow[i].begin)
            return true;
    return false;
}

static void let_go(struct axp__keep *k)
{
    struct waiting *w = k->first;
    k->first = w->next;
    if (!k->first) k->last = &k->first;
    k->n_waiting--;
    free(w);
}

/* Chunks come in no order of time: those that wait longest may end later than
 * others. Only the first is looked at, so that the order stays. */
static void decide(struct axp__keep *k, struct axp__trace *t, bool is_end)
{
    while (k->first && (is_end || k->first->end <= k->last_end ||
                        k->n_waiting > N_WAITING)) {
        struct axp__chunk *chunk = &k->first->chunk;
        if (!is_wanted(k, k->first))
            t->n_cut_events += chunk->n_events;
        else if (!axp__trace_chunks(t, &chunk, 1))
            return; /* what cannot be written goes on waiting */
        let_go(k);
    }
}

/* False: no memory. */
static bool put_waiting(struct axp__keep *k, const struct axp__chunk *c)
{
    struct waiting *w = malloc(sizeof *w);
    if (!w) return false;
    struct span span = read_chunk(k, c);
    w->next = NULL;
    w->begin = span.begin;
    w->end = span.end;
    memcpy(&w->chunk, c, sizeof w->chunk);
    *k->last = w;
    k->last = &w->next;
    k->n_waiting++;
    return true;
}

/* ---- the newest ---------------------------------------------------------------------- */

/* From where on the timeline is wanted; 0: all of it. */
static uint64_t wanted_from(const struct axp__keep *k, uint64_t now)
{
    uint64_t n = k->rule.newest_steps;
    if (k->rule.newest_ticks)
        return now > k->rule.newest_ticks ? now - k->rule.newest_ticks : 0;
    if (!n || n > N_STEPS || k->n_steps < n) return 0;
    return k->begins[(k->n_steps - n) % N_STEPS];
}

/* What lies before it happened before `ticks`. */
static uint64_t offset_of(const struct axp__keep *k, uint64_t ticks)
{
    uint64_t n = k->n_marks < N_MARKS ? k->n_marks : N_MARKS, offset = 0;
    for (uint64_t i = k->n_marks - n; i < k->n_marks; i++) {
        const struct mark *m = &k->marks[i % N_MARKS];
        if (m->ticks > ticks) break;
        offset = m->offset;
    }
    return offset;
}

static void cut_before(struct axp__keep *k, struct axp__trace *t,
                       uint64_t offset)
{
    uint64_t length = t->pen.end;
    if (!axp__trace_forget(t, offset)) return;
    uint64_t gone = length - t->pen.end;
    for (size_t i = 0; i < N_MARKS; i++)
        k->marks[i].offset =
            k->marks[i].offset > gone ? k->marks[i].offset - gone : 0;
}

static void trim(struct axp__keep *k, struct axp__trace *t, bool is_end)
{
    uint64_t from = wanted_from(k, axp__clock_now());
    uint64_t offset = from ? offset_of(k, from) : 0;
    if (is_end ? offset > 0 : offset > LEAST_CUT && offset > t->pen.end / 2)
        cut_before(k, t, offset);
}

/* Marks stand apart by a 2048th of what is kept, so that the ring holds it
 * twice; by steps the time is not known, and they double their distance. */
static void set_mark(struct axp__keep *k, const struct axp__trace *t)
{
    uint64_t now = axp__clock_now();
    const struct mark *last = &k->marks[(k->n_marks + N_MARKS - 1) % N_MARKS];
    if (k->n_marks && now - last->ticks < k->rule.newest_ticks / (N_MARKS / 2))
        return;
    if (k->rule.newest_steps && k->n_marks == N_MARKS) {
        for (size_t i = 0; i < N_MARKS / 2; i++)
            k->marks[i] = k->marks[2 * i];
        k->n_marks = N_MARKS / 2;
    }
    k->marks[k->n_marks++ % N_MARKS] = (struct mark){now, t->pen.end};
}

/* ---- the drain's calls ------------------------------------------------------------------ */

static int by_time(const void *a, const void *b)
{
    const struct axp__chunk *x = *(struct axp__chunk *const *)a;
    const struct axp__chunk *y = *(struct axp__chunk *const *)b;
    return (x->base_ticks > y->base_ticks) - (x->base_ticks < y->base_ticks);
}

/* A pass finds chunks in the order of the spool's memory; steps count in the
 * order of time. */
size_t axp__keep_take(struct axp__keep *k, struct axp__trace *t,
                      struct axp__chunk **chunks, size_t n)
{
    size_t n_taken = 0;
    qsort(chunks, n, sizeof *chunks, by_time);
    if (k->rule.slow_times > 0 || k->rule.slow_ticks) {
        while (n_taken < n && put_waiting(k, chunks[n_taken]))
            n_taken++;
        decide(k, t, false);
        return n_taken;
    }
    set_mark(k, t);
    for (size_t i = 0; i < n; i++)
        (void)read_chunk(k, chunks[i]);
    n_taken = axp__trace_chunks(t, chunks, n);
    trim(k, t, false);
    return n_taken;
}

void axp__keep_finish(struct axp__keep *k, struct axp__trace *t)
{
    decide(k, t, true);
    trim(k, t, true);
}

uint64_t axp__keep_wanted_from(const struct axp__keep *k)
{
    return wanted_from(k, axp__clock_now());
}
