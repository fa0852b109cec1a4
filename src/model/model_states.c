/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the scheduler told of threads, beside what they recorded: processor time,
 * and how long each wanted a processor and had none. */
#include <stdlib.h>
#include <string.h>

#include "base/base_order.h"
#include "model/model_samples.h"
#include "base/base_number.h"
#include "model/model_view.h"
#include "os/os_apart.h"
#include "record/record_drain.h"
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

/* ---- a part of the run --------------------------------------------------------------- */

static axp_ns least(axp_ns a, axp_ns b)
{
    return a < b ? a : b;
}

struct cut { /* of a thread, in the part */
    axp_ns ready, waited;
    bool is_told; /* when it was off its processor, be it in the part or not */
};

static axp_ns within(const axp_view *v, axp_ns begin, axp_ns end)
{
    axp_ns last = v->begin_ns + v->duration_ns;
    if (begin < v->begin_ns) begin = v->begin_ns;
    if (end > last) end = last;
    return end > begin ? end - begin : 0;
}

/* Of its thread; NULL: it was on its processor, or nobody knows it. */
static struct cut *off_of(const axp_view *v, struct cut *cuts,
                          const struct axp__cap_sample *sample)
{
    const struct axp__capture *c = v->capture;
    if (sample->kind == AXP_SAMPLE_CPU) return NULL;
    const struct axp__thread_states *s =
        find(c, sample->process, sample->tid, sample->ticks);
    return s ? &cuts[s - c->states] : NULL;
}

static bool see_told(const axp_view *v, struct cut *cuts)
{
    struct axp__samples whole;
    if (!axp__samples_load_whole(v, &whole)) return false;
    for (size_t i = 0; i < whole.n; i++) {
        struct cut *to = off_of(v, cuts, &whole.at[i]);
        if (to) to->is_told = true;
    }
    axp__samples_fini(&whole);
    return true;
}

static bool add_off(const axp_view *v, struct cut *cuts)
{
    struct axp__samples part;
    if (!axp__samples_load(v, &part)) return false;
    for (size_t i = 0; i < part.n; i++) {
        struct cut *to = off_of(v, cuts, &part.at[i]);
        if (!to) continue;
        if (part.at[i].kind == AXP_SAMPLE_READY)
            to->ready += part.at[i].weight;
        else
            to->waited += part.at[i].weight;
    }
    axp__samples_fini(&part);
    return true;
}

static void cut_one(axp_view *v, struct axp__thread_states *s,
                    const struct cut *cut)
{
    axp_ns life = within(v, axp__view_time(v, s->begin_ticks),
                         axp__view_time(v, s->end_ticks));
    s->ready_ns = least(life, cut->is_told ? cut->ready : s->ready_ns);
    s->waited_ns =
        least(life - s->ready_ns, cut->is_told ? cut->waited : s->waited_ns);
    s->ran_ns = cut->is_told ? life - s->ready_ns - s->waited_ns
                             : least(life - s->ready_ns, s->ran_ns);
    v->ran_ns += s->ran_ns;
    v->ready_ns += s->ready_ns;
}

/* Sums of the scheduler are of a thread's whole life; of a part they are what
 * its times off a processor leave. Where those are not told, no more than is
 * possible. */
bool axp__view_cut_states(axp_view *v)
{
    struct axp__capture *c = v->capture;
    if (!c->n_states) return true;
    struct cut *cuts = calloc(c->n_states, sizeof *cuts);
    bool ok = cuts && see_told(v, cuts) && add_off(v, cuts);
    v->ran_ns = v->ready_ns = 0;
    for (size_t i = 0; ok && i < c->n_states; i++)
        cut_one(v, &c->states[i], &cuts[i]);
    free(cuts);
    return ok;
}

/* ---- threads --------------------------------------------------------------------------- */

struct processes {
    uint64_t *ids; /* sorted; NULL: no memory */
    size_t n;
};

/* Those with threads that recorded and that nobody knows the scheduler's of: by
 * other numbers these may be there a second time. */
static struct processes unknown_processes(const axp_view *v)
{
    struct processes p = {.ids = malloc((v->n_threads + 1) * sizeof *p.ids)};
    for (size_t i = 0; p.ids && i < v->n_threads; i++)
        if (!v->threads[i].is_scheduled)
            p.ids[p.n++] = v->threads[i].process_id;
    if (p.n) qsort(p.ids, p.n, sizeof *p.ids, axp__by_u64);
    return p;
}

/* Within the run; but who ran while nobody had looked at its process yet has
 * lived then, and no shorter than it ran. */
