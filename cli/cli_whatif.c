/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof whatif: how long a recorded run would have taken if some of it took
 * another time, and what it would then consist of. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axprof/axprof_whatif.h>

#include "cli/cli_say.h"
#include "cli/cli_trace.h"
#include "cli/cli_verbs.h"

#define SHOWN_PARTS 10

/* What was asked for, as the library takes it. */
struct wanted {
    const char **scale, **categories;
    size_t n_scale, n_categories;
    char **made; /* of the first, those that are to be freed */
    size_t n_made;
    bool is_even;
};

static void wanted_fini(struct wanted *w)
{
    for (size_t i = 0; i < w->n_made; i++)
        free(w->made[i]);
    free(w->made);
    free(w->scale);
    free(w->categories);
}

static void wanted_init(struct wanted *w, const cli_args *args)
{
    size_t n_scale = cli_args_values(args, OPT_whatif_scale, NULL, 0);
    size_t n_remove = cli_args_values(args, OPT_whatif_remove, NULL, 0);
    size_t n_all = n_scale + n_remove;
    w->n_categories = cli_args_values(args, OPT_whatif_scale_category, NULL, 0);
    w->scale = cli_alloc(n_all + 1, sizeof *w->scale);
    w->made = cli_alloc(n_remove + 1, sizeof *w->made);
    w->categories = cli_alloc(w->n_categories + 1, sizeof *w->categories);
    cli_args_values(args, OPT_whatif_scale, w->scale, n_scale);
    cli_args_values(args, OPT_whatif_remove, w->scale + n_scale, n_remove);
    cli_args_values(args, OPT_whatif_scale_category, w->categories,
                    w->n_categories);
    for (size_t i = n_scale; i < n_all; i++) {
        w->made[w->n_made] = cli_format("%s=0", w->scale[i]);
        w->scale[i] = w->made[w->n_made++];
    }
    w->n_scale = n_all;
    w->is_even = cli_args_has(args, OPT_whatif_threads);
}

/* ---- names that are not there -------------------------------------------------- */

/* Names of operations, then functions: those that have time of their own, or
 * those that only call others. */
static const char **names_of(const axp_view *view, bool is_own, size_t *n)
{
    size_t n_ops = axp_view_ops(view, AXP_BY_SELF, NULL, 0);
    size_t n_functions = axp_view_functions(view, NULL, 0);
    axp_op *ops = cli_alloc(n_ops + n_functions + 1, sizeof *ops);
    const char **names = cli_alloc(n_ops + n_functions + 1, sizeof *names);
    axp_view_ops(view, AXP_BY_SELF, ops, n_ops);
    axp_view_functions(view, ops + n_ops, n_functions);
    *n = 0;
    for (size_t i = 0; i < n_ops + n_functions; i++)
        if (!ops[i].is_wait && is_own == (ops[i].self_ns > 0))
            names[(*n)++] = ops[i].name;
    free(ops);
    return names;
}

static bool only_calls(const axp_view *view, const char *name)
{
    size_t n;
    bool is_one = false;
    const char **names = names_of(view, false, &n);
    for (size_t i = 0; i < n && !is_one; i++)
        is_one = !strcmp(names[i], name);
    free(names);
    return is_one;
}

static int unknown_name(const axp_view *view, const char *scale)
{
    const char *cut = strrchr(scale, '=');
    char *name = cli_format("%.*s", cut ? (int)(cut - scale) : 0, scale);
    size_t n;
    const char **names = names_of(view, true, &n);
    const char *near = cli_nearest(name, names, n, sizeof *names);
    int rc;
    if (only_calls(view, name))
        rc = cli_wrong("\"%s\" has no time of its own; what it calls has, and "
                       "\"axprof whatif\" without options lists that",
                       name);
    else if (near)
        rc = cli_wrong("no operation \"%s\" is in the timeline; did you mean "
                       "\"%s\"?",
                       name, near);
    else
        rc = cli_wrong("no operation \"%s\" is in the timeline; \"axprof "
                       "whatif\" without options lists what the run consists "
                       "of",
                       name);
    free(names);
    free(name);
    return rc;
}

