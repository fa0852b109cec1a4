/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is known when all events have been written: tracks, tables, and how
 * much of the run is shown. */
#include "emit/emit_html.h"

static void add_table(struct axp__html_job *job,
                      const struct axp__html_table *table)
{
    struct axp__html_table *wider = axp__html_grow(
        job->index, job->n_index, &job->index_cap, sizeof *wider);
    if (!wider) {
        axp__html_fail(job, AXP_E_NO_MEMORY);
        return;
    }
    job->index = wider;
    job->index[job->n_index] = *table;
    job->index[job->n_index++].chunk = job->events.n_chunks++;
}

void axp__html_write_table(struct axp__html_job *job,
                           const struct axp__html_table *table)
{
    axp__html_script_begin(&job->events);
    if (!axp__html_pack_end(job->events.packer, job->o))
        axp__html_fail(job, AXP_E_NO_MEMORY);
    axp__html_script_end(&job->events);
    add_table(job, table);
}

static void put_track(struct axp__json *j, const struct axp__html_track *t)
{
    axp__json_next(j);
    axp__json_begin(j, '{');
    axp__json_text(j, "kind", t->is_marks ? "marks" : "slices");
    axp__json_key(j, "row");
    axp__out_format(j->o, "\"%c%u\"", t->row, t->row_index);
    axp__json_u64(j, "lane", t->lane);
    axp__json_u64(j, "n", t->n);
    if (t->name) axp__json_text(j, "name", t->name);
    axp__json_end(j, '}');
}

static void put_table(struct axp__json *j, const struct axp__html_table *t)
{
    axp__json_next(j);
    axp__json_begin(j, '{');
    axp__json_u64(j, "chunk", t->chunk);
    axp__json_text(j, "kind", t->kind);
    axp__json_u64(j, "columns", t->n_columns);
    axp__json_u64(j, "n", t->n);
    if (t->n_names) {
        axp__json_list(j, "names");
        for (size_t i = 0; i < t->n_names; i++) {
            axp__json_next(j);
            axp__out_i64(j->o,
                         t->names[i] == UINT32_MAX ? -1 : (int64_t)t->names[i]);
        }
        axp__json_end(j, ']');
        axp__json_bool(j, "exact", t->is_exact);
        if (t->device) axp__json_u64(j, "device", t->device - 1);
    } else if (!strcmp(t->kind, "counter")) {
        axp__json_u64(j, "name", t->name);
    }
    if (t->least_ns) axp__json_u64(j, "least", t->least_ns);
    axp__json_end(j, '}');
}

static void put_counts(struct axp__json *j, const struct axp__html_job *job)
{
    axp__json_u64(j, "shown", job->events.n - job->events.n_blocks);
    axp__json_u64(j, "merged", job->n_merged);
    axp__json_u64(j, "blocks", job->events.n_blocks);
    axp__json_u64(j, "left_out", job->n_left_out);
    if (job->timeline.n_unread) {
        axp__json_u64(j, "unread", job->timeline.n_unread);
        axp__json_u64(j, "unread_from_ns", job->timeline.end_ns - job->t0);
    }
    axp__json_u64(j, "budget", job->budget);
}

void axp__html_index_put(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const struct axp__html_events *e = &job->events;
    axp__out_text(job->o,
                  "<script type=\"application/json\" id=\"axp-index\">");
    axp__json_begin(j, '{');
    axp__json_key(j, "strings");
    axp__html_strings_put(&job->strings, j);
    axp__json_u64(j, "chunks", e->n_chunks);
    axp__json_u64(j, "chunk_events", AXP__HTML_CHUNK);
    axp__json_list(j, "tracks");
    for (size_t i = 0; i < e->n_tracks; i++)
        put_track(j, &e->tracks[i]);
    axp__json_end(j, ']');
    axp__json_key(j, "args");
    axp__html_args_put(&job->tables, j);
    put_counts(j, job);
    axp__json_list(j, "tables");
    for (size_t i = 0; i < job->n_index; i++)
        put_table(j, &job->index[i]);
    axp__json_end(j, ']');
    axp__json_end(j, '}');
    axp__out_text(job->o, "</script>\n");
}
