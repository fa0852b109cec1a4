/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What goes on over time and is no slice: live bytes by name, and counters; the
 * same pass picks up steps (emit_html_steps.c).
 *
 * One pass over the timeline by time, which is made only where one of them was
 * recorded. Levels are kept relative to the window's beginning; what was live
 * then follows at the end, from what is live now. Where there are more changes
 * than lines in a table, the run is cut into equal parts, and each part gives
 * the moment when most was live in it and, if that was not the last one, the
 * last: so peaks survive, and so does the level between them.
 */
#include "emit/emit_html.h"

#include <stdlib.h>

#define NAMES 15u /* with a column of their own; the others share one */
#define COUNTERS 32u
#define PARTS (AXP__HTML_LINES / 2)

/* A line of the memory table: time, all, each name, the others. */
struct line {
    axp_ns time_ns;
    int64_t level[NAMES + 2];
};

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
    struct axp__html_strings *strings;
    bool has_failed, is_exact;
    uint32_t names[NAMES + 1]; /* strings */
    const char *texts[NAMES];
    size_t n_names;
    bool has_others;
    uint8_t *column_of; /* name id → column of level, 0: not looked up */
    size_t n_column_of;
    struct line now, most; /* most: of the part */
    uint64_t part;
    struct line *lines;
    size_t n_lines, lines_cap;
    struct counter counters[COUNTERS];
    size_t n_counters;
    uint8_t *counter_of; /* name id → index + 1 */
    size_t n_counter_of;
};

/* ---- memory ------------------------------------------------------------------------- */

static void choose_names(struct axp__html_series *s)
{
    const axp_view *v = s->v;
    for (size_t i = 0; i < v->n_memory_names; i++) {
        const axp_memory_name *m = &v->memory_names[i];
        if (m->device) continue; /* the host's alone is drawn */
        if (s->n_names == NAMES)
            s->has_others = true;
        else
            s->texts[s->n_names++] = m->name;
    }
    s->is_exact = v->memory.n_allocs + v->memory.n_frees <= AXP__HTML_LINES;
}

/* A byte for each name id, wide enough for this one. */
static uint8_t *byte_for(uint8_t **map, size_t *n, uint32_t name)
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

/* Which column of the level a name has: 1 … */
static size_t column_of(struct axp__html_series *s, uint32_t name)
{
    uint8_t *known = byte_for(&s->column_of, &s->n_column_of, name);
    if (!known) {
        s->has_failed = true;
        return s->n_names + 1;
    }
    if (!*known) {
        const char *text = axp__view_name(s->v, name);
        size_t k = 0;
        while (k < s->n_names && strcmp(s->texts[k], text) != 0)
            k++;
        *known = (uint8_t)(k + 1);
    }
    return *known;
}

static void add_line(struct axp__html_series *s, const struct line *line)
{
    struct line *wider =
        axp__html_grow(s->lines, s->n_lines, &s->lines_cap, sizeof *wider);
    if (!wider) {
        s->has_failed = true;
        return;
    }
    s->lines = wider;
    s->lines[s->n_lines++] = *line;
}

static void end_part(struct axp__html_series *s)
{
    if (s->part == UINT64_MAX) return;
    add_line(s, &s->most);
    if (s->now.level[0] != s->most.level[0]) add_line(s, &s->now);
}

static uint64_t part_of(const struct axp__html_series *s, axp_ns t)
{
    uint64_t part = t > s->t0 ? (t - s->t0) / s->part_ns : 0;
    return part < PARTS ? part : PARTS - 1;
}

static void change_memory(struct axp__html_series *s,
                          const struct axp__record *r)
{
    int64_t bytes = (int64_t)r->bytes;
    uint64_t part = part_of(s, r->time_ns);
    if (!s->is_exact && part != s->part) {
        end_part(s);
        s->part = part;
        s->most.level[0] = INT64_MIN;
    }
    if (r->kind == AXP__R_FREE) bytes = -bytes;
    s->now.time_ns = r->time_ns;
    s->now.level[0] += bytes;
    s->now.level[column_of(s, r->name)] += bytes;
    if (s->is_exact)
        add_line(s, &s->now);
    else if (s->now.level[0] > s->most.level[0])
        s->most = s->now;
}