/* The first change that is refused, said with what was likely meant. */
static int explain(const axp_view *view, const axp_graph *graph,
                   const struct wanted *w)
{
    char *said = cli_format("%s", axp_last_error());
    int rc = CLI_OK;
    for (size_t i = 0; i < w->n_scale; i++) {
        axp_whatif_options one = {
            .size = sizeof one, .scale = w->scale + i, .n_scale = 1};
        axp_replay *r = NULL;
        axp_status status = axp_whatif(graph, &one, &r);
        axp_replay_destroy(r);
        if (status == AXP_E_NOT_FOUND) rc = unknown_name(view, w->scale[i]);
        if (status) break;
    }
    if (rc == CLI_OK) rc = cli_wrong("%s", said);
    free(said);
    return rc;
}

/* ---- what comes of it ------------------------------------------------------------ */

static void put_change(const char *what, axp_ns now, axp_ns was)
{
    char is[32], before[32];
    axp_format_ns(is, sizeof is, now);
    axp_format_ns(before, sizeof before, was);
    if (now == was || !was) {
        printf("%s: %s\n", what, is);
        return;
    }
    double percent = 100 * ((double)now - (double)was) / (double)was;
    long tenths = (long)(10 * (percent < 0 ? -percent : percent) + 0.5);
    printf("%s: %s instead of %s (%s%ld.%ld %%)\n", what, is, before,
           percent < 0 ? "-" : "+", tenths / 10, tenths % 10);
}

static void put_part(const char *name, axp_ns ns, double share)
{
    char time[32];
    long tenths = (long)(1000 * share + 0.5);
    printf("  %4ld.%ld %%  %10s  ", tenths / 10, tenths % 10,
           axp_format_ns(time, sizeof time, ns));
    cli_put(name);
    putchar('\n');
}

static void put_path(const axp_replay *r)
{
    size_t n = axp_replay_parts(r, NULL, 0);
    axp_path_part *parts = cli_alloc(n + 1, sizeof *parts);
    axp_ns rest = 0;
    double share = 0;
    axp_replay_parts(r, parts, n);
    puts("critical path:");
    for (size_t i = 0; i < n; i++) {
        if (i < SHOWN_PARTS) {
            put_part(parts[i].name, parts[i].ns, parts[i].share);
        } else {
            rest += parts[i].ns;
            share += parts[i].share;
        }
    }
    if (n > SHOWN_PARTS) {
        char *text = cli_format("%zu more", n - SHOWN_PARTS);
        put_part(text, rest, share);
        free(text);
    }
    free(parts);
}

static void put_replay(const axp_replay *r)
{
    axp_replay_info t = axp_replay_total(r);
    char unknown[32];
    put_change("run", t.wall_ns, t.recorded_ns);
    if (t.n_steps) put_change("step", t.step_ns, t.recorded_step_ns);
    put_path(r);
    if (t.n_unknown_waits)
        printf("%" PRIu64 " of %" PRIu64 " waits (%s) have no known end: they "
               "are taken for what others did meanwhile\n",
               t.n_unknown_waits, t.n_waits,
               axp_format_ns(unknown, sizeof unknown, t.unknown_ns));
    if (t.is_estimate)
        puts("an estimate: too little is known of who waited for whom "
             "(\"axprof run\" records it)");
}

int cli_whatif_main(const cli_args *args)
{
    struct wanted w = {0};
    axp_view *view = NULL;
    axp_graph *graph = NULL;
    axp_replay *replay = NULL;
    wanted_init(&w, args);
    int rc = cli_trace_open(args, OPT_whatif_symbols, &view);
    if (rc == CLI_OK) {
        graph = axp_graph_create(view);
        if (!graph) rc = cli_fail("%s", axp_last_error());
    }
    if (rc == CLI_OK) {
        axp_whatif_options options = {.size = sizeof options,
                                      .scale = w.scale,
                                      .n_scale = w.n_scale,
                                      .scale_category = w.categories,
                                      .n_scale_category = w.n_categories,
                                      .even_threads = w.is_even};
        if (axp_whatif(graph, &options, &replay)) rc = explain(view, graph, &w);
    }
    if (rc == CLI_OK) put_replay(replay);
    rc = cli_trace_damage(view, rc);
    axp_replay_destroy(replay);
    axp_graph_destroy(graph);
    axp_view_destroy(view);
    wanted_fini(&w);
    return rc;
}
