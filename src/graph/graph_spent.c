/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Own times of a stretch; see graph_spent.h. */
#include "graph/graph_spent.h"

#include <stdlib.h>

#define FIRST_CAP 16u

struct axp__spent *axp__spent_create(void)
{
    struct axp__spent *own = calloc(1, sizeof *own);
    if (!own) return NULL;
    own->cap = FIRST_CAP;
    own->joined = AXP__NONE;
    own->at = malloc(FIRST_CAP * sizeof *own->at);
    own->map = calloc(FIRST_CAP, sizeof *own->map);
    if (own->at && own->map) return own;
    axp__spent_destroy(own);
    return NULL;
}

void axp__spent_destroy(struct axp__spent *own)
{
    if (!own) return;
    free(own->at);
    free(own->map);
    free(own->open);
    free(own);
}

static int by_op(const void *a, const void *b)
{
    const struct axp__part_of *x = a, *y = b;
    return (x->op > y->op) - (x->op < y->op);
}

void axp__spent_sum(struct axp__spent *own)
{
    uint32_t kept = 0;
    if (own->n < 2) return;
    qsort(own->at, own->n, sizeof *own->at, by_op);
    for (uint32_t i = 0; i < own->n; i++) {
        if (kept && own->at[kept - 1].op == own->at[i].op)
            own->at[kept - 1].ns += own->at[i].ns;
        else
            own->at[kept++] = own->at[i];
    }
    own->n = kept;
}

static bool widen(struct axp__spent *own)
{
    uint32_t cap = 2 * own->cap;
    uint32_t *map = calloc(cap, sizeof *map);
    struct axp__part_of *at =
        map ? realloc(own->at, cap * sizeof *own->at) : NULL;
    if (!at) {
        free(map);
        return false;
    }
    free(own->map);
    own->at = at;
    own->map = map;
    own->cap = cap;
    return true;
}

void axp__spent_put(axp_graph *g, struct axp__spent *own, uint32_t op,
                    axp_ns ns)
{
    if (own->n == own->cap) {
        axp__spent_sum(own);
        if (own->n > own->cap / 2 && !widen(own)) g->has_failed = true;
        for (uint32_t i = 0; i < own->n; i++)
            own->map[own->at[i].op & (own->cap - 1)] = i;
        if (own->n == own->cap) return;
        uint32_t i = own->map[op & (own->cap - 1)];
        if (i < own->n && own->at[i].op == op) {
            own->at[i].ns += ns;
            return;
        }
    }
    own->map[op & (own->cap - 1)] = own->n;
    own->at[own->n++] = (struct axp__part_of){ns, op};
}

void axp__spent_take_off(struct axp__spent *own, uint32_t op, axp_ns ns)
{
    for (int others = 0; others < 2; others++)
        for (uint32_t i = own->n; i-- && ns;) {
            if (own->at[i].op != op && !others) continue;
            axp_ns off = own->at[i].ns < ns ? own->at[i].ns : ns;
            own->at[i].ns -= off;
            ns -= off;
        }
}

uint32_t axp__spent_close(axp_graph *g, uint32_t row, axp_ns time_ns)
{
    struct axp__spent *own = g->rows[row].own;
    uint32_t node = axp__graph_add_node(g, row, time_ns, AXP__STRETCH_WORK);
    axp__spent_sum(own);
    for (uint32_t i = 0; node != AXP__NONE && i < own->n; i++)
        axp__graph_add_part(g, own->at[i].op, own->at[i].ns);
    own->n = 0;
    return node;
}