static struct axp__life life_of(const axp_view *v,
                                const struct axp__thread_states *s)
{
    axp_ns wall = v->begin_ns + v->duration_ns;
    axp_ns begin = axp__view_time(v, s->begin_ticks);
    axp_ns end = axp__view_time(v, s->end_ticks);
    struct axp__life in = {.begin = begin > v->begin_ns ? begin : v->begin_ns,
                           .end = end < wall ? end : wall};
    if (in.end >= in.begin && in.end - in.begin >= s->ran_ns) return in;
    return (struct axp__life){.begin = begin < end ? begin : end, .end = end};
}

static axp_thread_info info_of(const axp_view *v,
                               const struct axp__thread_states *s)
{
    struct axp__life life = life_of(v, s);
    return (axp_thread_info){.id = s->tid,
                             .name = s->name,
                             .process_id = s->process & UINT32_MAX,
                             .rank = -1,
                             .begin = life.begin,
                             .end = life.end,
                             .cpu_ns = s->ran_ns,
                             .ready_ns = s->ready_ns,
                             .off_ns = s->waited_ns,
                             .is_scheduled = true};
}

/* Who never ran was not seen. In a part of a run it may have waited all the
 * time, and was there. */
static bool is_there(const axp_view *v, const struct axp__thread_states *s)
{
    if (!v->is_part) return s->ran_ns;
    return within(v, axp__view_time(v, s->begin_ticks),
                  axp__view_time(v, s->end_ticks));
}

/* The recorder's, in a process that records. */
static bool is_ours(const struct axp__thread_states *s)
{
    return !strcmp(s->name, AXP__DRAIN_NAME) || axp__apart_is(s->name);
}

/* Those of programs that nobody changed, and whoever recorded nothing in one that
 * does: a first thread that only started others, helpers that have no scope and
 * that no adapter followed. */
size_t axp__view_unrecorded(const axp_view *v, const struct axp__told *told)
{
    const struct axp__capture *c = v->capture;
    struct processes unknown = unknown_processes(v);
    size_t n = 0;
    for (size_t i = 0; unknown.ids && i < c->n_states; i++) {
        const struct axp__thread_states *s = &c->states[i];
        uint64_t id = s->process & UINT32_MAX;
        bool is_first = s->tid == id;
        if (told[i].thread || !s->name[0] || !is_there(v, s)) continue;
        if (!is_first && (is_ours(s) || bsearch(&id, unknown.ids, unknown.n,
                                                sizeof id, axp__by_u64)))
            continue;
        v->threads[v->n_threads + n++] = info_of(v, s);
    }
    free(unknown.ids);
    return n;
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

static axp_ns ran_of(const struct axp__cap_row *row,
                     const struct axp__thread_states *s)
{
    return row->cpu_ns || !s ? row->cpu_ns : s->ran_ns;
}

axp_ns axp__view_at_work(const axp_view *v, size_t i)
{
    const struct axp__cap_row *row = &v->capture->rows[i];
    axp_ns life = v->lives[i].end - v->lives[i].begin;
    axp_ns ran = ran_of(row, states_of(v, row));
    if (!ran) return life;
    return least(life, axp__whole((double)ran * axp__view_longer(v, i)));
}

double axp__view_longer(const axp_view *v, size_t i)
{
    const struct axp__cap_row *row = &v->capture->rows[i];
    const struct axp__thread_states *s = states_of(v, row);
    axp_ns life = v->lives[i].end - v->lives[i].begin;
    axp_ns ran = ran_of(row, s);
    if (!s || !ran || ran >= life) return 1;
    axp_ns ready = least(s->ready_ns, life - ran);
    /* On a machine that is too busy it tells of more time than there is, and
     * nobody knows how much of which. */
    axp_ns told = s->ran_ns + s->ready_ns + s->waited_ns;
    if (told > life + life / 10) ready = life - ran;
    return 1 + (double)ready / (double)ran;
}

double axp__view_longest(const axp_view *v, size_t i, axp_ns own_ns)
{
    const struct axp__cap_row *row = &v->capture->rows[i];
    axp_ns life = v->lives[i].end - v->lives[i].begin;
    if (states_of(v, row)) return axp__view_longer(v, i);
    /* One that ran for less slept: that is no recording. Where that is much of
     * what it ran, and may be twice as much, nobody knows: it may have had no
     * processor in the midst of it. */
    bool is_busy =
        row->cpu_ns >= life / 2 || (row->cpu_ns && own_ns >= row->cpu_ns / 4);
    return is_busy && row->cpu_ns < life ? (double)life / (double)row->cpu_ns
                                         : 1;
}

/* A thread lives before its first event and after its last one. */
static void widen(const axp_view *v, const struct axp__thread_states *s,
                  struct axp__life *life)
{
    axp_ns wall = v->begin_ns + v->duration_ns;
    axp_ns begin = axp__view_time(v, s->begin_ticks);
    axp_ns end = axp__view_time(v, s->end_ticks);
    if (begin < v->begin_ns) begin = v->begin_ns;
    if (end > wall) end = wall;
    if (begin < life->begin) life->begin = begin;
    if (end > life->end) life->end = end;
}

/* Of a thread that has several rows none is all of its life. */
bool axp__view_widen_lives(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    uint32_t *n_rows = calloc(c->n_states + 1, sizeof *n_rows);
    if (!n_rows) return false;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < c->n_rows; i++) {
            const struct axp__cap_row *row = &c->rows[i];
            if (row->track || axp__row_is_outside(v, row)) continue;
            const struct axp__thread_states *s = states_of(v, row);
            if (s && pass == 0) n_rows[s - c->states]++;
            if (s && pass == 1 && n_rows[s - c->states] == 1)
                widen(v, s, &v->lives[i]);
        }
    free(n_rows);
    return true;
}

