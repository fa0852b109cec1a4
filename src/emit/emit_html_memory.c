/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that the program told of, of the host and of each device: what meta
 * says, and live bytes by name over time, a table a domain.
 *
 * Levels are kept relative to the window's beginning; what was live then follows
 * at the end, from what is live now. Where there are more changes than lines in a
 * table, the run is cut into equal parts, and each part gives the moment when most
 * was live in it and, if that was not the last one, the last: so peaks survive,
 * and so does the level between them.
 */
#include "base/base_text.h"
#include "emit/emit_html.h"

#include <stdlib.h>

#define NAMES 15u /* with a column of their own; the others share one */

/* A line of a table: time, all, each name, the others. */
struct line {
    axp_ns time_ns;
    int64_t level[NAMES + 2];
};

struct domain {
    const axp_memory_domain *of;
    bool is_exact;
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
};

struct axp__html_memory {
    const axp_view *v;
    bool has_failed;
    uint32_t of_device[AXP__DEVICES]; /* number → 1 + domain; 0: none */
    size_t n;
    struct domain domains[];
};

/* ---- meta --------------------------------------------------------------------------- */

static void put_names(struct axp__html_job *job, const char *device)
{
    struct axp__json *j = &job->json;
    const axp_view *v = job->v;
    axp__json_list(j, "names");
    for (size_t i = 0; i < v->n_memory_names; i++) {
        const axp_memory_name *m = &v->memory_names[i];
        if (!axp__text_is_same(m->device, device)) continue; /* NULL: host */
        axp__json_next(j);
        axp__json_begin(j, '{');
        axp__json_u64(j, "name",
                      axp__html_op(&job->strings, false, m->name, device));
        axp__json_u64(j, "kind", (uint64_t)m->kind);
        axp__json_u64(j, "current", m->current_bytes);
        axp__json_u64(j, "peak", m->peak_bytes);
        axp__json_u64(j, "at_peak", m->at_peak_bytes);
        axp__json_u64(j, "allocated", m->total_allocated);
        axp__json_u64(j, "n_allocs", m->n_allocs);
        axp__json_u64(j, "n_frees", m->n_frees);
        axp__json_end(j, '}');
    }
    axp__json_end(j, ']');
}

static void put_leaks(struct axp__html_job *job, const char *device)
{
    struct axp__json *j = &job->json;
    const axp_view *v = job->v;
    axp__json_list(j, "leaks");
    for (size_t i = 0; i < v->n_leaks; i++) {
        const axp_leak *l = &v->leaks[i];
        if (!axp__text_is_same(l->device, device)) continue;
        axp__json_next(j);
        axp__json_begin(j, '{');
        axp__json_u64(j, "name",
                      axp__html_op(&job->strings, false, l->name, device));
        axp__json_u64(j, "bytes", l->bytes);
        axp__html_put_time(job, "at", l->at);
        axp__json_u64(j, "thread", l->thread_id);
        axp__json_bool(j, "is_retained", l->is_retained);
        axp__json_u64(j, "n_blocks", l->n_blocks);
        axp__json_end(j, '}');
    }
    axp__json_end(j, ']');
}

static void put_domain(struct axp__html_job *job, const axp_memory_domain *d)
{
    struct axp__json *j = &job->json;
    const axp_memory *m = &d->memory;
    if (d->device) axp__json_text(j, "device", d->device);
    axp__json_u64(j, "current", m->current_bytes);
    axp__json_u64(j, "peak", m->peak_bytes);
    axp__html_put_time(job, "peak_at", m->peak_at);
    axp__json_u64(j, "allocated", m->total_allocated);
    axp__json_u64(j, "freed", m->total_freed);
    axp__json_u64(j, "n_allocs", m->n_allocs);
    axp__json_u64(j, "n_frees", m->n_frees);
    put_names(job, d->device);
    put_leaks(job, d->device);
    axp__json_end(j, '}');
}

void axp__html_memory_put(struct axp__html_job *job)
{
    struct axp__json *j = &job->json;
    const axp_view *v = job->v;
    if (v->memory.n_allocs || v->memory.n_frees) {
        axp__json_object(j, "memory");
        put_domain(job, &v->domains[0]);
    }
    if (v->n_domains < 2) return;
    axp__json_list(j, "device_memory");
    for (size_t i = 1; i < v->n_domains; i++) {
        axp__json_next(j);
        axp__json_begin(j, '{');
        put_domain(job, &v->domains[i]);
    }
    axp__json_end(j, ']');
}

/* ---- over time ------------------------------------------------------------------------ */

static void choose_names(const axp_view *v, struct domain *d)
{
    const axp_memory *m = &d->of->memory;
    for (size_t i = 0; i < v->n_memory_names; i++) {
        const axp_memory_name *name = &v->memory_names[i];
        if (!axp__text_is_same(name->device, d->of->device)) continue;
        if (d->n_names == NAMES)
            d->has_others = true;
        else
            d->texts[d->n_names++] = name->name;
    }
    d->is_exact = m->n_allocs + m->n_frees <= AXP__HTML_LINES;
    d->part = UINT64_MAX;
}

struct axp__html_memory *axp__html_memory_create(const axp_view *v)
{
    struct axp__html_memory *m =
        calloc(1, sizeof *m + v->n_domains * sizeof *m->domains);
    if (!m) return NULL;
    m->v = v;
    m->n = v->n_domains;
    for (uint32_t i = 0; i < m->n; i++) {
        m->domains[i].of = &v->domains[i];
        choose_names(v, &m->domains[i]);
    }
    for (uint32_t k = 0; k < AXP__DEVICES; k++) {
        const char *device = k ? axp__cap_device(v->capture, k) : NULL;
        for (uint32_t i = 0; i < m->n; i++)
            if (!k == !i && axp__text_is_same(device, v->domains[i].device))
                m->of_device[k] = i + 1;
    }
    return m;
}

