/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LockContention: threads wait for a lock that others hold for long.
 * docs/rules/lock_contention.md
 *
 * It is about what is done with the lock held, for that can be changed. What it
 * costs is what a replay gains in which nobody waits for that lock: waits that
 * others hide cost nothing. And what the kernel does there, to wake who waits and
 * to put him to sleep: a lock that is held for moments costs as much by that. Where
 * others have all processors meanwhile, less is lost: analyze_crowd.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze_graph.h"
#include "analyze/analyze_threaded.h"
#include "base/base_number.h"
#include "graph/graph_gain.h"
#include "symbol/symbol_module.h"

#define MOST_LOCKS 8u /* that are replayed */

struct lock {
    struct axp__lock_wait *waits;
    size_t n;
    double waited_ns;
    uint32_t op, by;           /* that held it longest while others waited */
    double op_ns, by_ns;       /* … of waited_ns */
    axp_ns gain_ns, kernel_ns; /* with that of the kernel; that */
};

static int by_lock(const void *a, const void *b)
{
    const struct axp__lock_wait *x = a, *y = b;
    if (x->lock != y->lock) return x->lock > y->lock ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static int by_waited(const void *a, const void *b)
{
    const struct lock *x = a, *y = b;
    if (x->waited_ns != y->waited_ns)
        return x->waited_ns < y->waited_ns ? 1 : -1;
    return (x->waits > y->waits) - (x->waits < y->waits);
}

static double waited(const axp_graph *g, const struct axp__lock_wait *w)
{
    const struct axp__graph_node *n = &g->nodes[w->node];
    if (n->prev == AXP__NONE) return 0;
    return (double)(n->time_ns - g->nodes[n->prev].time_ns);
}

/* Whoever `key` says most of the waiting was for; how much that was. */
static uint32_t most_of(const axp_graph *g, const struct lock *l, double *sums,
                        bool is_row, double *most)
{
    uint32_t found = AXP__NONE;
    *most = 0;
    for (size_t i = 0; i < l->n; i++) {
        uint32_t key = is_row ? l->waits[i].by : l->waits[i].op;
        if (key != AXP__NONE) sums[key] = 0;
    }
    for (size_t i = 0; i < l->n; i++) {
        uint32_t key = is_row ? l->waits[i].by : l->waits[i].op;
        if (key == AXP__NONE) continue;
        sums[key] += waited(g, &l->waits[i]);
        if (sums[key] > *most) {
            *most = sums[key];
            found = key;
        }
    }
    return found;
}

/* The waits sorted by lock, each lock's together; returns how many there are. */
static size_t split(const axp_graph *g, struct axp__lock_wait *waits,
                    struct lock *locks)
{
    size_t n = 0;
    qsort(waits, g->n_lock_waits, sizeof *waits, by_lock);
    for (size_t i = 0; i < g->n_lock_waits; i++) {
        if (!i || waits[i].lock != waits[i - 1].lock)
            locks[n++] = (struct lock){.waits = &waits[i]};
        locks[n - 1].n++;
        locks[n - 1].waited_ns += waited(g, &waits[i]);
    }
    qsort(locks, n, sizeof *locks, by_waited);
    return n;
}

/* Whether a place of the call tree is below the operation. */
static bool is_below(const axp_view *v, const axp_tree_node *n,
                     const axp_op *op)
{
    for (int32_t i = n->parent; i > 0; i = v->tree[i].parent) {
        const axp_tree_node *up = &v->tree[i];
        if (op->is_sampled ? up->is_sampled && up->name == op->name
                           : axp__is_node_of(up, op))
            return true;
    }
    return false;
}

/* Processor time of the kernel's below the operation, of each of two threads: one
 * has the lock, and one waits. No more than the waits: it may do something else
 * there, too. */
static axp_ns handing_over(const axp_view *v, const axp_op *op, axp_ns waits)
{
    const char *kernel = NULL;
    double ns = 0;
    for (size_t i = 0; i < v->n_functions && !kernel; i++)
        if (v->functions[i].is_kernel) kernel = v->functions[i].name;
    for (size_t i = 1; i < v->n_tree && kernel && op; i++)
        if (v->tree[i].is_sampled && v->tree[i].name == kernel &&
            is_below(v, &v->tree[i], op))
            ns += (double)v->tree[i].self_ns / 2;
    return ns < (double)waits ? axp__whole(ns) : waits;
}

struct holder {
    uint64_t lock;
    const char *path; /* NULL: none yet */
};

/* True: another one has it too, in another process. */
static bool holds(const struct axp__cap_module *m, void *ctx)
{
    struct holder *h = ctx;
    if (h->lock < m->first || h->lock >= m->last) return false;
    if (h->path && strcmp(h->path, m->path) != 0) return true;
    h->path = m->path;
    return false;
}

/* The library that the lock is a part of, which whoever reads this is not about to
 * change; NULL: none, or nobody knows which. */
static const char *library_of(const axp_view *v, uint64_t lock)
{
    struct holder h = {lock, NULL};
    if (axp__view_modules(v, holds, &h) || !h.path) return NULL;
    bool is_it = axp__module_is_system(h.path) || axp__threaded_of(h.path);
    return is_it ? h.path : NULL;
}

/* Nothing can be changed about such a lock but who asks for it. How much a library
 * with threads of its own would do at once without it nobody knows. */
static void advise_callers(struct axp__analysis *a, struct axp__draft *d,
                           const char *path)
{
    const struct axp__threaded *threaded = axp__threaded_of(path);
    const char *slash = strrchr(path, '/');
    const char *name = axp__spoken(d->name, "it");
    const char *file = axp__spoken(slash ? slash + 1 : path, "the library");
    d->is_bound = d->is_capped = true;
    d->band = AXP_HIGH;
    axp__draft_say(a, d, "the lock is %s's own", file);
    if (threaded)
        axp__draft_advise(a, d,
                          "let each call of %s compute with one thread (%s=1), "
                          "or call it from one thread: %s shares its threads "
                          "among all who call it, one after the other",
                          name, threaded->variable, file);
    else
        axp__draft_advise(a, d,
                          "call %s less often, or from one thread at a time: "
                          "the lock is taken in %s",
                          name, file);
}

static void describe(struct axp__analysis *a, struct axp__draft *d,
                     const axp_graph *g, const struct lock *l)
{
    char time[32], held[32], who[32], saved[32];
    const char *thread =
        l->by == AXP__NONE ? "others" : axp__graph_row_text(g, l->by, who);
    axp_format_ns(time, sizeof time, axp__whole(l->waited_ns));
    axp__fixed(held, sizeof held,
               l->waited_ns > 0 ? 100 * l->by_ns / l->waited_ns : 0, 0);
    axp__draft_say(a, d,
                   "threads waited %zu time%s, %s in all, for the lock at "
                   "0x%" PRIx64 " while it was held here, %s %% of that for "
                   "thread %s",
                   l->n, l->n == 1 ? "" : "s", time, l->waits[0].lock, held,
                   thread);
    const char *library = library_of(a->v, l->waits[0].lock);
    if (library)
        advise_callers(a, d, library);
    else
        axp__draft_advise(
            a, d,
            "hold the lock for less than all of %s: prepare outside it, give each "
            "thread a part of its own and add these up once, or use several locks; "
            "if nobody waited for it the run would be %s shorter",
            axp__spoken(d->name, "it"),
            axp_format_ns(saved, sizeof saved, l->gain_ns));
    if (100 * l->kernel_ns > l->gain_ns)
        axp__draft_say(a, d,
                       "%s of what that costs is the kernel's, to hand it over",
                       axp_format_ns(saved, sizeof saved, l->kernel_ns));
    axp__draft_metric(d, "waits", (double)l->n);
    axp__draft_metric(d, "waited_ms", l->waited_ns / 1e6);
}

static void add(struct axp__analysis *a, const axp_graph *g,
                const struct lock *l)
{
    const axp_op *op = axp__graph_view_op(g, l->op);
    const char *name = l->op >= AXP__N_NO_OPS && l->op < g->ops.n
                           ? g->ops.at[l->op].text
                           : "(no scope)";
    struct axp__draft *d = axp__draft_add(a, AXP__RULE_lock_contention, name);
    if (!d) return;
    d->op = op;
    d->specificity = 6;
    d->has_saving = true;
    d->saving_ns = l->gain_ns;
    d->confidence = 0.7;
    describe(a, d, g, l);
}

static bool look_at(struct axp__analysis *a, const axp_graph *g, struct lock *l,
                    double *sums, uint32_t *nodes)
{
    double wall = (double)a->v->duration_ns;
    double least =
        wall * a->threshold[AXP__T_lock_contention_saving_percent] / 100;
    if ((double)l->n < a->threshold[AXP__T_lock_contention_waits] ||
        l->waited_ns < least)
        return true;
    for (size_t i = 0; i < l->n; i++)
        nodes[i] = l->waits[i].node;
    if (!axp__graph_gain_free(g, nodes, l->n, &l->gain_ns)) return false;
    if ((double)l->gain_ns < least) return true;
    l->op = most_of(g, l, sums, false, &l->op_ns);
    l->by = most_of(g, l, sums, true, &l->by_ns);
    l->kernel_ns = handing_over(a->v, axp__graph_view_op(g, l->op), l->gain_ns);
    l->gain_ns += l->kernel_ns;
    l->gain_ns = axp__crowd_most(a->v, 2 * l->kernel_ns, l->gain_ns);
    if ((double)l->gain_ns >= least) add(a, g, l);
    return true;
}

void axp__rule_lock_contention(struct axp__analysis *a)
{
    const axp_graph *g = axp__analysis_graph(a);
    if (!g || !g->n_lock_waits) return;
    size_t n = g->n_lock_waits, n_sums = g->n_rows + g->ops.n;
    struct axp__lock_wait *waits = malloc(n * sizeof *waits);
    struct lock *locks = malloc(n * sizeof *locks);
    uint32_t *nodes = malloc(n * sizeof *nodes);
    double *sums = malloc((n_sums + 1) * sizeof *sums);
    bool ok = waits && locks && nodes && sums;
    if (ok) {
        memcpy(waits, g->lock_waits, n * sizeof *waits);
        n = split(g, waits, locks);
    }
    for (size_t i = 0; ok && i < n && i < MOST_LOCKS; i++)
        ok = look_at(a, g, &locks[i], sums, nodes);
    if (!ok) a->has_failed = true;
    free(waits);
    free(locks);
    free(nodes);
    free(sums);
}
