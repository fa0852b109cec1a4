/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Operations by self time, and the call tree; see emit_text.h. */
#include <stdlib.h>

#include "emit/emit_text.h"

#define SHOWN_OPS 20
#define SHOWN_PLACES 40
#define LEAST_SHARE 0.01 /* of the tree */
#define MAX_DEPTH 48
#define ALL_OF_IT 0.98 /* of a caller's time, as good as all */

/* ---- operations ------------------------------------------------------------------- */

static void put_op(struct axp__table *table, const axp_op *op)
{
    axp__cell *cells = axp__table_row_on(table, op->name, op->device), text;
    axp__short_count(cells[0], op->calls);
    axp__short_ns(cells[1], op->total_ns);
    axp__mark_doubt(cells[2], axp__short_ns(text, op->self_ns), op);
    axp__short_ns(cells[3], op->avg_ns);
    axp__short_ns(cells[4], op->p99_ns);
    axp__mark_doubt(cells[5], axp__short_percent(text, op->time_share), op);
    axp__short_rate(cells[6], axp_op_gflops(op));
    axp__short_rate(cells[7], axp_op_gbps(op));
    axp__cell_place(cells[8], op->file, op->line);
}

void axp__text_ops(struct axp__text *t, const axp_view *v)
{
    static const struct axp__column columns[] = {
        {"operation", true, 0}, {"calls", false, 0},   {"total", false, 4},
        {"self", false, 0},     {"mean", false, 2},    {"p99", false, 5},
        {"share", false, 0},    {"GFLOP/s", false, 1}, {"GB/s", false, 6},
        {"at", true, 3}};
    size_t n_shown = v->n_ops < SHOWN_OPS ? v->n_ops : SHOWN_OPS;
    axp_ns rest = 0;
    char text[32];
    if (!v->n_ops) {
        axp__text_heading(t, "Compute Statistics", "no operation was recorded");
        return;
    }
    axp__text_heading(t, "Compute Statistics",
                      "operations by self time; share of their "
                      "threads' time");
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_OPS);
    for (size_t i = 0; table && i < v->n_ops; i++)
        if (i < SHOWN_OPS)
            put_op(table, &v->ops[i]);
        else
            rest += v->ops[i].self_ns;
    axp__table_print(t, table);
    if (axp__has_doubt(v->ops, n_shown))
        axp__text_say(t, "%s", AXP__DOUBT_TEXT);
    if (axp__view_has_cost(v)) axp__text_say(t, "%s", AXP__LESS_TEXT);
    if (v->n_ops > SHOWN_OPS)
        axp__text_say(t, "and %zu more, %s self", v->n_ops - SHOWN_OPS,
                      axp_format_ns(text, sizeof text, rest));
}

/* ---- the call tree ---------------------------------------------------------------------- */

struct place {
    int32_t node, parent; /* the parent that is shown */
    axp_ns total_ns;
    const char *name;
    bool is_far; /* from it, by calls that are left out */
};

struct tree {
    const axp_view *v;
    struct axp__table *table;
    struct place *places; /* by parent, then total */
    size_t n, n_shown;
    double all_ns;
};

static int by_parent(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->parent != y->parent) return x->parent > y->parent ? 1 : -1;
    if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* What becomes of a node. */
struct fate {
    bool is_kept;       /* large enough, and below something that is */
    bool is_passed;     /* kept, and one of many calls in a row */
    uint32_t n_kept;    /* children */
    int32_t kept_child; /* the last of them */
};

static void keep_large(struct tree *tree, struct fate *fate)
{
    const axp_view *v = tree->v;
    double least = tree->all_ns * LEAST_SHARE;
    fate[0].is_kept = true;
    for (size_t i = 1; i < v->n_tree; i++) {
        const axp_tree_node *n = &v->tree[i];
        struct fate *above = &fate[n->parent];
        if ((double)n->total_ns < least || !above->is_kept) continue;
        fate[i].is_kept = true;
        above->n_kept++;
        above->kept_child = (int32_t)i;
    }
}

/* Where a library calls the program, or the system begins it. */
static bool is_entry(const axp_view *v, int32_t i)
{
    const bool *is_own = v->tree_is_own;
    return is_own && is_own[i] && !is_own[v->tree[i].parent];
}

/* Sampled functions that call one other and do nothing else: of a row of them
 * the first and the last say enough, and what of the program is nearest to both. */