size_t axp__view_state_of(const axp_view *v, const struct axp__cap_row *row)
{
    const struct axp__thread_states *s = states_of(v, row);
    return s ? (size_t)(s - v->capture->states) + 1 : 0;
}

size_t axp__view_state_at(const axp_view *v, uint64_t process, uint64_t tid,
                          uint64_t ticks)
{
    const struct axp__thread_states *s = find(v->capture, process, tid, ticks);
    return s ? (size_t)(s - v->capture->states) + 1 : 0;
}

struct axp__life axp__view_life_of(const axp_view *v, size_t state)
{
    return life_of(v, &v->capture->states[state - 1]);
}

void axp__view_ran_of(const axp_view *v, size_t state, axp_ns *ran,
                      axp_ns *ready)
{
    *ran = v->capture->states[state - 1].ran_ns;
    *ready = v->capture->states[state - 1].ready_ns;
}

axp_ns axp__view_starved(const axp_view *v, const struct axp__cap_row *row)
{
    const struct axp__thread_states *s = states_of(v, row);
    return s ? s->ready_ns : UINT64_MAX;
}

void axp__view_set_states(const axp_view *v, const struct axp__cap_row *row,
                          axp_thread_info *out)
{
    const struct axp__thread_states *s = states_of(v, row);
    if (!s) return;
    bool is_whole = out->begin <= v->begin_ns ||
                    out->begin <= axp__view_time(v, s->begin_ticks);
    out->ready_ns = s->ready_ns;
    out->off_ns = s->waited_ns;
    out->is_scheduled = true;
    if (!out->cpu_ns || v->is_part || (is_whole && s->ran_ns > out->cpu_ns))
        out->cpu_ns = s->ran_ns;
}

void axp__view_settle_states(axp_view *v)
{
    for (size_t i = 0; i < v->n_threads; i++) {
        axp_thread_info *t = &v->threads[i];
        if (!t->is_scheduled) continue;
        axp_ns life = t->end - t->begin;
        t->cpu_ns = least(t->cpu_ns, life);
        t->spun_ns = least(t->spun_ns, t->cpu_ns);
        t->ready_ns = least(t->ready_ns, life - t->cpu_ns);
        t->off_ns = least(t->off_ns, life - t->cpu_ns - t->ready_ns);
    }
}

/* ---- processes ------------------------------------------------------------------------- */

static int by_total(const void *a, const void *b)
{
    const axp_process_info *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    const axp_process_info *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Those of one name are one. */
static void join_processes(axp_view *v)
{
    size_t kept = 0;
    if (v->n_processes)
        qsort(v->processes, v->n_processes, sizeof *v->processes, by_name);
    for (size_t i = 0; i < v->n_processes; i++) {
        const axp_process_info is = v->processes[i];
        if (!kept || strcmp(v->processes[kept - 1].name, is.name) != 0)
            v->processes[kept++] = (axp_process_info){.name = is.name};
        axp_process_info *p = &v->processes[kept - 1];
        p->count++;
        p->total_ns += is.total_ns;
        p->avg_ns = p->total_ns / p->count;
        if (is.total_ns > p->max_ns) p->max_ns = is.total_ns;
    }
    v->n_processes = kept;
    if (kept) qsort(v->processes, kept, sizeof *v->processes, by_total);
}

bool axp__view_make_processes(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    axp_process_info *all = NULL;
    size_t n = 0;
    if (!v->n_processes || !c->n_states) return true;
    all = calloc(c->n_states, sizeof *all);
    if (!all) return false;
    for (size_t i = 0; i < c->n_states; i++) {
        const struct axp__thread_states *s = &c->states[i];
        axp_ns lived = within(v, axp__view_time(v, s->begin_ticks),
                              axp__view_time(v, s->end_ticks));
        if (s->tid != (s->process & UINT32_MAX) || !s->name[0]) continue;
        if (lived || !v->is_part)
            all[n++] = (axp_process_info){.name = s->name, .total_ns = lived};
    }
    if (!n) { /* nobody's first thread is known */
        free(all);
        return true;
    }
    free(v->processes);
    v->processes = all;
    v->n_processes = n;
    join_processes(v);
    return true;
}