void axp__html_memory_destroy(struct axp__html_memory *m)
{
    for (size_t i = 0; m && i < m->n; i++) {
        free(m->domains[i].column_of);
        free(m->domains[i].lines);
    }
    free(m);
}

/* Which column of the level a name has: 1 … */
static size_t column_of(struct axp__html_memory *m, struct domain *d,
                        uint32_t name)
{
    uint8_t *known = axp__html_byte_for(&d->column_of, &d->n_column_of, name);
    if (!known) {
        m->has_failed = true;
        return d->n_names + 1;
    }
    if (!*known) {
        const char *text = axp__view_name(m->v, name);
        size_t k = 0;
        while (k < d->n_names && strcmp(d->texts[k], text) != 0)
            k++;
        *known = (uint8_t)(k + 1);
    }
    return *known;
}

static void add_line(struct axp__html_memory *m, struct domain *d,
                     const struct line *line)
{
    struct line *wider =
        axp__html_grow(d->lines, d->n_lines, &d->lines_cap, sizeof *wider);
    if (!wider) {
        m->has_failed = true;
        return;
    }
    d->lines = wider;
    d->lines[d->n_lines++] = *line;
}

static void end_part(struct axp__html_memory *m, struct domain *d)
{
    if (d->part == UINT64_MAX) return;
    add_line(m, d, &d->most);
    if (d->now.level[0] != d->most.level[0]) add_line(m, d, &d->now);
}

bool axp__html_memory_change(struct axp__html_memory *m,
                             const struct axp__record *r, uint32_t device,
                             uint64_t part)
{
    uint32_t domain = device < AXP__DEVICES ? m->of_device[device] : 0;
    int64_t bytes = (int64_t)r->bytes;
    if (!domain) return true;
    struct domain *d = &m->domains[domain - 1];
    if (!d->is_exact && part != d->part) {
        end_part(m, d);
        d->part = part;
        d->most.level[0] = INT64_MIN;
    }
    if (r->kind == AXP__R_FREE) bytes = -bytes;
    d->now.time_ns = r->time_ns;
    d->now.level[0] += bytes;
    d->now.level[column_of(m, d, r->name)] += bytes;
    if (d->is_exact)
        add_line(m, d, &d->now);
    else if (d->now.level[0] > d->most.level[0])
        d->most = d->now;
    return !m->has_failed;
}

/* What was live when the window began: what is live now, less the changes. */
static void add_base(const axp_view *v, struct domain *d)
{
    int64_t base[NAMES + 2] = {0};
    base[0] = (int64_t)d->of->memory.current_bytes - d->now.level[0];
    for (size_t i = 0, k = 0; i < v->n_memory_names; i++) {
        const axp_memory_name *name = &v->memory_names[i];
        if (!axp__text_is_same(name->device, d->of->device)) continue;
        if (k <= d->n_names) k++;
        base[k] += (int64_t)name->current_bytes;
    }
    for (size_t k = 1; k < NAMES + 2; k++)
        base[k] -= d->now.level[k];
    for (size_t i = 0; i < d->n_lines; i++)
        for (size_t k = 0; k < NAMES + 2; k++) {
            int64_t level = d->lines[i].level[k] + base[k];
            d->lines[i].level[k] = level > 0 ? level : 0;
        }
}

bool axp__html_memory_end(struct axp__html_memory *m)
{
    for (size_t i = 0; i < m->n; i++) {
        if (!m->domains[i].is_exact) end_part(m, &m->domains[i]);
        add_base(m->v, &m->domains[i]);
    }
    return !m->has_failed;
}

/* ---- tables ------------------------------------------------------------------------- */

static void pack(struct axp__html_job *job, const struct domain *d,
                 size_t n_names, uint64_t *column)
{
    struct axp__html_packer *p = job->events.packer;
    for (size_t i = 0; i < d->n_lines; i++) {
        axp_ns before = i ? d->lines[i - 1].time_ns : job->t0;
        axp_ns t = d->lines[i].time_ns;
        column[i] = t > before ? t - before : 0;
    }
    axp__html_pack_u64(p, column);
    for (size_t k = 0; k < n_names + 1; k++) {
        for (size_t i = 0; i < d->n_lines; i++)
            column[i] = (uint64_t)d->lines[i].level[k];
        axp__html_pack_u64(p, column);
    }
}

static void write_domain(struct axp__html_job *job, struct domain *d,
                         uint32_t number)
{
    size_t n_names = d->n_names + d->has_others;
    uint64_t *column = malloc(d->n_lines * sizeof *column);
    if (!column ||
        !axp__html_pack_begin(job->events.packer, (uint32_t)d->n_lines,
                              (unsigned)n_names + 2)) {
        axp__html_fail(job, AXP_E_NO_MEMORY);
        free(column);
        return;
    }
    pack(job, d, n_names, column);
    free(column);
    for (size_t k = 0; k < d->n_names; k++)
        d->names[k] =
            axp__html_op(&job->strings, false, d->texts[k], d->of->device);
    if (d->has_others) d->names[d->n_names] = UINT32_MAX;
    axp__html_write_table(
        job, &(struct axp__html_table){.kind = "memory",
                                       .n_columns = (uint32_t)n_names + 2,
                                       .n = (uint32_t)d->n_lines,
                                       .names = d->names,
                                       .n_names = n_names,
                                       .device = number,
                                       .is_exact = d->is_exact});
}

void axp__html_memory_write(struct axp__html_job *job,
                            struct axp__html_memory *m)
{
    for (uint32_t i = 0; i < m->n && !job->status; i++)
        if (m->domains[i].n_lines) write_domain(job, &m->domains[i], i);
}
