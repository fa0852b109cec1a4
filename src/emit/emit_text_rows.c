/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Steps, threads, tracks and counters; see emit_text.h. */
#include <stdlib.h>

#include "emit/emit_text.h"

#define SHOWN_ROWS 10

void axp__text_steps(struct axp__text *t, const axp_view *v)
{
    const axp_step_stats *s = &v->steps;
    const struct {
        const char *name;
        axp_ns ns;
    } times[] = {{"mean ", s->avg_ns},  {", p50 ", s->p50_ns},
                 {", p95 ", s->p95_ns}, {", p99 ", s->p99_ns},
                 {", min ", s->min_ns}, {", max ", s->max_ns}};
    char line[256] = "";
    size_t len = 0;
    axp__cell cell;
    if (!s->count) return;
    axp__text_heading(t, "Steps", "%s", axp__short_count(cell, s->count));
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        len = axp__append(line, sizeof line, len, times[i].name);
        axp__short_ns(cell, times[i].ns);
        len = axp__append(line, sizeof line, len, cell);
        if (line[len - 1] == ' ') line[--len] = 0;
    }
    axp__text_wrap(t, "", line);
}

/* ---- processes ------------------------------------------------------------------- */

static void put_processes(struct axp__text *t, const axp_view *v)
{
    static const struct axp__column columns[] = {{"process", true, 0},
                                                 {"number", false, 0},
                                                 {"lived together", false, 1},
                                                 {"mean", false, 0},
                                                 {"longest", false, 0}};
    size_t n = v->n_processes, shown = n < SHOWN_ROWS ? n : SHOWN_ROWS;
    struct axp__table *table =
        axp__table_create(t, columns, sizeof columns / sizeof *columns, shown);
    for (size_t i = 0; table && i < shown; i++) {
        const axp_process_info *p = &v->processes[i];
        axp__cell *cells = axp__table_row(table, p->name);
        axp__short_count(cells[0], p->count);
        axp__short_ns(cells[1], p->total_ns);
        axp__short_ns(cells[2], p->avg_ns);
        axp__short_ns(cells[3], p->max_ns);
    }
    axp__table_print(t, table);
    if (n > shown) axp__text_say(t, "and %zu more names", n - shown);
}

/* By name: a run may have thousands. */
void axp__text_processes(struct axp__text *t, const axp_view *v)
{
    axp__cell count, all;
    uint64_t n_seen = 0, n_all = axp__view_n_processes(v);
    for (size_t i = 0; i < v->n_processes; i++)
        n_seen += v->processes[i].count;
    if (!n_seen) return;
    axp__text_heading(t, "Processes", "%s%s%s seen from outside",
                      axp__short_count(count, n_seen),
                      n_seen < n_all ? " of " : "",
                      n_seen < n_all ? axp__short_count(all, n_all) : "");
    put_processes(t, v);
}

/* ---- threads --------------------------------------------------------------------- */

static axp_ns used(const axp_thread_info *i)
{
    return i->cpu_ns > i->busy_ns ? i->cpu_ns : i->busy_ns;
}

