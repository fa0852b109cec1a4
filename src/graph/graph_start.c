/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* When processes began that nobody is known to have started: while something was
 * going on in another, of all rows that which began first, and had that been quicker,
 * they had begun earlier; or a little after it, as what a process starts when it
 * ends. Below a process that does nothing but wait for others, as shells do, what
 * it started last before had to end first. Without this a process that was forked at
 * the end holds the end of a replay where it was recorded.
 *
 * Place  after the pass, once all rows are known.
 * Cost   sorts the rows; bounded: after so many looks a row stays where it was. */
#include <stdlib.h>

#include "graph/graph_build.h"

#define MOST_LOOKS ((uint64_t)1 << 24)

struct lived {
    axp_ns begin, end;
    uint32_t row;
};

static int by_begin(const void *a, const void *b)
{
    const struct lived *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static size_t find_rows(const axp_graph *g, struct lived *all)
{
    size_t n = 0;
    for (uint32_t i = 0; i < g->n_rows; i++) {
        const struct axp__graph_row *r = &g->rows[i];
        if (!r->n_nodes || r->is.track) continue;
        all[n++] =
            (struct lived){g->nodes[r->nodes[0]].time_ns,
                           g->nodes[r->nodes[r->n_nodes - 1]].time_ns, i};
    }
    qsort(all, n, sizeof *all, by_begin);
    return n;
}

static uint32_t process_of(const axp_graph *g, const struct lived *one)
{
    return g->rows[one->row].is.process;
}

struct starts {
    axp_graph *g;
    const struct lived *all;
    uint64_t n_looks;
};

/* What was there when a row began, of other processes; NULL: none. */
struct there {
    const struct lived *first;  /* of those at work then, or shortly before */
    const struct lived *ended;  /* the last that was over */
    const struct lived *parent; /* one that waits for others, the innermost */
    bool is_busy;               /* some were at work */
};

static struct there look(struct starts *s, size_t i)
{
    const axp_graph *g = s->g;
    const struct lived *all = s->all, *one = &all[i];
    struct there t = {0};
    for (size_t k = 0; k < i && s->n_looks++ < MOST_LOOKS; k++) {
        if (all[k].begin >= one->begin ||
            process_of(g, &all[k]) == process_of(g, one))
            continue;
        bool goes_on = all[k].end >= one->begin;
        if (g->rows[all[k].row].is_parent) {
            if (goes_on) t.parent = &all[k];
            continue;
        }
        t.is_busy |= goes_on;
        if (!goes_on && (!t.ended || all[k].end > t.ended->end))
            t.ended = &all[k];
        if (!t.first && all[k].end + axp__graph_late(g) >= one->begin)
            t.first = &all[k];
    }
    return t;
}

static void follow(struct starts *s, size_t i)
{
    axp_graph *g = s->g;
    const struct lived *one = &s->all[i];
    struct there t = look(s, i);
    const struct lived *ways[] = {t.first, t.parent};
    if (t.parent && t.ended &&
        (!t.is_busy || t.ended->end + axp__graph_late(g) >= one->begin))
        ways[0] = t.ended;
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
        if (ways[k] && axp__graph_depend_at(g, g->rows[one->row].nodes[0],
                                            ways[k]->row, one->begin))
            return;
}

void axp__build_starts(struct axp__builder *b)
{
    axp_graph *g = b->g;
    struct lived *all = malloc((g->n_rows + 1) * sizeof *all);
    struct starts s = {.g = g, .all = all};
    size_t n = all ? find_rows(g, all) : 0;
    if (!all) g->has_failed = true;
    for (size_t i = 0; i < n; i++) {
        uint32_t start = g->rows[all[i].row].nodes[0];
        if (g->nodes[start].source_kind == AXP__SOURCE_NONE) follow(&s, i);
    }
    free(all);
}
