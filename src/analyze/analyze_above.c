/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who declared the work of an operation; see analyze_above.h. */
#include "analyze/analyze_above.h"

#include <math.h>

#define MOST_OPS 64 /* that it is below; more are not told apart */
#define MOST_UP 256
#define NEARLY_ALL 0.9

struct seen {
    const axp_op *op;
    double ticks;
};

struct search {
    const struct axp__analysis *a;
    double all; /* ticks where it is below something */
    struct seen at[MOST_OPS];
    size_t n;
};

static const axp_op *op_called(const axp_view *v, const char *name)
{
    for (size_t i = 0; i < v->n_ops; i++)
        if (v->ops[i].name == name) return &v->ops[i];
    return NULL;
}

static void count(struct search *s, uint32_t name, double ticks)
{
    const char *text = axp__view_name(s->a->v, name);
    size_t i = 0;
    while (i < s->n && s->at[i].op->name != text)
        i++;
    if (i == s->n) {
        const axp_op *op = op_called(s->a->v, text);
        if (!op || s->n == MOST_OPS || !axp__roof_of(s->a, op)) return;
        s->at[s->n++] = (struct seen){op, 0};
    }
    s->at[i].ticks += ticks;
}

/* The nearest scope above that declared FLOPs. */
static void look_up(struct search *s, const struct axp__cap_lane *lane,
                    uint32_t i)
{
    double ticks = (double)lane->nodes[i].total_ticks;
    int k = 0;
    s->all += ticks;
    for (int32_t up = lane->nodes[i].parent; up > 0 && k < MOST_UP;
         up = lane->nodes[up].parent, k++) {
        if (!lane->nodes[up].n_flops_calls) continue;
        count(s, lane->nodes[up].name, ticks);
        return;
    }
}

static void finish(const struct search *s, struct axp__above *out)
{
    double covered = 0, most = 0;
    *out = (struct axp__above){.n_more = s->n - 1};
    for (size_t i = 0; i < s->n; i++) {
        const struct axp__roof *roof = axp__roof_of(s->a, s->at[i].op);
        covered += s->at[i].ticks;
        out->share += s->at[i].ticks * roof->ran_share;
        if (s->at[i].ticks <= most) continue;
        most = s->at[i].ticks;
        out->op = s->at[i].op;
        out->roof = roof;
    }
    out->share /= covered;
}

bool axp__above_find(const struct axp__analysis *a, const axp_op *op,
                     struct axp__above *out)
{
    const struct axp__capture *c = a->v->capture;
    struct search s = {.a = a};
    double covered = 0;
    if (op->n_flops_calls || op->n_bytes_calls || op->is_sampled) return false;
    for (size_t l = 0; l < c->n_lanes; l++) {
        const struct axp__cap_lane *lane = &c->lanes[l];
        for (uint32_t i = 1; !lane->is_track && i < lane->n_nodes; i++)
            if (lane->nodes[i].parent > 0 &&
                axp__view_name(a->v, lane->nodes[i].name) == op->name)
                look_up(&s, lane, i);
    }
    for (size_t i = 0; i < s.n; i++)
        covered += s.at[i].ticks;
    if (!(covered > 0) || covered < NEARLY_ALL * s.all) return false;
    finish(&s, out);
    return out->op != NULL;
}
