/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Everything that a view can give, as text: two views are the same if their
 * dumps are. Doubles are written so that every bit shows. */
#ifndef AXP_VIEW_DUMP_H
#define AXP_VIEW_DUMP_H
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axprof/axprof_read.h"
#include "model/model_view.h"

/* Ends a line; what is on a device says so. */
static inline void vd_end(FILE *to, const char *device)
{
    if (device) fprintf(to, " on %s", device);
    fputc('\n', to);
}

static inline void vd_ops(FILE *to, const axp_view *v, axp_order order)
{
    size_t n = axp_view_ops(v, order, NULL, 0);
    axp_op *ops = calloc(n + 1, sizeof *ops);
    axp_view_ops(v, order, ops, n);
    for (size_t i = 0; i < n; i++) {
        const axp_op *o = &ops[i];
        fprintf(
            to,
            "op %s %" PRIu64 " total %" PRIu64 " self %" PRIu64 " min %" PRIu64
            " max %" PRIu64 " avg %" PRIu64 " p %" PRIu64 " %" PRIu64
            " %" PRIu64 " share %a work %a %a %" PRIu64 " %" PRIu64
            " %d cat %d at %s:%d %d %" PRIu64 " %" PRIu64 " %a %a",
            o->name, o->calls, o->total_ns, o->self_ns, o->min_ns, o->max_ns,
            o->avg_ns, o->p50_ns, o->p95_ns, o->p99_ns, o->time_share, o->flops,
            o->bytes, o->n_flops_calls, o->n_bytes_calls, (int)o->dtype,
            (int)o->category, o->file ? o->file : "-", o->line, o->is_sampled,
            o->flops_ns, o->bytes_ns, axp_op_gflops(o), axp_op_gbps(o));
        vd_end(to, o->device);
    }
    free(ops);
}

static inline void vd_tree(FILE *to, const axp_view *v)
{
    size_t n = axp_view_tree(v, NULL, 0);
    axp_tree_node *tree = calloc(n + 1, sizeof *tree);
    axp_view_tree(v, tree, n);
    for (size_t i = 0; i < n; i++) {
        fprintf(to,
                "node %s %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %a %a %" PRIu64
                " %d",
                tree[i].name, tree[i].parent, tree[i].calls, tree[i].total_ns,
                tree[i].self_ns, tree[i].flops, tree[i].bytes,
                tree[i].allocated_bytes, tree[i].is_sampled);
        vd_end(to, tree[i].device);
    }
    free(tree);
}

static inline void vd_domain(FILE *to, axp_memory m, const char *device)
{
    fprintf(to,
            "memory %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
            " %" PRIu64 " %" PRIu64,
            m.current_bytes, m.peak_bytes, m.total_allocated, m.total_freed,
            m.n_allocs, m.n_frees, m.peak_at);
    vd_end(to, device);
}

static inline void vd_memory(FILE *to, const axp_view *v)
{
    vd_domain(to, axp_view_memory(v), NULL);
    for (size_t i = 1; i < v->n_domains; i++)
        vd_domain(to, v->domains[i].memory, v->domains[i].device);
    size_t n = axp_view_memory_names(v, NULL, 0);
    axp_memory_name *names = calloc(n + 1, sizeof *names);
    axp_view_memory_names(v, names, n);
    for (size_t i = 0; i < n; i++) {
        fprintf(to,
                "name %s %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                " %" PRIu64 " %" PRIu64,
                names[i].name, (int)names[i].kind, names[i].current_bytes,
                names[i].peak_bytes, names[i].at_peak_bytes,
                names[i].total_allocated, names[i].n_allocs, names[i].n_frees);
        vd_end(to, names[i].device);
    }
    free(names);
    n = axp_view_leaks(v, NULL, 0);
    axp_leak *leaks = calloc(n + 1, sizeof *leaks);
    axp_view_leaks(v, leaks, n);
    for (size_t i = 0; i < n; i++) {
        fprintf(to, "leak %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRIu64,
                leaks[i].name, leaks[i].bytes, leaks[i].at, leaks[i].thread_id,
                leaks[i].is_retained, leaks[i].n_blocks);
        vd_end(to, leaks[i].device);
    }
    free(leaks);
}

