/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The critical path on the page: its parts in meta, as JSON reports have them,
 * and a table of its pieces by time, which the timeline draws as a row. */
#include "emit/emit_html.h"

#include <stdlib.h>

#include "emit/emit_path.h"
#include "graph/graph.h"

void axp__html_path_put(struct axp__html_job *job)
{
    const struct axp__recorded *of = NULL;
    axp_status status = axp__graph_recorded(job->v, &of);
    if (!status && of) status = axp__path_json(&job->json, job->v);
    if (status) axp__html_fail(job, status);
}

/* 0: nobody's, or a queue's. */
static uint64_t thread_of(const axp_view *v, const axp_path_segment *s)
{
    for (size_t i = 0; i < v->n_threads; i++)
        if (v->threads[i].id == s->thread_id &&
            v->threads[i].process_id == s->process_id &&
            v->threads[i].begin < s->end)
            return i + 1;
    return 0;
}

static uint64_t string_of(struct axp__html_job *job, const axp_path_segment *s)
{
    switch (s->kind) {
    case AXP_PATH_WORK:
        return axp__html_op(&job->strings, false, s->name, NULL);
    case AXP_PATH_WAIT: return axp__html_op(&job->strings, true, s->name, NULL);
    default:
        return axp__html_string_as(&job->strings, AXP__HTML_OUTSIDE, s->name);
    }
}

static uint64_t value_of(struct axp__html_job *job, const axp_path_segment *s,
                         axp_ns before, int column)
{
    switch (column) {
    case 0: return s->begin > before ? s->begin - before : 0;
    case 1: return s->end > s->begin ? s->end - s->begin : 0;
    case 2: return string_of(job, s);
    case 3: return thread_of(job->v, s);
    default: return (uint64_t)s->kind;
    }
}

enum { N_COLUMNS = 5 }; /* docs/html-data.md */

static void write(struct axp__html_job *job, const axp_path_segment *at,
                  size_t n)
{
    struct axp__html_packer *p = job->events.packer;
    uint64_t *column = malloc(n * sizeof *column);
    if (!column || !axp__html_pack_begin(p, (uint32_t)n, N_COLUMNS)) {
        axp__html_fail(job, AXP_E_NO_MEMORY);
    } else {
        for (int k = 0; k < N_COLUMNS; k++) {
            for (size_t i = 0; i < n; i++)
                column[i] =
                    value_of(job, &at[i], i ? at[i - 1].end : job->t0, k);
            axp__html_pack_u64(p, column);
        }
        axp__html_write_table(
            job, &(struct axp__html_table){
                     .kind = "path", .n_columns = N_COLUMNS, .n = (uint32_t)n});
    }
    free(column);
}

void axp__html_path_write(struct axp__html_job *job)
{
    axp_status status = axp__bars_init(&job->path, job->v);
    if (status)
        axp__html_fail(job, status);
    else if (job->path.n)
        write(job, job->path.at, job->path.n);
}
