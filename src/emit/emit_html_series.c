/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What goes on over time and is no slice: counters; the same pass picks up live
 * bytes (emit_html_memory.c) and steps (emit_html_steps.c).
 *
 * One pass over the timeline by time, which is made only where one of them was
 * recorded. Where there are more values than lines in a table, the run is cut into
 * equal parts, and each part gives its first, lowest, highest and last.
 */
#include "emit/emit_html.h"

#include <stdlib.h>

#define COUNTERS 32u
#define PARTS (AXP__HTML_LINES / 2)

struct counter {
    uint32_t name; /* string */
    axp_ns *time_ns;
    double *value;
    size_t n, cap;
    uint64_t part; /* that the last lines are of */
    size_t part_first;
};

struct axp__html_series {
    const axp_view *v;
    axp_ns t0, part_ns;
    bool has_failed;
    struct axp__html_memory *memory; /* NULL: nothing was allocated */
    struct counter counters[COUNTERS];
    size_t n_counters;
    uint8_t *counter_of; /* name id → index + 1 */
    size_t n_counter_of;
};

uint8_t *axp__html_byte_for(uint8_t **map, size_t *n, uint32_t name)
{
    if (name >= *n) {
        size_t wider = *n ? *n : 1024;
        while (wider <= name)
            wider *= 2;
        uint8_t *moved = realloc(*map, wider);
        if (!moved) return NULL;
        memset(moved + *n, 0, wider - *n);
        *map = moved;
        *n = wider;
    }
    return *map + name;
}

static uint64_t part_of(const struct axp__html_series *s, axp_ns t)
{
    uint64_t part = t > s->t0 ? (t - s->t0) / s->part_ns : 0;
    return part < PARTS ? part : PARTS - 1;
}

/* ---- counters --------------------------------------------------------------------------- */

static struct counter *counter_of(struct axp__html_series *s, uint32_t name)
{
    uint8_t *known = axp__html_byte_for(&s->counter_of, &s->n_counter_of, name);
    if (!known) {
        s->has_failed = true;
        return NULL;
    }
    if (*known) return &s->counters[*known - 1];
    if (s->n_counters == COUNTERS) return NULL;
    struct counter *c = &s->counters[s->n_counters++];
    c->name = name;
    c->part = UINT64_MAX;
    *known = (uint8_t)s->n_counters;
    return c;
}

static bool add_value(struct counter *c, axp_ns t, double value)
{
    size_t cap = c->cap;
    void *wider = axp__html_grow(c->time_ns, c->n, &cap, sizeof *c->time_ns);
    if (!wider) return false;
    c->time_ns = wider;
    wider = axp__html_grow(c->value, c->n, &c->cap, sizeof *c->value);
    if (!wider) return false;
    c->value = wider;
    c->time_ns[c->n] = t;
    c->value[c->n++] = value;
    return true;
}

/* Of a part that has more than four values: first, lowest, highest, last. */
static void thin_part(struct counter *c)
{
    size_t first = c->part_first, last = c->n - 1, low = first, high = first;
    if (c->n - first <= 4) return;
    for (size_t i = first; i <= last; i++) {
        if (c->value[i] < c->value[low]) low = i;
        if (c->value[i] > c->value[high]) high = i;
    }
    size_t keep[4] = {first, low < high ? low : high, low < high ? high : low,
                      last};
    size_t n = first;
    for (int k = 0; k < 4; k++) {
        if (k && keep[k] == keep[k - 1]) continue;
        c->time_ns[n] = c->time_ns[keep[k]];
        c->value[n++] = c->value[keep[k]];
    }
    c->n = n;
}

