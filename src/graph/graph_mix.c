/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bars of a bounded number; see graph_mix.h. */
#include "graph/graph_mix.h"

/* ---- the mix ---------------------------------------------------------------- */

static void flush(struct axp__mixer *m)
{
    uint32_t most = 0;
    if (!m->n_of) return;
    for (uint32_t i = 1; i < m->n_of; i++)
        if (m->of[i].ns > m->of[most].ns) most = i;
    m->mix.op = m->of[most].op;
    m->bars[m->n++] = m->mix;
    m->n_of = 0;
}

/* Where there is no room the least gives way, and its time with it. */
static void mix(struct axp__mixer *m, const struct axp__segment *s)
{
    uint32_t i = 0, least = 0;
    if (!m->n_of) m->mix = *s;
    m->mix.end_ns = s->end_ns;
    for (; i < m->n_of && m->of[i].op != s->op; i++)
        if (m->of[i].ns < m->of[least].ns) least = i;
    if (i == AXP__MOST_MIXED) i = least;
    if (i == m->n_of) m->of[m->n_of++].ns = 0;
    m->of[i].op = s->op;
    m->of[i].ns += s->end_ns - s->begin_ns;
    if (m->mix.end_ns - m->mix.begin_ns >= m->shortest) flush(m);
}

/* ---- what is put --------------------------------------------------------------- */

static void settle(struct axp__mixer *m)
{
    if (!m->has_run) return;
    m->has_run = false;
    if (m->run.end_ns - m->run.begin_ns < m->shortest) {
        mix(m, &m->run);
        return;
    }
    flush(m);
    m->bars[m->n++] = m->run;
}

static bool is_beside(const struct axp__segment *a,
                      const struct axp__segment *b)
{
    return a->row == b->row && a->end_ns == b->begin_ns;
}

void axp__mixer_end(struct axp__mixer *m)
{
    settle(m);
    flush(m);
}

static void put(struct axp__mixer *m, const struct axp__segment *s)
{
    if (m->has_run && is_beside(&m->run, s) && m->run.op == s->op) {
        m->run.end_ns = s->end_ns;
        return;
    }
    if (m->has_run && !is_beside(&m->run, s))
        axp__mixer_end(m);
    else
        settle(m);
    m->run = *s;
    m->has_run = true;
}

/* So that a quarter of the room is free again. Each is read before anything is
 * put in its place. */
static void coarsen(struct axp__mixer *m)
{
    while (m->n > m->cap - m->cap / 4 && m->shortest < m->longest) {
        struct axp__mixer again = {.bars = m->bars, .longest = m->longest};
        m->shortest =
            m->shortest ? 2 * m->shortest : m->longest / m->cap / 2 + 1;
        again.shortest = m->shortest;
        for (size_t i = 0; i < m->n; i++) {
            struct axp__segment s = m->bars[i];
            put(&again, &s);
        }
        axp__mixer_end(&again);
        m->n = again.n;
    }
}

/* Of one put two may come, and two at the end. There is room: pieces of one row
 * that are side by side are one bar in the end, and of those the caller has less
 * than half of `cap`. */
void axp__mixer_put(struct axp__mixer *m, const struct axp__segment *s)
{
    if (m->n + 4 > m->cap) coarsen(m);
    if (m->n + 4 <= m->cap) put(m, s);
}
