/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a row did alone while its pool waited for it; see graph_pool.h. */
#include "graph/graph_pool.h"

#include <stdlib.h>

#define TURNS 0.25 /* of a member's waits: so often its master waits as well */
#define BESIDE 0.1 /* of what is done alone: so much is done at once */

struct member {
    uint32_t master; /* AXP__NONE */
    uint32_t next;   /* of the same master */
    double votes;    /* for the master, in ns */
    uint64_t n;      /* waits for the master */
    /* As a master: */
    uint32_t n_members, first;
    uint64_t most;  /* waits of a member for it */
    uint64_t turns; /* its own, for members */
};

struct change { /* of the rows of a pool, at a moment */
    axp_ns at;
    int works, master_works, waits, is_there;
};

struct finder {
    const axp_graph *g;
    struct member *rows;
    bool *is_lock; /* of each node */
    struct change *changes;
    size_t n, cap;
};

/* ---- who waits for whom ------------------------------------------------------------ */

/* The row that ended a wait by giving what was waited for, and when; AXP__NONE:
 * it was another kind of wait. */
static uint32_t given_by(const struct finder *f, uint32_t i, axp_ns *at)
{
    const struct axp__graph_node *n = &f->g->nodes[i];
    if (n->stretch != AXP__STRETCH_WAIT || n->prev == AXP__NONE ||
        n->source_kind != AXP__SOURCE_NODE || n->is_estimate || f->is_lock[i])
        return AXP__NONE;
    const struct axp__graph_node *by = &f->g->nodes[n->source];
    *at = by->time_ns + n->after_ns;
    if (by->row == n->row || by->source_kind == AXP__SOURCE_ARRIVES ||
        *at <= f->g->nodes[n->prev].time_ns) /* a join; it was there already */
        return AXP__NONE;
    return by->row;
}

/* Whom each row waits for most: who is left when others have taken off as much. */
static void vote(struct finder *f)
{
    axp_ns at = 0;
    for (uint32_t i = 0; i < f->g->n_nodes; i++) {
        uint32_t by = given_by(f, i, &at);
        if (by == AXP__NONE) continue;
        const struct axp__graph_node *n = &f->g->nodes[i];
        struct member *m = &f->rows[n->row];
        double ns = (double)(at - f->g->nodes[n->prev].time_ns);
        m->votes += m->master == by ? ns : -ns;
        if (m->votes < 0) {
            m->master = by;
            m->votes = -m->votes;
        }
    }
}

/* Of two that wait for each other who has more members is the master, or came
 * first. */
static void settle(struct finder *f)
{
    size_t n = f->g->n_rows;
    for (size_t i = 0; i < n; i++)
        if (f->rows[i].master != AXP__NONE)
            f->rows[f->rows[i].master].n_members++;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t to = f->rows[i].master;
        if (to == AXP__NONE || f->rows[to].master != i) continue;
        uint32_t own = f->rows[i].n_members, others = f->rows[to].n_members;
        if (own < others || (own == others && i > to)) continue;
        f->rows[i].master = AXP__NONE;
        f->rows[to].n_members--;
    }
}

static void count(struct finder *f)
{
    axp_ns at;
    for (uint32_t i = 0; i < f->g->n_nodes; i++) {
        uint32_t by = given_by(f, i, &at), row = f->g->nodes[i].row;
        if (by == AXP__NONE) continue;
        f->rows[row].n += f->rows[row].master == by;
        f->rows[row].turns += f->rows[by].master == row;
    }
    for (uint32_t i = 0; i < f->g->n_rows; i++) {
        struct member *m = &f->rows[i];
        if (m->master == AXP__NONE) continue;
        struct member *to = &f->rows[m->master];
        if (m->n > to->most) to->most = m->n;
        m->next = to->first;
        to->first = i;
    }
}

/* ---- who does what when -------------------------------------------------------------- */

static bool add(struct finder *f, axp_ns begin, axp_ns end, struct change is)
{
    void *at = f->changes;
    if (end <= begin) return true;
    if (!axp__array_grow(&at, &f->cap, f->n + 2, sizeof *f->changes))
        return false;
    f->changes = at;
    is.at = begin;
    f->changes[f->n++] = is;
    f->changes[f->n++] = (struct change){end, -is.works, -is.master_works,
                                         -is.waits, -is.is_there};
    return true;
}