static void count(struct axp__html_series *s, const struct axp__record *r,
                  bool is_long)
{
    struct counter *c = counter_of(s, r->name);
    if (!c) return;
    uint64_t part = part_of(s, r->time_ns) / 2; /* four lines a part */
    if (is_long && part != c->part) {
        if (c->part != UINT64_MAX) thin_part(c);
        c->part = part;
        c->part_first = c->n;
    }
    /* a part itself may have any number of values */
    if (is_long && c->n - c->part_first >= 64) thin_part(c);
    if (!add_value(c, r->time_ns, r->value)) s->has_failed = true;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static bool is_long_counter(const axp_view *v)
{
    for (size_t i = 0; i < v->n_counters; i++)
        if (v->counters[i].n > AXP__HTML_LINES) return true;
    return false;
}

static bool read_all(struct axp__html_around *a, struct axp__stream *stream,
                     const axp_view *v)
{
    struct axp__html_series *s = a->series;
    const struct axp__record *r;
    bool is_long = is_long_counter(v), ok = true;
    while (ok && (r = axp__stream_next(stream))) {
        bool is_memory = r->kind == AXP__R_ALLOC || r->kind == AXP__R_FREE;
        if (is_memory && s->memory)
            ok = axp__html_memory_change(
                s->memory, r, axp__stream_row(stream, r->row)->device,
                part_of(s, r->time_ns));
        else if (r->kind == AXP__R_COUNTER)
            count(s, r, is_long);
        else if (r->kind == AXP__R_STEP)
            ok = axp__html_step_take(a, r);
        ok = ok && !s->has_failed;
    }
    for (size_t i = 0; i < s->n_counters; i++)
        if (is_long) thin_part(&s->counters[i]);
    if (s->memory && !axp__html_memory_end(s->memory)) ok = false;
    return ok && !s->has_failed;
}

axp_status axp__html_around_read(const axp_view *v, axp_ns t0,
                                 struct axp__html_around *a)
{
    struct axp__stream *stream = NULL;
    if (!v->n_memory_names && !v->n_counters && !v->steps.count) return AXP_OK;
    a->series = calloc(1, sizeof *a->series);
    if (!a->series) return AXP_E_NO_MEMORY;
    a->series->v = v;
    a->series->t0 = t0;
    a->series->part_ns = v->duration_ns / PARTS + 1;
    if (v->n_memory_names) {
        a->series->memory = axp__html_memory_create(v);
        if (!a->series->memory) return AXP_E_NO_MEMORY;
    }
    axp_status status = axp__stream_open(v, 0, &stream);
    if (status) return status;
    bool ok = read_all(a, stream, v) && axp__html_steps_join(a, v);
    status = axp__stream_status(stream);
    axp__stream_close(stream);
    return status ? status : ok ? AXP_OK : AXP_E_NO_MEMORY;
}

void axp__html_around_fini(struct axp__html_around *a)
{
    struct axp__html_series *s = a->series;
    free(a->steps);
    if (!s) return;
    for (size_t i = 0; i < s->n_counters; i++) {
        free(s->counters[i].time_ns);
        free(s->counters[i].value);
    }
    axp__html_memory_destroy(s->memory);
    free(s->counter_of);
    free(s);
}

/* ---- tables ----------------------------------------------------------------------------------- */

static void put_times(struct axp__html_packer *p, uint64_t *column,
                      const axp_ns *times, size_t n, axp_ns t0)
{
    for (size_t i = 0; i < n; i++) {
        axp_ns before = i ? times[i - 1] : t0;
        column[i] = times[i] > before ? times[i] - before : 0;
    }
    axp__html_pack_u64(p, column);
}

static void write_counter(struct axp__html_job *job, const struct counter *c,
                          uint64_t *column)
{
    struct axp__html_packer *p = job->events.packer;
    if (!axp__html_pack_begin(p, (uint32_t)c->n, 2)) {
        axp__html_fail(job, AXP_E_NO_MEMORY);
        return;
    }
    put_times(p, column, c->time_ns, c->n, job->t0);
    memcpy(column, c->value, c->n * sizeof *column);
    axp__html_pack_u64(p, column);
    axp__html_write_table(
        job, &(struct axp__html_table){
                 .kind = "counter",
                 .n_columns = 2,
                 .n = (uint32_t)c->n,
                 .name = axp__html_name(&job->strings, job->v, c->name)});
}

void axp__html_series_write(struct axp__html_job *job)
{
    struct axp__html_series *s = job->around.series;
    size_t most = 0;
    if (s && s->memory) axp__html_memory_write(job, s->memory);
    for (size_t i = 0; s && i < s->n_counters; i++)
        if (s->counters[i].n > most) most = s->counters[i].n;
    if (!most) return;
    uint64_t *column = malloc(most * sizeof *column);
    if (!column) {
        axp__html_fail(job, AXP_E_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < s->n_counters; i++)
        if (s->counters[i].n) write_counter(job, &s->counters[i], column);
    free(column);
}