/* What was live when the window began: what is live now, less the changes. */
static void add_base(struct axp__html_series *s)
{
    const axp_view *v = s->v;
    int64_t base[NAMES + 2] = {0};
    base[0] = (int64_t)v->memory.current_bytes - s->now.level[0];
    for (size_t i = 0, k = 0; i < v->n_memory_names; i++) {
        const axp_memory_name *m = &v->memory_names[i];
        if (m->device) continue;
        if (k <= s->n_names) k++;
        base[k] += (int64_t)m->current_bytes;
    }
    for (size_t k = 1; k < NAMES + 2; k++)
        base[k] -= s->now.level[k];
    for (size_t i = 0; i < s->n_lines; i++)
        for (size_t k = 0; k < NAMES + 2; k++) {
            int64_t level = s->lines[i].level[k] + base[k];
            s->lines[i].level[k] = level > 0 ? level : 0;
        }
}

/* ---- counters --------------------------------------------------------------------------- */

static struct counter *counter_of(struct axp__html_series *s, uint32_t name)
{
    uint8_t *known = byte_for(&s->counter_of, &s->n_counter_of, name);
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
        if (is_memory && !axp__stream_row(stream, r->row)->device)
            change_memory(s, r);
        else if (r->kind == AXP__R_COUNTER)
            count(s, r, is_long);
        else if (r->kind == AXP__R_STEP)
            ok = axp__html_step_take(a, r);
        ok = ok && !s->has_failed;
    }
    if (!s->is_exact) end_part(s);
    for (size_t i = 0; i < s->n_counters; i++)
        if (is_long) thin_part(&s->counters[i]);
    add_base(s);
    return ok && !s->has_failed;
}

axp_status axp__html_around_read(const axp_view *v, axp_ns t0,
                                 struct axp__html_around *a)
{
    struct axp__stream *stream = NULL;
    if (!v->memory.n_allocs && !v->memory.n_frees && !v->n_counters &&
        !v->steps.count)
        return AXP_OK;
    a->series = calloc(1, sizeof *a->series);
    if (!a->series) return AXP_E_NO_MEMORY;
    a->series->v = v;
    a->series->t0 = t0;
    a->series->part_ns = v->duration_ns / PARTS + 1;
    a->series->part = UINT64_MAX;
    choose_names(a->series);
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
    free(s->lines);
    free(s->column_of);
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

static void write_memory(struct axp__html_job *job, uint64_t *column)
{
    struct axp__html_series *s = job->around.series;
    struct axp__html_packer *p = job->events.packer;
    size_t n_names = s->n_names + s->has_others;
    uint32_t n = (uint32_t)s->n_lines;
    if (!axp__html_pack_begin(p, n, (unsigned)n_names + 2)) {
        axp__html_fail(job, AXP_E_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < s->n_lines; i++) {
        axp_ns before = i ? s->lines[i - 1].time_ns : job->t0;
        axp_ns t = s->lines[i].time_ns;
        column[i] = t > before ? t - before : 0;
    }
    axp__html_pack_u64(p, column);
    for (size_t k = 0; k < n_names + 1; k++) {
        for (size_t i = 0; i < s->n_lines; i++)
            column[i] = (uint64_t)s->lines[i].level[k];
        axp__html_pack_u64(p, column);
    }
    for (size_t k = 0; k < s->n_names; k++)
        s->names[k] = axp__html_string(&job->strings, s->texts[k]);
    if (s->has_others) s->names[s->n_names] = UINT32_MAX;
    axp__html_write_table(
        job, &(struct axp__html_table){.kind = "memory",
                                       .n_columns = (uint32_t)n_names + 2,
                                       .n = n,
                                       .names = s->names,
                                       .n_names = n_names,
                                       .is_exact = s->is_exact});
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
    size_t most = s ? s->n_lines : 0;
    for (size_t i = 0; s && i < s->n_counters; i++)
        if (s->counters[i].n > most) most = s->counters[i].n;
    if (!most) return;
    uint64_t *column = malloc(most * sizeof *column);
    if (!column) {
        axp__html_fail(job, AXP_E_NO_MEMORY);
        return;
    }
    if (s->n_lines) write_memory(job, column);
    for (size_t i = 0; i < s->n_counters; i++)
        if (s->counters[i].n) write_counter(job, &s->counters[i], column);
    free(column);
}