static bool add_row(struct finder *f, uint32_t row, uint32_t master)
{
    const axp_graph *g = f->g;
    const struct axp__graph_row *r = &g->rows[row];
    bool ok = true;
    if (!r->n_nodes) return true;
    if (row != master)
        ok = add(f, g->nodes[r->nodes[0]].time_ns,
                 g->nodes[r->nodes[r->n_nodes - 1]].time_ns,
                 (struct change){.is_there = 1});
    for (size_t i = 1; i < r->n_nodes && ok; i++) {
        const struct axp__graph_node *n = &g->nodes[r->nodes[i]];
        axp_ns begin = g->nodes[n->prev].time_ns, at = 0;
        if (n->stretch == AXP__STRETCH_WORK)
            ok =
                add(f, begin, n->time_ns,
                    (struct change){.works = 1, .master_works = row == master});
        else if (row != master && given_by(f, r->nodes[i], &at) == master)
            ok = add(f, begin, at, (struct change){.waits = 1});
    }
    return ok;
}

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

struct sum {
    double alone, beside;
    bool has_failed; /* no memory */
};

/* All changes in their order; with `out` what was done alone is added there. */
static struct sum sweep(const struct finder *f, uint32_t master,
                        struct axp__serial *out)
{
    struct change now = {0};
    struct sum sum = {0, 0, false};
    axp_ns since = 0; /* the master is alone */
    bool was_alone = false;
    for (size_t i = 0; i < f->n;) {
        axp_ns at = f->changes[i].at;
        if (was_alone) sum.alone += (double)(at - now.at);
        if (now.works > 1) sum.beside += (double)(at - now.at);
        uint32_t team = (uint32_t)now.is_there + 1;
        for (now.at = at; i < f->n && f->changes[i].at == at; i++) {
            now.works += f->changes[i].works;
            now.master_works += f->changes[i].master_works;
            now.waits += f->changes[i].waits;
            now.is_there += f->changes[i].is_there;
        }
        bool is_alone = now.master_works > 0 && now.is_there > 0 &&
                        now.waits == now.is_there;
        if (is_alone && !was_alone) since = at;
        if (was_alone && !is_alone && out)
            sum.has_failed |= !axp__serial_add(
                out,
                (struct axp__serial_part){since, at, master, team, AXP__NONE});
        was_alone = is_alone;
    }
    return sum;
}

/* ---- all of them ------------------------------------------------------------------------ */

static bool look_at(struct finder *f, uint32_t master, struct axp__serial *out)
{
    const struct member *m = &f->rows[master];
    bool ok = true;
    if (!m->n_members || (double)m->turns < TURNS * (double)m->most)
        return true;
    f->n = 0;
    ok = add_row(f, master, master);
    for (uint32_t i = m->first; ok && i != AXP__NONE; i = f->rows[i].next)
        ok = add_row(f, i, master);
    if (!ok || !f->n) return ok;
    qsort(f->changes, f->n, sizeof *f->changes, by_time);
    struct sum sum = sweep(f, master, NULL);
    if (sum.alone > 0 && sum.beside >= BESIDE * sum.alone)
        ok = !sweep(f, master, out).has_failed;
    return ok;
}

bool axp__pool_find(struct axp__serial *out)
{
    const axp_graph *g = out->g;
    struct finder f = {.g = g,
                       .rows = calloc(g->n_rows + 1, sizeof *f.rows),
                       .is_lock = calloc(g->n_nodes + 1, sizeof *f.is_lock)};
    bool ok = f.rows && f.is_lock;
    for (size_t i = 0; ok && i < g->n_rows; i++)
        f.rows[i] = (struct member){.master = AXP__NONE, .first = AXP__NONE};
    for (size_t i = 0; ok && i < g->n_lock_waits; i++)
        f.is_lock[g->lock_waits[i].node] = true;
    if (ok) {
        vote(&f);
        settle(&f);
        count(&f);
    }
    for (uint32_t i = 0; ok && i < g->n_rows; i++)
        ok = look_at(&f, i, out);
    free(f.rows);
    free(f.is_lock);
    free(f.changes);
    return ok;
}