static inline void vd_rows(FILE *to, const axp_view *v)
{
    size_t n = axp_view_threads(v, NULL, 0);
    axp_thread_info *rows = calloc(n + 1, sizeof *rows);
    axp_view_threads(v, rows, n);
    for (size_t i = 0; i < n; i++)
        fprintf(to,
                "thread %" PRIu64 " %s %" PRIu64 " %d %" PRIu64 " %" PRIu64
                " %" PRIu64 " %" PRIu64 "\n",
                rows[i].id, rows[i].name, rows[i].process_id, rows[i].rank,
                rows[i].begin, rows[i].end, rows[i].busy_ns, rows[i].events);
    free(rows);
    for (size_t i = 0; i < v->n_tracks; i++) {
        fprintf(to, "track %u %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
                v->tracks[i].id, v->tracks[i].name, v->tracks[i].begin,
                v->tracks[i].end, v->tracks[i].busy_ns, v->tracks[i].events);
        vd_end(to, v->tracks[i].device);
    }
    for (size_t i = 0; i < v->n_counters; i++)
        fprintf(to, "counter %s %" PRIu64 " %a %a %a %a %" PRIu64 "\n",
                v->counters[i].name, v->counters[i].n, v->counters[i].last,
                v->counters[i].min, v->counters[i].max, v->counters[i].sum,
                v->counters[i].last_at);
}

static inline int vd_event(const axp_event_info *e, void *ctx)
{
    fprintf(ctx, "event %s %d %" PRIu64 " %" PRIu64 " %s %a\n", e->name,
            (int)e->type, e->time_ns, e->thread_id,
            e->metadata ? e->metadata : "-", e->value);
    return 0;
}

static inline void vd_rest(FILE *to, const axp_view *v)
{
    axp_step_stats s = axp_view_steps(v);
    fprintf(to,
            "steps %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
            " %" PRIu64 " %" PRIu64 "\n",
            s.count, s.avg_ns, s.p50_ns, s.p95_ns, s.p99_ns, s.min_ns,
            s.max_ns);
    for (size_t i = 0; i < v->capture->n_lanes; i++) {
        const struct axp__steps *k = v->capture->lanes[i].steps;
        if (!k) continue;
        for (uint32_t n = 0; n < AXP__STEPS_RECENT && n < k->n_recent; n++)
            fprintf(to,
                    "step %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                    k->recent[n].index, k->recent[n].begin_ticks,
                    k->recent[n].end_ticks, k->recent[n].live_bytes);
        fprintf(to, "kept %u %u %" PRIu64 "\n", k->n_slowest, k->n_sampled,
                k->stride);
    }
    size_t n = axp_view_warnings(v, NULL, 0);
    axp_warning *w = calloc(n + 1, sizeof *w);
    axp_view_warnings(v, w, n);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "warning %s %s %" PRIu64 " %s\n", w[i].code,
                w[i].name ? w[i].name : "-", w[i].count, w[i].text);
    free(w);
    fprintf(to, "title %s\n", v->capture->title);
    fprintf(to, "duration %" PRIu64 "\n", axp_view_duration(v));
    fprintf(to, "events %" PRIu64 " cut %" PRIu64 "\n", axp_view_event_count(v),
            axp_view_cut_count(v));
    axp_view_events(v, NULL, vd_event, to);
}

/* malloc. Reports too, where they are asked for: they are long. */
static inline char *vd_dump(const axp_view *v, bool with_reports)
{
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    vd_ops(to, v, AXP_BY_SELF);
    vd_ops(to, v, AXP_BY_TIME);
    vd_ops(to, v, AXP_BY_CALLS);
    vd_tree(to, v);
    vd_memory(to, v);
    vd_rows(to, v);
    vd_rest(to, v);
    if (with_reports) {
        axp_report_write(v, AXP_FORMAT_JSON, to);
        axp_report_write(v, AXP_FORMAT_TEXT, to);
    }
    fclose(to);
    return text;
}

/* Says where two dumps part. */
static inline bool vd_same(const char *a, const char *b)
{
    size_t line = 1;
    if (!strcmp(a, b)) return true;
    while (*a && *a == *b) {
        line += *a == '\n';
        a++;
        b++;
    }
    fprintf(stderr, "dumps differ in line %zu:\n  %.160s\n  %.160s\n", line, a,
            b);
    return false;
}

#endif
