/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads in the Markdown report: how they lived, the critical path through
 * them, and their waits by who ended them. */
#include <stdlib.h>

#include "base/base_number.h"
#include "emit/emit_markdown.h"
#include "emit/emit_path.h"
#include "emit/emit_short.h"

#define SHOWN_THREADS 10
#define SHOWN_WAITS 10

static void put_thread(struct axp__md *m, const axp_thread_info *t)
{
    axp__cell cell;
    axp__md_row_begin(m, *t->name ? t->name : "(thread)");
    axp__md_cell(m, axp__fixed(cell, sizeof cell, (double)t->id, 0));
    axp__md_cell(m, axp__short_ns(cell, t->end - t->begin));
    axp__md_cell(
        m, t->cpu_ns || t->is_scheduled ? axp__short_ns(cell, t->cpu_ns) : "");
    axp__md_cell(m, axp__short_ns(cell, t->busy_ns));
    axp__md_cell(m, axp__short_waiting(cell, t));
    axp__md_cell(m, t->is_scheduled ? axp__short_ns(cell, t->ready_ns) : "");
    axp__md_cell(m, axp__short_count(cell, t->events));
    axp__md_row_end(m);
}

void axp__md_threads(struct axp__md *m, const axp_view *v)
{
    static const char *const heads[] = {"thread",  "id",        "lived",
                                        "CPU",     "in scopes", "waiting",
                                        "starved", "events"};
    if (!v->n_threads) return;
    axp__out_text(m->o, "## Threads\n\n");
    axp__md_heads(m, heads, sizeof heads / sizeof *heads, 1);
    for (size_t i = 0; i < v->n_threads && i < SHOWN_THREADS; i++)
        put_thread(m, &v->threads[i]);
    if (v->n_threads > SHOWN_THREADS)
        axp__out_format(m->o, "\nand %zu more\n", v->n_threads - SHOWN_THREADS);
    axp__out_char(m->o, '\n');
}

void axp__md_path(struct axp__md *m, const axp_view *v)
{
    static const char *const heads[] = {"what", "of the run", "time"};
    struct axp__path_parts p;
    axp__cell cell;
    if (axp__path_parts(v, &p)) m->has_failed = true;
    if (!p.n) return;
    axp__out_text(m->o, "## Critical path\n\n");
    axp__md_heads(m, heads, sizeof heads / sizeof *heads, 1);
    for (size_t i = 0; i < p.n && i < AXP__PATH_SHOWN; i++) {
        axp__md_row_begin(m, p.at[i].name);
        axp__md_cell(m, axp__short_percent(cell, p.at[i].share));
        axp__md_cell(m, axp__short_ns(cell, p.at[i].ns));
        axp__md_row_end(m);
    }
    const char *doubt = axp__path_doubt(&p);
    if (doubt) axp__out_format(m->o, "\n%s\n", doubt);
    axp__out_char(m->o, '\n');
    free(p.at);
}

struct waits {
    struct axp__md *m;
    size_t n;
};

static void put_who(struct axp__md *m, const char *name, uint64_t id)
{
    axp__md_name(m, *name ? name : "(thread)");
    axp__out_format(m->o, "/%llu", (unsigned long long)id);
}

static int put_wait(const axp_waits *w, void *ctx)
{
    struct waits *waits = ctx;
    struct axp__md *m = waits->m;
    axp__cell cell;
    if (waits->n++ >= SHOWN_WAITS) return 0;
    axp__md_row_begin(m, w->name);
    axp__out_text(m->o, " | ");
    put_who(m, w->thread, w->thread_id);
    axp__out_text(m->o, " | ");
    if (w->by_thread) put_who(m, w->by_thread, w->by_thread_id);
    axp__md_cell(m, axp__short_count(cell, w->count));
    axp__md_cell(m, axp__short_ns(cell, w->total_ns));
    axp__md_cell(m, axp__short_ns(cell, w->max_ns));
    axp__md_row_end(m);
    return 0;
}

void axp__md_waits(struct axp__md *m, const axp_view *v)
{
    static const char *const heads[] = {"wait",  "of",       "ended by",
                                        "times", "together", "longest"};
    struct waits waits = {m, 0};
    if (!axp__view_has_waits(v)) return;
    axp__out_text(m->o, "## Waits\n\n");
    axp__md_heads(m, heads, sizeof heads / sizeof *heads, 3);
    if (axp_view_waits(v, put_wait, &waits)) m->has_failed = true;
    if (waits.n > SHOWN_WAITS)
        axp__out_format(m->o, "\nand %zu more\n", waits.n - SHOWN_WAITS);
    axp__out_char(m->o, '\n');
}
