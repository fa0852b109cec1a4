/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A measured machine, as text on 80 columns and as JSON: axp_machine_write.
 *
 * The same members as JSON are "machine" of a report (emit_machine.h).
 */
#include "emit/emit_machine.h"

#include <math.h>
#include <string.h>

#include "base/base_number.h"
#include "emit/emit_text.h"
#include "model/model_machine.h"
#include "record/record_thread.h"

#define SCHEMA "axprof-machine-1"

/* ---- JSON ---------------------------------------------------------------------- */

static void put_figure(struct axp__json *j, const char *name,
                       struct axp__figure f)
{
    axp__json_object(j, name);
    axp__json_known(j, "best", f.best > 0, f.best);
    axp__json_known(j, "spread", f.best > 0, f.spread);
    axp__json_end(j, '}');
}

static void put_lists(struct axp__json *j, const struct axp__machine *m)
{
    axp__json_list(j, "compute");
    for (size_t i = 0; i < m->n_compute; i++) {
        axp__json_item(j);
        axp__json_text(j, "dtype",
                       axp__machine_dtype_word(m->compute[i].dtype));
        axp__json_text(j, "isa", m->compute[i].isa);
        put_figure(j, "one_flops", m->compute[i].one);
        put_figure(j, "all_flops", m->compute[i].all);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
    axp__json_list(j, "memory");
    for (size_t i = 0; i < m->n_memory; i++) {
        const struct axp__machine_memory *is = &m->memory[i];
        axp__json_item(j);
        axp__json_text(j, "level", axp__machine_level_word(is->level));
        axp__json_known(j, "size_bytes", is->bytes, (double)is->bytes);
        axp__json_u64(j, "shared_by", is->shared);
        put_figure(j, "one_read", is->read_one);
        put_figure(j, "all_read", is->read_all);
        put_figure(j, "one_move", is->move_one);
        put_figure(j, "all_move", is->move_all);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
    axp__json_text(j, "blas_library", *m->blas_name ? m->blas_name : NULL);
    axp__json_list(j, "blas");
    for (size_t i = 0; i < m->n_blas; i++) {
        axp__json_item(j);
        axp__json_u64(j, "m", m->blas[i].m);
        axp__json_u64(j, "n", m->blas[i].n);
        axp__json_u64(j, "k", m->blas[i].k);
        put_figure(j, "one_flops", m->blas[i].one);
        put_figure(j, "all_flops", m->blas[i].all);
        axp__json_end(j, '}');
    }
    axp__json_items_end(j);
}

void axp__json_machine(struct axp__json *j, const struct axp__machine *m)
{
    axp__json_text(j, "cpu", m->cpu);
    axp__json_text(j, "arch", m->arch);
    axp__json_u64(j, "cpus_online", m->n_cpus);
    axp__json_u64(j, "cpus_allowed", m->n_allowed);
    axp__json_u64(j, "threads", m->n_threads);
    axp__json_u64(j, "cores", m->n_cores);
    axp__json_u64(j, "sockets", m->n_sockets);
    axp__json_u64(j, "nodes", m->n_nodes);
    axp__json_known(j, "cpu_quota", m->quota > 0, m->quota);
    axp__json_f64(j, "load", m->load);
    axp__json_u64(j, "measured_s", m->measured_s);
    axp__json_bool(j, "is_short", m->is_short);
    axp__json_bool(j, "is_partial", m->is_partial);
    put_figure(j, "hz", m->hz);
    axp__json_known(j, "fork_join_ns", m->fork_join_ns > 0, m->fork_join_ns);
    axp__json_known(j, "barrier_ns", m->barrier_ns > 0, m->barrier_ns);
    put_lists(j, m);
}

static void emit_json(const struct axp__machine *m, struct axp__out *o)
{
    struct axp__json j = {.o = o, .is_airy = true};
    axp__json_begin(&j, '{');
    axp__json_line(&j, "  ");
    axp__json_text(&j, "schema", SCHEMA);
    axp__json_line(&j, "  ");
    axp__json_machine(&j, m);
    axp__out_text(o, "\n}\n");
}

/* ---- text ---------------------------------------------------------------------- */

static void giga(axp__cell out, struct axp__figure f)
{
    if (f.best > 0) axp__digits3(out, AXP__CELL, f.best / 1e9);
}

/* The wider of the two, marked where it is doubtful. */
static void spread(axp__cell out, struct axp__figure a, struct axp__figure b)
{
    double is = fmax(a.best > 0 ? a.spread : 0, b.best > 0 ? b.spread : 0);
    if (a.best <= 0 && b.best <= 0) return;
    axp__short_percent(out, is);
    if (is > AXP__DOUBTFUL) strcat(out, " !");
}

static void put_machine(struct axp__text *t, const struct axp__machine *m)
{
    char hz[32], quota[32];
    axp__text_say(t, "%s (%s), %u %s in %u %s, %u %s", m->cpu, m->arch,
                  m->n_cpus, m->n_cpus == 1 ? "CPU" : "CPUs", m->n_sockets,
                  m->n_sockets == 1 ? "socket" : "sockets", m->n_nodes,
                  m->n_nodes == 1 ? "node" : "nodes");
    if (m->hz.best > 0)
        axp__text_say(t, "%s GHz, by a chain of additions; all threads: %u",
                      axp__digits3(hz, sizeof hz, m->hz.best / 1e9),
                      m->n_threads);
    if (m->n_allowed < m->n_cpus)
        axp__text_say(t, "this process may use %u of the CPUs", m->n_allowed);
    if (m->quota > 0)
        axp__text_say(t, "its control group may use %s CPUs%s",
                      axp__digits3(quota, sizeof quota, m->quota),
                      m->quota < 1 ? ": the best moments are shown, and no "
                                     "program can go on like that"
                                   : "");
}

static void put_compute(struct axp__text *t, const struct axp__machine *m)
{
    static const struct axp__column columns[] = {
        {"type", true, 0}, {"instructions", true, 0}, {"1 thread", false, 0},
        {"all", false, 0}, {"per cycle", false, 0},   {"spread", false, 0}};
    axp__text_heading(t, "Arithmetic", "GFLOP/s; i8: 1e9 operations a second");
    struct axp__table *table =
        axp__table_create(t, columns, 6, AXP__MACHINE_COMPUTE);
    for (size_t i = 0; i < m->n_compute; i++) {
        const struct axp__machine_compute *c = &m->compute[i];
        axp__cell *cells =
            axp__table_row(table, axp__machine_dtype_word(c->dtype));
        snprintf(cells[0], AXP__CELL, "%s", c->isa);
        giga(cells[1], c->one);
        giga(cells[2], c->all);
        if (c->one.best > 0 && m->hz.best > 0)
            axp__digits3(cells[3], AXP__CELL, c->one.best / m->hz.best);
        spread(cells[4], c->one, c->all);
    }
    axp__table_print(t, table);
}

static void put_memory(struct axp__text *t, const struct axp__machine *m)
{
    static const struct axp__column columns[] = {
        {"level", true, 0},    {"size", false, 0},     {"1 reads", false, 0},
        {"1 moves", false, 0}, {"all read", false, 0}, {"all move", false, 0},
        {"spread", false, 0}};
    bool is_any = false;
    for (size_t i = 0; i < m->n_memory; i++)
        is_any |= m->memory[i].read_one.best > 0;
    axp__text_heading(t, "Memory",
                      is_any ? "GB/s; moves: a copy or a triad"
                             : "not measured: there was no room");
    struct axp__table *table =
        axp__table_create(t, columns, 7, AXP__MACHINE_MEMORY);
    for (size_t i = 0; i < m->n_memory; i++) {
        const struct axp__machine_memory *is = &m->memory[i];
        axp__cell *cells =
            axp__table_row(table, axp__machine_level_word(is->level));
        if (is->bytes) axp__short_bytes(cells[0], is->bytes);
        giga(cells[1], is->read_one);
        giga(cells[2], is->move_one);
        giga(cells[3], is->read_all);
        giga(cells[4], is->move_all);
        struct axp__figure a = is->read_one, b = is->read_all;
        if (is->move_one.spread > a.spread) a = is->move_one;
        if (is->move_all.spread > b.spread) b = is->move_all;
        spread(cells[5], a, b);
    }
    axp__table_print(t, table);
}

static void put_blas(struct axp__text *t, const struct axp__machine *m)
{
    static const struct axp__column columns[] = {{"M x N x K", true, 0},
                                                 {"1 thread", false, 0},
                                                 {"all", false, 0},
                                                 {"of the peak", false, 0},
                                                 {"spread", false, 0}};
    const struct axp__machine_compute *f32 =
        axp__machine_compute_of(m, AXP_F32);
    char names[AXP__MACHINE_BLAS][40];
    if (m->is_short) return;
    if (!*m->blas_name) {
        axp__text_heading(t, "BLAS",
                          m->is_partial ? "not measured" : "none was found");
        return;
    }
    axp__text_heading(t, "BLAS", "products in single precision, GFLOP/s");
    struct axp__table *table =
        axp__table_create(t, columns, 5, AXP__MACHINE_BLAS);
    for (size_t i = 0; i < m->n_blas; i++) {
        const struct axp__machine_blas *b = &m->blas[i];
        snprintf(names[i], sizeof names[i], "%u x %u x %u", b->m, b->n, b->k);
        axp__cell *cells = axp__table_row(table, names[i]);
        giga(cells[0], b->one);
        giga(cells[1], b->all);
        if (f32 && f32->all.best > 0 && b->all.best > 0)
            axp__short_percent(cells[2], b->all.best / f32->all.best);
        spread(cells[3], b->one, b->all);
    }
    axp__table_print(t, table);
    axp__text_wrap(t, "", m->blas_name);
}

static void put_threads(struct axp__text *t, const struct axp__machine *m)
{
    char fork[32], barrier[32];
    if (m->fork_join_ns <= 0) return;
    axp__text_heading(t, "Threads", "%u of them", m->n_threads);
    axp__text_say(
        t, "handing them work and waiting for all: %s; a barrier: %s",
        axp_format_ns(fork, sizeof fork, axp__whole(m->fork_join_ns)),
        axp_format_ns(barrier, sizeof barrier, axp__whole(m->barrier_ns)));
}

static void put_doubts(struct axp__text *t, const struct axp__machine *m)
{
    size_t n = axp__machine_doubtful(m);
    char load[32];
    axp__out_char(t->o, '\n');
    axp__text_say(t,
                  "Each figure is the best of its trials; spread: how far half "
                  "of them stayed below it. Load average: %s.",
                  axp__fixed(load, sizeof load, m->load, 2));
    if (n)
        axp__text_say(t,
                      "%zu %s (!): half of the trials were more than 20 %% "
                      "slower, or the best had no processor for so long. "
                      "Something else runs here; \"axprof machine "
                      "--refresh\" measures again.",
                      n,
                      n == 1 ? "figure is doubtful" : "figures are doubtful");
    if (m->is_partial)
        axp__text_say(t, "The time was up before all was measured.");
}

static void emit_text(const struct axp__machine *m, struct axp__text *t)
{
    put_machine(t, m);
    put_compute(t, m);
    put_memory(t, m);
    put_blas(t, m);
    put_threads(t, m);
    put_doubts(t, m);
}

struct job {
    const struct axp__machine *m;
    axp_format format;
};

static axp_status emit(struct axp__out *o, void *ctx)
{
    const struct job *job = ctx;
    struct axp__text t = {.o = o, .width = 80};
    if (job->format == AXP_FORMAT_JSON)
        emit_json(job->m, o);
    else
        emit_text(job->m, &t);
    return t.has_failed ? axp__fail(AXP_E_NO_MEMORY, "no memory to write")
                        : AXP_OK;
}

axp_status axp_machine_write(const axp_machine *m, axp_format format, FILE *to)
{
    if (!m || !to)
        return axp__fail(AXP_E_INVALID, "a machine and a file are needed");
    if (format != AXP_FORMAT_TEXT && format != AXP_FORMAT_JSON)
        return axp__fail(AXP_E_INVALID, "a machine is text or json");
    struct job job = {&m->is, format};
    return axp__out_to_file(to, emit, &job);
}