static bool is_link(const axp_view *v, const struct fate *fate, int32_t i)
{
    const axp_tree_node *n = &v->tree[i];
    if (!n->is_sampled || fate[i].n_kept != 1) return false;
    const axp_tree_node *child = &v->tree[fate[i].kept_child];
    return child->is_sampled &&
           (double)child->total_ns >= (double)n->total_ns * ALL_OF_IT;
}

static bool is_passed(const axp_view *v, const struct fate *fate, int32_t i)
{
    if (!is_link(v, fate, i) || !is_link(v, fate, v->tree[i].parent))
        return false;
    bool is_last = !is_link(v, fate, fate[i].kept_child);
    bool is_own = v->tree_is_own && v->tree_is_own[i];
    return !is_entry(v, i) && !(is_own && is_last);
}

static bool collect(struct tree *tree)
{
    const axp_view *v = tree->v;
    struct fate *fate = calloc(v->n_tree + 1, sizeof *fate);
    tree->places = malloc((v->n_tree + 1) * sizeof *tree->places);
    bool ok = fate && tree->places;
    if (ok) keep_large(tree, fate);
    for (size_t i = 1; ok && i < v->n_tree; i++) {
        const axp_tree_node *n = &v->tree[i];
        if (!fate[i].is_kept) continue;
        fate[i].is_passed = is_passed(v, fate, (int32_t)i);
        if (fate[i].is_passed) continue;
        int32_t up = n->parent;
        while (fate[up].is_passed)
            up = v->tree[up].parent;
        tree->places[tree->n++] = (struct place){(int32_t)i, up, n->total_ns,
                                                 n->name, up != n->parent};
    }
    free(fate);
    if (ok) qsort(tree->places, tree->n, sizeof *tree->places, by_parent);
    return ok;
}

static size_t first_child(const struct tree *tree, int32_t parent)
{
    size_t low = 0, high = tree->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (tree->places[mid].parent < parent)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void put_place(struct tree *tree, size_t at, unsigned depth,
                      uint64_t has_next)
{
    const axp_tree_node *n = &tree->v->tree[tree->places[at].node];
    axp__cell *cells = axp__table_row_on(tree->table, n->name, n->device);
    if (tree->places[at].is_far) axp__table_mark(tree->table, "… ");
    axp__table_branch(tree->table, depth, has_next);
    if (n->is_sampled)
        strcpy(cells[0], "~");
    else
        axp__short_count(cells[0], n->calls);
    axp__short_ns(cells[1], n->total_ns);
    axp__short_ns(cells[2], n->self_ns);
    axp__short_percent(cells[3], (double)n->total_ns / tree->all_ns);
    if (n->allocated_bytes) axp__short_bytes(cells[4], n->allocated_bytes);
    tree->n_shown++;
}

static void put_children(struct tree *tree, int32_t parent, unsigned depth,
                         uint64_t has_next)
{
    if (depth > MAX_DEPTH) return;
    for (size_t i = first_child(tree, parent);
         i < tree->n && tree->places[i].parent == parent; i++) {
        if (tree->n_shown == SHOWN_PLACES) return;
        bool more = i + 1 < tree->n && tree->places[i + 1].parent == parent;
        uint64_t next = has_next;
        if (more && depth) next |= (uint64_t)1 << (depth - 1);
        put_place(tree, i, depth, next);
        put_children(tree, tree->places[i].node, depth + 1, next);
    }
}

/* Without anything below anything it says what the operations said. */
static bool is_flat(const struct tree *tree)
{
    return !tree->n || tree->places[tree->n - 1].parent == 0;
}

void axp__text_tree(struct axp__text *t, const axp_view *v)
{
    static const struct axp__column columns[] = {
        {"place", true, 0}, {"calls", false, 1}, {"total", false, 0},
        {"self", false, 2}, {"share", false, 0}, {"allocated", false, 3}};
    struct tree tree = {.v = v, .all_ns = (double)v->tree[0].total_ns};
    char text[32];
    if (tree.all_ns <= 0) return;
    bool ok = collect(&tree);
    if (!ok) t->has_failed = true;
    if (ok && !is_flat(&tree)) {
        axp__text_heading(t, "Call tree",
                          "share of %s in scopes%s, from 1 %% on",
                          axp_format_ns(text, sizeof text, v->tree[0].total_ns),
                          v->n_functions ? " and samples (~)" : "");
        tree.table = axp__table_create(
            t, columns, sizeof columns / sizeof *columns, SHOWN_PLACES);
        if (tree.table) put_children(&tree, 0, 0, 0);
        axp__table_print(t, tree.table);
        if (tree.n_shown < tree.n)
            axp__text_say(t, "and %zu more places", tree.n - tree.n_shown);
    }
    free(tree.places);
}
