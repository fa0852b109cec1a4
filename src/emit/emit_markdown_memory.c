/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory in the Markdown report: what the program told of, and the heap. */
#include "emit/emit_heap.h"
#include "emit/emit_markdown.h"
#include "emit/emit_short.h"
#include "emit/emit_words.h"

#define SHOWN_NAMES 10

static void put_memory_name(struct axp__md *m, const axp_view *v,
                            const axp_memory_name *n, double peak)
{
    char place[AXP__SHORT_PLACE_BYTES];
    int line = 0;
    const char *kind = axp__word_mem(n->kind);
    const char *file = axp__view_place(v, n->name, &line);
    axp__cell cell;
    axp__md_row_begin(m, n->name);
    axp__md_cell(m, kind ? kind : "");
    axp__md_cell(m, axp__short_bytes(cell, n->at_peak_bytes));
    axp__md_cell(m, axp__short_percent(
                        cell, peak > 0 ? (double)n->at_peak_bytes / peak : 0));
    axp__md_cell(m, axp__short_bytes(cell, n->total_allocated));
    axp__md_cell(m, axp__short_count(cell, n->n_allocs));
    axp__md_cell(m, axp__short_bytes(cell, n->current_bytes));
    axp__out_text(m->o, " | ");
    if (axp__short_place(place, file, line, 60)) axp__md_name(m, place);
    axp__md_row_end(m);
}

/* Of one domain. */
static void put_memory_names(struct axp__md *m, const axp_view *v,
                             const axp_memory_domain *of)
{
    static const char *const heads[] = {"at the peak", "kind",      "held",
                                        "share",       "allocated", "allocs",
                                        "not freed",   "at"};
    size_t n = 0, shown = 0;
    axp__md_heads(m, heads, sizeof heads / sizeof *heads, 2);
    for (size_t i = 0; i < v->n_memory_names; i++) {
        const axp_memory_name *name = &v->memory_names[i];
        if (axp__view_by_device(name->device, of->device)) continue;
        bool is_shown = !n || name->at_peak_bytes || name->current_bytes;
        if (shown == n++ && shown < SHOWN_NAMES && is_shown) {
            put_memory_name(m, v, name, (double)of->memory.peak_bytes);
            shown++;
        }
    }
    if (shown < n) axp__out_format(m->o, "\nand %zu more\n", n - shown);
    axp__out_char(m->o, '\n');
}

static void put_domain(struct axp__md *m, const axp_view *v,
                       const axp_memory_domain *of)
{
    const axp_memory *is = &of->memory;
    char peak[32], at[32], live[32];
    axp__out_format(m->o,
                    "Peak %s after %s, %s not freed. Share is of the peak.\n\n",
                    axp_format_bytes(peak, sizeof peak, is->peak_bytes),
                    axp_format_ns(at, sizeof at, is->peak_at),
                    axp_format_bytes(live, sizeof live, is->current_bytes));
    put_memory_names(m, v, of);
}

static void put_heap_table(struct axp__md *m, const struct axp__heap_group *g,
                           size_t n)
{
    static const char *const heads[] = {"at the peak", "kind",      "held",
                                        "share",       "allocated", "allocs",
                                        "not freed"};
    size_t shown = n < SHOWN_NAMES ? n : SHOWN_NAMES;
    double all = 0;
    for (size_t i = 0; i < n; i++)
        all += (double)g[i].at_peak_bytes;
    axp__md_heads(m, heads, sizeof heads / sizeof *heads, 2);
    for (size_t i = 0; i < shown; i++) {
        const char *kind = axp__word_mem(g[i].kind);
        axp__cell cell;
        axp__md_row_begin(m, g[i].text);
        axp__md_cell(m, kind ? kind : "");
        axp__md_cell(m, axp__short_bytes(cell, g[i].at_peak_bytes));
        axp__md_cell(m,
                     axp__short_percent(
                         cell, all > 0 ? (double)g[i].at_peak_bytes / all : 0));
        axp__md_cell(m, axp__short_bytes(cell, g[i].total_allocated));
        axp__md_cell(m, axp__short_count(cell, g[i].n_allocs));
        axp__md_cell(m, axp__short_bytes(cell, g[i].current_bytes));
        axp__md_row_end(m);
    }
    if (shown < n) axp__out_format(m->o, "\nand %zu more\n", n - shown);
    axp__out_char(m->o, '\n');
}

void axp__md_heap(struct axp__md *m, const axp_view *v)
{
    char peak[32], at[32], live[32];
    const axp_heap *h = &v->heap;
    size_t n = 0;
    struct axp__heap_group *g = h->is_seen ? axp__heap_groups(v, &n) : NULL;
    if (!g) return;
    axp__out_format(m->o, "## Heap\n\nPeak %s after %s; %s not freed.%s\n\n",
                    axp_format_bytes(peak, sizeof peak, h->peak_bytes),
                    axp_format_ns(at, sizeof at, h->peak_at),
                    axp_format_bytes(live, sizeof live, h->current_bytes),
                    !h->n_failed ? ""
                    : axp__heap_was_asked_too_much(v)
                        ? " An allocation of more than there is failed."
                        : " An allocation failed: held means what was live "
                          "then.");
    if (h->n_mapped)
        axp__out_format(
            m->o, "Mapped beside it: %s at most, %s not unmapped.\n\n",
            axp_format_bytes(peak, sizeof peak, h->mapped_peak_bytes),
            axp_format_bytes(live, sizeof live, h->mapped_bytes));
    if (n) put_heap_table(m, g, n);
    axp__heap_groups_free(g, n);
}

void axp__md_memory(struct axp__md *m, const axp_view *v)
{
    bool is_any = v->memory.n_allocs || v->memory.n_frees;
    if (v->heap.is_seen && !is_any && v->n_domains == 1) return;
    axp__out_text(m->o, "## Memory Statistics\n\n");
    if (is_any)
        put_domain(m, v, &v->domains[0]);
    else
        axp__out_text(m->o, v->n_domains > 1
                                ? "No allocation of the host was recorded.\n\n"
                                : "No allocation was recorded.\n\n");
    for (size_t i = 1; i < v->n_domains; i++) {
        axp__out_text(m->o, "### Memory of ");
        axp__md_name(m, v->domains[i].device);
        axp__out_text(m->o, "\n\n");
        put_domain(m, v, &v->domains[i]);
    }
}
