/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory: who held it at the peak, and what was not freed; see emit_text.h. */
#include "emit/emit_text.h"
#include "emit/emit_words.h"

#define SHOWN_NAMES 10
#define SHOWN_LEAKS 8

static void put_name(struct axp__table *table, const axp_view *v,
                     const axp_memory_name *m, uint64_t peak)
{
    int line = 0;
    const char *file = axp__view_place(v, m->name, &line);
    axp__cell *cells = axp__table_row_on(table, m->name, m->device);
    const char *kind = axp__word_mem(m->kind);
    if (kind) axp__append(cells[0], AXP__CELL, 0, kind);
    axp__short_bytes(cells[1], m->at_peak_bytes);
    axp__short_percent(cells[2],
                       peak ? (double)m->at_peak_bytes / (double)peak : 0);
    axp__short_bytes(cells[3], m->peak_bytes);
    axp__short_bytes(cells[4], m->total_allocated);
    axp__short_count(cells[5], m->n_allocs);
    axp__short_count(cells[6], m->n_frees);
    axp__cell_place(cells[7], file, line);
}

/* Of one domain. */
static void put_names(struct axp__text *t, const axp_view *v,
                      const axp_memory_domain *of)
{
    static const struct axp__column columns[] = {
        {"at the peak", true, 0}, {"kind", true, 4},
        {"held", false, 0},       {"share", false, 0},
        {"its peak", false, 2},   {"allocated", false, 1},
        {"allocs", false, 3},     {"frees", false, 5},
        {"at", true, 3}};
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_NAMES);
    uint64_t rest = 0;
    size_t shown = 0, n = 0;
    char text[32];
    for (size_t i = 0; table && i < v->n_memory_names; i++) {
        const axp_memory_name *m = &v->memory_names[i];
        if (axp__view_by_device(m->device, of->device)) continue;
        if (!n || (n < SHOWN_NAMES && m->at_peak_bytes)) {
            put_name(table, v, m, of->memory.peak_bytes);
            shown++;
        } else {
            rest += m->at_peak_bytes;
        }
        n++;
    }
    axp__table_print(t, table);
    if (shown < n)
        axp__text_say(t, "and %zu more, %s at the peak", n - shown,
                      axp_format_bytes(text, sizeof text, rest));
}

static void put_leaks(struct axp__text *t, const axp_view *v)
{
    static const struct axp__column columns[] = {
        {"not freed", true, 0}, {"bytes", false, 0},  {"blocks", false, 0},
        {"since", false, 1},    {"thread", false, 2}, {"", true, 0}};
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_LEAKS);
    uint64_t rest = 0;
    char text[32];
    for (size_t i = 0; table && i < v->n_leaks; i++) {
        const axp_leak *leak = &v->leaks[i];
        if (i >= SHOWN_LEAKS) {
            rest += leak->bytes;
            continue;
        }
        axp__cell *cells = axp__table_row_on(table, leak->name, leak->device);
        axp__short_bytes(cells[0], leak->bytes);
        axp__short_count(cells[1], leak->n_blocks);
        axp__short_ns(cells[2], leak->at);
        axp__fixed(cells[3], AXP__CELL, (double)leak->thread_id, 0);
        if (leak->is_retained) axp__append(cells[4], AXP__CELL, 0, "retained");
    }
    axp__out_char(t->o, '\n');
    axp__table_print(t, table);
    if (v->n_leaks > SHOWN_LEAKS)
        axp__text_say(t, "and %zu more, %s", v->n_leaks - SHOWN_LEAKS,
                      axp_format_bytes(text, sizeof text, rest));
}

static bool is_used(const axp_memory *m)
{
    return m->n_allocs || m->n_frees;
}

/* cuda:0: peak 5.57 KB after 20 ns, 760 B not freed */
static void put_device(struct axp__text *t, const axp_view *v,
                       const axp_memory_domain *d)
{
    char peak[32], at[32], live[32], line[256];
    snprintf(line, sizeof line, "%.100s: peak %s after %s, %s not freed",
             d->device,
             axp_format_bytes(peak, sizeof peak, d->memory.peak_bytes),
             axp_format_ns(at, sizeof at, d->memory.peak_at),
             axp_format_bytes(live, sizeof live, d->memory.current_bytes));
    axp__out_char(t->o, '\n');
    axp__text_wrap(t, "", line);
    if (is_used(&d->memory)) put_names(t, v, d);
}

void axp__text_memory(struct axp__text *t, const axp_view *v)
{
    const axp_memory *m = &v->memory;
    char peak[32], at[32], live[32];
    if (v->heap.is_seen && !is_used(m) && v->n_domains == 1) return;
    if (is_used(m)) {
        axp_format_bytes(peak, sizeof peak, m->peak_bytes);
        axp_format_ns(at, sizeof at, m->peak_at);
        axp_format_bytes(live, sizeof live, m->current_bytes);
        axp__text_heading(t, "Memory Statistics",
                          "peak %s after %s, %s not freed", peak, at, live);
        put_names(t, v, &v->domains[0]);
    } else {
        axp__text_heading(t, "Memory Statistics",
                          v->n_domains > 1
                              ? "no allocation of the host was recorded"
                              : "no allocation was recorded");
    }
    for (size_t i = 1; i < v->n_domains; i++)
        put_device(t, v, &v->domains[i]);
    if (v->n_leaks) put_leaks(t, v);
}
