/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a view says of a program's own calls, as sorted lines of text, so that two
 * runs can be compared: one that was interrupted by a handler with one that was
 * not. No times, and nothing of what handlers recorded or the recorder itself. */
#ifndef AXP_TEST_HANDLER_SEEN_H
#define AXP_TEST_HANDLER_SEEN_H
#include <stdarg.h>

#include "stress_check.h"

#define SEEN_LINES 2048u
#define SEEN_LINE 256u
#define SEEN_NODES 2048u

struct seen {
    char line[SEEN_LINES][SEEN_LINE];
    size_t n;
};
static struct seen seen;

__attribute__((format(printf, 1, 2))) static void seen_add(const char *format,
                                                           ...)
{
    va_list args;
    CHECK(seen.n < SEEN_LINES);
    va_start(args, format);
    vsnprintf(seen.line[seen.n++], SEEN_LINE, format, args);
    va_end(args);
}

/* Whether a handler gave it the name. */
static bool seen_is_handlers(const char *name);

static bool seen_is_ours(const char *name)
{
    return !name || (!seen_is_handlers(name) && strncmp(name, "axprof.", 7));
}

/* ---- scopes ------------------------------------------------------------------------ */

struct seen_place {
    unsigned depth;
    uint32_t names; /* a number of all names on the way */
    const char *parent, *name;
};

/* Where a node is; false: within a handler's scope. */
static bool seen_find(const axp_tree_node *nodes, size_t i,
                      struct seen_place *out)
{
    int32_t parent = nodes[i].parent;
    const char *above = parent < 0 ? "" : nodes[parent].name;
    *out = (struct seen_place){0, 2166136261u, above, nodes[i].name};
    for (int32_t k = (int32_t)i; k >= 0; k = nodes[k].parent) {
        if (!seen_is_ours(nodes[k].name)) return false;
        for (const char *c = nodes[k].name; *c; c++)
            out->names = (out->names ^ (unsigned char)*c) * 16777619u;
        out->depth++;
    }
    return true;
}

static void seen_tree(const axp_view *v)
{
    static axp_tree_node nodes[SEEN_NODES];
    size_t n = axp_view_tree(v, nodes, SEEN_NODES);
    CHECK(n <= SEEN_NODES);
    for (size_t i = 0; i < n; i++) {
        struct seen_place at;
        /* without any: a handler was called there, in what then moved */
        if (!nodes[i].calls || !seen_find(nodes, i, &at)) continue;
        seen_add("tree %u (%08x) %s > %s: %" PRIu64 " %g %g %" PRIu64, at.depth,
                 at.names, at.parent, at.name, nodes[i].calls, nodes[i].flops,
                 nodes[i].bytes, nodes[i].allocated_bytes);
    }
}

static const axp_op *seen_ops(const axp_view *v, size_t *n)
{
    static axp_op ops[SEEN_NODES];
    *n = axp_view_ops(v, AXP_BY_CALLS, ops, SEEN_NODES);
    CHECK(*n <= SEEN_NODES);
    return ops;
}

static void seen_calls(const axp_view *v)
{
    size_t n;
    const axp_op *ops = seen_ops(v, &n);
    for (size_t i = 0; i < n; i++)
        if (seen_is_ours(ops[i].name))
            seen_add("calls %s %" PRIu64, ops[i].name, ops[i].calls);
}

/* Of all scopes of handlers. */
static uint64_t seen_handled(const axp_view *v)
{
    size_t n;
    uint64_t calls = 0;
    const axp_op *ops = seen_ops(v, &n);
    for (size_t i = 0; i < n; i++)
        if (seen_is_handlers(ops[i].name)) calls += ops[i].calls;
    return calls;
}

/* ---- the rest -------------------------------------------------------------------- */

static void seen_memory(const axp_view *v)
{
    axp_memory_name names[16];
    axp_counter_info counters[16];
    size_t n = axp_view_memory_names(v, names, 16);
    for (size_t i = 0; i < n && i < 16; i++)
        if (seen_is_ours(names[i].name))
            seen_add("memory %s %" PRIu64 " of %" PRIu64, names[i].name,
                     names[i].current_bytes, names[i].total_allocated);
    n = axp_view_counters(v, counters, 16);
    for (size_t i = 0; i < n && i < 16; i++)
        if (seen_is_ours(counters[i].name))
            seen_add("counter %s %" PRIu64 " %g", counters[i].name,
                     counters[i].count, counters[i].last);
    seen_add("steps %" PRIu64, axp_view_steps(v).count);
}

/* Whether it depends on the program's calls alone, and not on times. */
static bool seen_is_sure(const char *code, bool has_tree)
{
    const char *const unsure[] = {"signal_drops", "doubtful_times",
                                  "own_overhead"};
    for (size_t i = 0; i < sizeof unsure / sizeof *unsure; i++)
        if (!strcmp(code, unsure[i])) return false;
    return has_tree || strcmp(code, "open_scopes") != 0;
}

static void seen_warnings(const axp_view *v, bool has_tree)
{
    axp_warning list[64];
    size_t n = axp_view_warnings(v, list, 64);
    for (size_t i = 0; i < n && i < 64; i++)
        if (seen_is_sure(list[i].code, has_tree))
            seen_add("warning %s %" PRIu64, list[i].code, list[i].count);
}

static int seen_event(const axp_event_info *e, void *ctx)
{
    (void)ctx;
    if (seen_is_ours(e->name))
        seen_add("event %d %s", (int)e->type, e->name ? e->name : "");
    return 0;
}

static int seen_compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Sorted, each line with how often it is there, if that is more than once. */
static void seen_write(char *to, size_t cap)
{
    size_t at = 0;
    qsort(seen.line, seen.n, SEEN_LINE, seen_compare);
    to[0] = 0;
    for (size_t i = 0, k; i < seen.n; i = k) {
        for (k = i + 1; k < seen.n && !strcmp(seen.line[i], seen.line[k]); k++)
            continue;
        at += (size_t)snprintf(to + at, cap - at, "%zu x %s\n", k - i,
                               seen.line[i]);
        CHECK(at < cap);
    }
}

/* has_tree: also where in the call tree each call was, and how many scopes are
 * open, which is otherwise where a handler leaves one open. */
static void seen_view(const axp_view *v, bool has_tree, char *to, size_t cap)
{
    seen.n = 0;
    if (has_tree) seen_tree(v);
    seen_calls(v);
    seen_memory(v);
    seen_warnings(v, has_tree);
    CHECK_EQ(axp_view_events(v, NULL, seen_event, NULL), AXP_OK);
    seen_write(to, cap);
}

/* Lines of one that are not in the other. */
static void seen_print_missing(const char *of, const char *in, char sign)
{
    for (const char *end; *of; of = end + 1) {
        char line[SEEN_LINE + 32];
        end = strchr(of, '\n');
        snprintf(line, sizeof line, "%.*s\n", (int)(end - of), of);
        const char *at = strstr(in, line);
        while (at && at != in && at[-1] != '\n')
            at = strstr(at + 1, line);
        if (!at) printf("  %c %s", sign, line);
    }
}

static void seen_print_change(const char *right, const char *is)
{
    seen_print_missing(right, is, '-');
    seen_print_missing(is, right, '+');
}

#endif
