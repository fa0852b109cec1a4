/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is known when all events have been written: tracks, tables, and how
 * much of the run is shown. */
#include "emit/emit_html.h"

void axp__html_add_table(struct axp__html_job *job,
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

static void put_track(struct axp__out *o, const struct axp__html_track *t)
{
    axp__out_format(o, "{\"kind\":\"%s\",\"row\":\"%c%u\",\"lane\":%u,\"n\":",
                    t->is_marks ? "marks" : "slices", t->row, t->row_index,
                    t->lane);
    axp__out_u64(o, t->n);
    if (t->name) {
        axp__out_text(o, ",\"name\":");
        axp__out_json(o, t->name);
    }
    axp__out_char(o, '}');
}

static void put_table(struct axp__out *o, const struct axp__html_table *t)
{
    axp__out_format(o, "{\"chunk\":%u,\"kind\":\"%s\",\"columns\":%u,\"n\":%u",
                    t->chunk, t->kind, t->n_columns, t->n);
    if (t->n_names) {
        axp__out_text(o, ",\"names\":[");
        for (size_t i = 0; i < t->n_names; i++) {
            if (i) axp__out_char(o, ',');
            axp__out_i64(o,
                         t->names[i] == UINT32_MAX ? -1 : (int64_t)t->names[i]);
        }
        axp__out_format(o, "],\"exact\":%s", t->is_exact ? "true" : "false");
    } else if (!strcmp(t->kind, "counter")) {
        axp__out_format(o, ",\"name\":%u", t->name);
    }
    axp__out_char(o, '}');
}

static void put_count(struct axp__out *o, const char *name, uint64_t value)
{
    axp__out_format(o, ",\"%s\":", name);
    axp__out_u64(o, value);
}

void axp__html_index_put(struct axp__html_job *job)
{
    struct axp__out *o = job->o;
    const struct axp__html_events *e = &job->events;
    axp__out_text(o, "<script type=\"application/json\" id=\"axp-index\">");
    axp__out_text(o, "{\"strings\":");
    axp__html_strings_put(&job->strings, o);
    put_count(o, "chunks", e->n_chunks);
    put_count(o, "chunk_events", AXP__HTML_CHUNK);
    axp__out_text(o, ",\"tracks\":[");
    for (size_t i = 0; i < e->n_tracks; i++) {
        if (i) axp__out_char(o, ',');
        put_track(o, &e->tracks[i]);
    }
    axp__out_text(o, "],\"args\":");
    axp__html_args_put(&job->tables, o);
    put_count(o, "shown", e->n - e->n_blocks);
    put_count(o, "merged", job->n_merged);
    put_count(o, "blocks", e->n_blocks);
    put_count(o, "left_out", job->n_left_out);
    if (job->timeline.n_unread) {
        put_count(o, "unread", job->timeline.n_unread);
        put_count(o, "unread_from_ns", job->timeline.end_ns - job->t0);
    }
    put_count(o, "budget", job->budget);
    axp__out_text(o, ",\"tables\":[");
    for (size_t i = 0; i < job->n_index; i++) {
        if (i) axp__out_char(o, ',');
        put_table(o, &job->index[i]);
    }
    axp__out_text(o, "]}</script>\n");
}
