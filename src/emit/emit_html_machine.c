/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The machine of the page: the lines that its roofline is drawn with. */
#include <math.h>

#include "emit/emit_html.h"

/* [label, value], and what it leads up to, if that is not 0. */
static void put_line(struct axp__json *j, const char *label, double value,
                     double end)
{
    axp__json_next(j);
    axp__json_begin(j, '[');
    axp__json_next(j);
    axp__out_json(j->o, label);
    axp__json_next(j);
    axp__out_f64(j->o, value);
    if (end > 0) {
        axp__json_next(j);
        axp__out_f64(j->o, end);
    }
    axp__json_end(j, ']');
}

static void put_given(struct axp__json *j, double gflops, double gbps)
{
    axp__json_object(j, "machine");
    axp__json_text(j, "name", "the machine, as given");
    axp__json_u64(j, "cores", 0);
    axp__json_list(j, "gflops");
    if (gflops > 0) put_line(j, "peak", gflops, 0);
    axp__json_end(j, ']');
    axp__json_list(j, "gbps");
    if (gbps > 0) put_line(j, "memory", gbps, 0);
    axp__json_end(j, ']');
    axp__json_end(j, '}');
}

/* Of the types that operations declared. */
static void put_peaks(struct axp__html_job *job, const struct axp__machine *m)
{
    struct axp__json *j = &job->json;
    const struct axp__machine_compute *seen[AXP_C128 + 1] = {0};
    const axp_dtype first = job->f->roofs->run.dtype;
    char label[64];
    size_t n = 0;
    seen[n++] = axp__machine_compute_of(m, first);
    for (size_t i = 0; i < job->v->n_ops; i++) {
        const struct axp__machine_compute *c =
            axp__machine_compute_of(m, job->v->ops[i].dtype);
        size_t k = 0;
        while (k < n && seen[k] != c)
            k++;
        if (k == n && n <= AXP_C128 && job->v->ops[i].n_flops_calls)
            seen[n++] = c;
    }
    axp__json_list(j, "gflops");
    for (size_t i = 0; i < n && seen[i]; i++) {
        const char *word = axp__machine_dtype_word(seen[i]->dtype);
        snprintf(label, sizeof label, "%s, %u threads", word, m->n_threads);
        if (m->n_threads > 1) put_line(j, label, seen[i]->all.best / 1e9, 0);
        snprintf(label, sizeof label, "%s, 1 thread", word);
        put_line(j, label, seen[i]->one.best / 1e9, 0);
    }
    axp__json_end(j, ']');
}

/* Lines of all threads, then of one, each with the peak that it ends at. */
static void put_levels(struct axp__html_job *job, const struct axp__machine *m)
{
    struct axp__json *j = &job->json;
    const struct axp__machine_compute *c =
        axp__machine_compute_of(m, job->f->roofs->run.dtype);
    char label[64];
    axp__json_list(j, "gbps");
    for (int is_one = m->n_threads == 1; is_one < 2 && c; is_one++)
        for (size_t i = 0; i < m->n_memory; i++) {
            const struct axp__machine_memory *is = &m->memory[i];
            double one = fmax(is->read_one.best, is->move_one.best);
            double all = fmax(is->read_all.best, is->move_all.best);
            double bytes = is_one ? one : all;
            snprintf(label, sizeof label, "%s, %u thread%s",
                     axp__machine_level_word(is->level),
                     is_one ? 1 : m->n_threads, is_one ? "" : "s");
            if (bytes > 0)
                put_line(j, label, bytes / 1e9,
                         (is_one ? c->one.best : c->all.best) / 1e9);
        }
    axp__json_end(j, ']');
}

/* Those that the user gave, or else what was measured. */
void axp__html_machine_put(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const double *t = job->f->threshold;
    double gflops = t[AXP__T_low_throughput_peak_gflops];
    double gbps = t[AXP__T_low_throughput_peak_gbps];
    const struct axp__machine *m = job->v->machine;
    if (gflops > 0 || gbps > 0) {
        put_given(j, gflops, gbps);
    } else if (m && axp__machine_compute_of(m, AXP_F32)) {
        axp__json_object(j, "machine");
        axp__json_text(j, "name", m->cpu);
        axp__json_u64(j, "cores", m->n_cores);
        put_peaks(job, m);
        put_levels(job, m);
        axp__json_end(j, '}');
    }
}