static int by_use(const void *a, const void *b)
{
    const axp_thread_info *x = a, *y = b;
    if (used(x) != used(y)) return used(x) < used(y) ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static void put_thread(struct axp__table *table, const axp_thread_info *i,
                       bool has_processes)
{
    axp__cell *cells = axp__table_row(table, *i->name ? i->name : "(thread)");
    axp__fixed(cells[0], AXP__CELL, (double)i->id, 0);
    if (has_processes)
        axp__fixed(cells[1], AXP__CELL, (double)i->process_id, 0);
    if (i->rank >= 0) axp__fixed(cells[2], AXP__CELL, i->rank, 0);
    axp__short_ns(cells[3], i->begin);
    axp__short_ns(cells[4], i->end - i->begin);
    if (i->cpu_ns || i->is_scheduled) axp__short_ns(cells[5], i->cpu_ns);
    axp__short_ns(cells[6], i->busy_ns);
    axp__short_waiting(cells[7], i);
    if (i->spun_ns) axp__short_ns(cells[8], i->spun_ns);
    if (i->is_scheduled) axp__short_ns(cells[9], i->ready_ns);
    axp__short_count(cells[10], i->events);
}

/* The busiest ones, in the order in which they began. */
static void put_threads(struct axp__text *t, axp_thread_info *all, size_t n)
{
    static const struct axp__column columns[] = {
        {"thread", true, 0},    {"id", false, 3},        {"process", false, 2},
        {"rank", false, 0},     {"begin", false, 4},     {"lived", false, 0},
        {"CPU", false, 0},      {"in scopes", false, 0}, {"waiting", false, 0},
        {"spinning", false, 1}, {"starved", false, 1},   {"events", false, 5}};
    size_t shown = n < SHOWN_ROWS ? n : SHOWN_ROWS;
    bool has_processes = false;
    axp_ns rest = 0, spun = 0;
    char text[32];
    for (size_t i = 0; i < n; i++)
        if (all[i].process_id != all[0].process_id) has_processes = true;
    qsort(all, n, sizeof *all, by_use);
    for (size_t i = shown; i < n; i++)
        rest += all[i].busy_ns;
    for (size_t i = 0; i < shown; i++)
        spun += all[i].spun_ns;
    qsort(all, shown, sizeof *all, axp__thread_by_begin);
    struct axp__table *table =
        axp__table_create(t, columns, sizeof columns / sizeof *columns, shown);
    for (size_t i = 0; table && i < shown; i++)
        put_thread(table, &all[i], has_processes);
    axp__table_print(t, table);
    if (shown < n)
        axp__text_say(t, "and %zu more, in scopes for %s together", n - shown,
                      axp_format_ns(text, sizeof text, rest));
    if (spun)
        axp__text_say(t, "waiting has spinning in it, which is in CPU too");
}

void axp__text_threads(struct axp__text *t, const axp_view *v)
{
    axp__cell count;
    if (!v->n_threads) return;
    axp_thread_info *all = calloc(v->n_threads, sizeof *all);
    if (!all) {
        t->has_failed = true;
        return;
    }
    memcpy(all, v->threads, v->n_threads * sizeof *all);
    axp__text_heading(t, "Threads", "%s",
                      axp__short_count(count, v->n_threads));
    put_threads(t, all, v->n_threads);
    free(all);
}

/* ---- tracks and counters --------------------------------------------------------------- */

static void put_track(struct axp__table *table, const struct axp__view_track *k,
                      bool has_processes)
{
    axp__cell *cells = axp__table_row_on(table, k->name, k->device);
    axp_ns span = k->end - k->begin;
    if (has_processes)
        axp__fixed(cells[0], AXP__CELL, (double)k->process_id, 0);
    if (k->rank >= 0) axp__fixed(cells[1], AXP__CELL, k->rank, 0);
    axp__short_ns(cells[2], k->begin);
    axp__short_ns(cells[3], span);
    axp__short_ns(cells[4], k->busy_ns);
    axp__short_percent(cells[5], span ? (double)k->busy_ns / (double)span : 0);
    axp__short_count(cells[6], k->events);
}

void axp__text_tracks(struct axp__text *t, const axp_view *v)
{
    static const struct axp__column columns[] = {
        {"track", true, 0},  {"process", false, 4}, {"rank", false, 0},
        {"begin", false, 2}, {"span", false, 1},    {"busy", false, 0},
        {"share", false, 0}, {"events", false, 3}};
    bool has_processes = false;
    axp__cell count;
    if (!v->n_tracks) return;
    for (size_t i = 0; i < v->n_tracks; i++)
        if (v->tracks[i].process_id != v->tracks[0].process_id)
            has_processes = true;
    axp__text_heading(t, "Tracks", "%s; share of their span",
                      axp__short_count(count, v->n_tracks));
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_ROWS);
    for (size_t i = 0; table && i < v->n_tracks && i < SHOWN_ROWS; i++)
        put_track(table, &v->tracks[i], has_processes);
    axp__table_print(t, table);
    if (v->n_tracks > SHOWN_ROWS)
        axp__text_say(t, "and %zu more", v->n_tracks - SHOWN_ROWS);
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

/* Names carry their units. */
static void put_value(axp__cell out, const char *name, double value)
{
    bool is_whole = value >= 0 && value < 1e18;
    if (is_whole && ends_with(name, "_bytes"))
        axp__short_bytes(out, (uint64_t)value);
    else if (is_whole && ends_with(name, "_ns"))
        axp__short_ns(out, (axp_ns)value);
    else
        axp__short_number(out, value);
}

static bool any_counts(const axp_view *v)
{
    for (size_t i = 0; i < v->n_counters && i < SHOWN_ROWS; i++)
        if (v->counters[i].rate > 0) return true;
    return false;
}

void axp__text_counters(struct axp__text *t, const axp_view *v)
{
    static const struct axp__column columns[] = {
        {"counter", true, 0},  {"readings", false, 5}, {"last", false, 0},
        {"mean", false, 1},    {"min", false, 4},      {"max", false, 3},
        {"a second", false, 0}};
    axp__cell count;
    if (!v->n_counters) return;
    axp__text_heading(t, "Counters", "%s",
                      axp__short_count(count, v->n_counters));
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns - !any_counts(v),
        SHOWN_ROWS);
    for (size_t i = 0; table && i < v->n_counters && i < SHOWN_ROWS; i++) {
        const struct axp__view_counter *k = &v->counters[i];
        axp__cell *cells = axp__table_row(table, k->name);
        axp__short_count(cells[0], k->n);
        put_value(cells[1], k->name, k->last);
        put_value(cells[2], k->name, k->mean);
        put_value(cells[3], k->name, k->min);
        put_value(cells[4], k->name, k->max);
        if (k->rate > 0) axp__short_number(cells[5], k->rate);
    }
    axp__table_print(t, table);
    if (v->n_counters > SHOWN_ROWS)
        axp__text_say(t, "and %zu more", v->n_counters - SHOWN_ROWS);
}
