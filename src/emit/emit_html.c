/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The order in which a page is written; see emit_html.h. */
#include "emit/emit_html.h"

#include <stdlib.h>

#include "record/record_thread.h"

#define MARKER "<!--axprof-data-->"
#define FAST_FROM 2000000 /* events from which speed counts more than size */
#define READ_FOR_ONE 20u  /* events are read, at most, for one in the budget */

axp_status axp__html_fail(struct axp__html_job *job, axp_status status)
{
    if (!job->status) job->status = status;
    return status;
}

/* ---- the budget -------------------------------------------------------------------- */

/* What the recorder counted: at least as many as are in the timeline. */
static uint64_t most_slices(const axp_view *v)
{
    uint64_t n = 0;
    for (size_t i = 0; i < v->n_ops; i++)
        n += v->ops[i].calls;
    return v->n_events < n ? v->n_events : n;
}

static uint64_t most_read(uint64_t budget)
{
    return budget < UINT64_MAX / READ_FOR_ONE ? budget * READ_FOR_ONE
                                              : UINT64_MAX;
}

/* How many events a page would have; also how long they are, where asked. */
static axp_status count_events(struct axp__html_job *job, uint64_t *n)
{
    job->n_slices = job->n_merged = job->n_left_out = 0;
    axp__html_events_init(&job->events, NULL, NULL, job->t0);
    axp_status status = axp__html_rows(job);
    *n = job->events.n;
    axp__html_events_fini(&job->events);
    job->n_slices = job->n_merged = job->n_left_out = 0;
    return status;
}

axp_ns axp__html_length_for(const uint64_t *lengths, uint64_t most)
{
    uint64_t kept = 0;
    unsigned class = AXP__HTML_LENGTHS;
    while (class > 0 && kept + lengths[class - 1] <= most)
        kept += lengths[--class];
    return axp__html_length_least(class);
}

/* Chooses keep_ns. Half of the budget is nearly always left for blocks; a
 * third of it is always enough (emit_html_stack.c). */
static axp_status fit_budget(struct axp__html_job *job)
{
    uint64_t lengths[AXP__HTML_LENGTHS] = {0}, n = 0;
    if (most_slices(job->timeline.view) <= job->budget) return AXP_OK;
    job->lengths = lengths;
    axp_status status = count_events(job, &n);
    job->lengths = NULL;
    for (unsigned part = 2; !status && n > job->budget && part <= 3; part++) {
        job->keep_ns = axp__html_length_for(lengths, job->budget / part);
        if (part == 2) status = count_events(job, &n);
    }
    return status;
}

/* ---- the page -------------------------------------------------------------------------- */

/* Of all rows: who looks from outside may begin before the recorded part. */
static axp_ns first_time(const axp_view *v)
{
    axp_ns first = UINT64_MAX;
    for (size_t i = 0; i < v->capture->n_rows; i++)
        if (v->lives[i].begin < first) first = v->lives[i].begin;
    return first == UINT64_MAX ? 0 : first;
}

static void write_data(struct axp__html_job *job)
{
    struct axp__html_events *e = &job->events;
    bool is_fast = most_slices(job->timeline.view) > FAST_FROM;
    struct axp__html_packer *packer = axp__html_packer_create(is_fast ? 1 : 6);
    axp__html_events_init(e, job->o, packer, job->t0);
    axp__html_meta_put(job);
    if (!packer) axp__html_fail(job, AXP_E_NO_MEMORY);
    if (!job->status) axp__html_fail(job, axp__html_rows(job));
    if (!job->status) {
        axp__html_events_flush(e);
        axp__html_series_write(job);
        axp__html_flows_write(job);
        axp__html_wakers_write(job);
        axp__html_blocks_write(job);
        axp__html_states_write(job);
        axp__html_path_write(job);
        axp__html_heap_write(job);
    }
    axp__html_index_put(job);
    if (e->has_failed || job->strings.has_failed || job->tables.has_failed)
        axp__html_fail(job, AXP_E_NO_MEMORY);
    axp__html_events_fini(e);
    axp__html_packer_destroy(packer);
}

axp_status axp__emit_html(const axp_view *v, const axp_findings *f,
                          const axp_report_options *options, struct axp__out *o)
{
    const char *marker = strstr(axp__html_template, MARKER);
    struct axp__html_job job = {
        .v = v, .f = f, .options = options, .o = o, .json = {.o = o}};
    if (!marker)
        return axp__fail(AXP_E_FORMAT, "the page's template has no marker");
    job.t0 = first_time(v);
    job.budget = options->max_events ? options->max_events : AXP__HTML_BUDGET;
    if (!axp__part_begin(&job.timeline, v, most_read(job.budget)))
        return axp__fail(AXP_E_NO_MEMORY, "no memory to write the page");
    axp__html_fail(
        &job, axp__html_around_read(job.timeline.view, job.t0, &job.around));
    /* the first step began with the profiler, before any event */
    if (job.around.n_steps && job.around.steps[0].begin < job.t0)
        job.t0 = job.around.steps[0].begin;
    if (!job.status) axp__html_fail(&job, fit_budget(&job));
    if (!job.status) {
        axp__out_bytes(o, axp__html_template,
                       (size_t)(marker - axp__html_template));
        write_data(&job);
        axp__out_text(o, marker + strlen(MARKER));
    }
    axp__html_around_fini(&job.around);
    axp__part_end(&job.timeline);
    axp__html_tables_fini(&job.tables);
    axp__html_strings_fini(&job.strings);
    axp__bars_fini(&job.path);
    free(job.index);
    if (job.status == AXP_E_NO_MEMORY)
        return axp__fail(job.status, "no memory to write the page");
    return job.status;
}
