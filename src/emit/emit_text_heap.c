/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the allocator handed out: who held it at the peak, what was not freed;
 * see emit_text.h. */
#include <stdlib.h>

#include "emit/emit_heap.h"
#include "emit/emit_text.h"
#include "emit/emit_words.h"

#define SHOWN_PEAK 10
#define SHOWN_LEFT 8
#define LEAST_LEFT 0.001 /* of the peak: a smaller rest is not listed */
#define SHOWN_OFTEN 5
#define LEAST_OFTEN 0.05 /* of all blocks: who allocates less is not listed */
#define FEW_BLOCKS 10000u

static void put_peak(struct axp__text *t, const struct axp__heap_group *g,
                     size_t n)
{
    static const struct axp__column columns[] = {
        {"", true, 0},          {"kind", true, 4},       {"held", false, 0},
        {"share", false, 0},    {"allocated", false, 1}, {"allocs", false, 2},
        {"temporary", false, 3}};
    uint64_t rest = 0, all = 0;
    size_t shown = 0;
    char text[32];
    if (!n) return;
    for (size_t i = 0; i < n; i++)
        all += g[i].at_peak_bytes;
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_PEAK);
    for (size_t i = 0; table && i < n; i++) {
        if (i && (shown >= SHOWN_PEAK || !g[i].at_peak_bytes)) {
            rest += g[i].at_peak_bytes;
            continue;
        }
        axp__cell *cells = axp__table_row(table, g[i].text);
        const char *kind = axp__word_mem(g[i].kind);
        if (kind) axp__append(cells[0], AXP__CELL, 0, kind);
        axp__short_bytes(cells[1], g[i].at_peak_bytes);
        axp__short_percent(cells[2],
                           all ? (double)g[i].at_peak_bytes / (double)all : 0);
        axp__short_bytes(cells[3], g[i].total_allocated);
        axp__short_count(cells[4], g[i].n_allocs);
        if (g[i].n_temporary) axp__short_count(cells[5], g[i].n_temporary);
        shown++;
    }
    axp__table_print(t, table);
    if (rest)
        axp__text_say(t, "and %zu more, %s at the peak", n - shown,
                      axp_format_bytes(text, sizeof text, rest));
}

static int by_current(const void *a, const void *b)
{
    const struct axp__heap_group *x = a, *y = b;
    if (x->current_bytes != y->current_bytes)
        return x->current_bytes < y->current_bytes ? 1 : -1;
    return strcmp(x->text, y->text);
}

static void put_left(struct axp__text *t, const axp_heap *h,
                     struct axp__heap_group *g, size_t n)
{
    static const struct axp__column columns[] = {
        {"not freed", true, 0}, {"bytes", false, 0}, {"blocks", false, 0},
        {"from", false, 1}, /* when they were allocated */
        {"until", false, 1},    {"thread", false, 2}};
    uint64_t rest = 0;
    size_t shown = 0, left = 0;
    char text[32];
    qsort(g, n, sizeof *g, by_current);
    if (!n || !g[0].current_bytes) return;
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_LEFT);
    for (size_t i = 0; table && i < n && g[i].current_bytes; i++, left++) {
        bool is_small =
            (double)g[i].current_bytes < LEAST_LEFT * (double)h->peak_bytes;
        if (shown >= SHOWN_LEFT || (shown && is_small)) {
            rest += g[i].current_bytes;
            continue;
        }
        axp__cell *cells = axp__table_row(table, g[i].text);
        axp__short_bytes(cells[0], g[i].current_bytes);
        axp__short_count(cells[1], g[i].current_blocks);
        axp__short_ns(cells[2], g[i].first_at);
        axp__short_ns(cells[3], g[i].last_at);
        if (g[i].thread_id)
            snprintf(cells[4], AXP__CELL, "%llu",
                     (unsigned long long)g[i].thread_id);
        else
            snprintf(cells[4], AXP__CELL, "several");
        shown++;
    }
    axp__out_char(t->o, '\n');
    axp__table_print(t, table);
    if (rest)
        axp__text_say(t, "and %zu more, %s", left - shown,
                      axp_format_bytes(text, sizeof text, rest));
}

static int by_allocs(const void *a, const void *b)
{
    const struct axp__heap_group *x = a, *y = b;
    if (x->n_allocs != y->n_allocs) return x->n_allocs < y->n_allocs ? 1 : -1;
    return strcmp(x->text, y->text);
}

/* Below how long half of those that went had lived; "": none is known. */
static void put_median(axp__cell out, const uint64_t lived[AXP_HEAP_AGES])
{
    static const char *const texts[AXP_HEAP_AGES] = {
        "< 10 us",  "< 100 us", "< 1 ms", "< 10 ms",
        "< 100 ms", "< 1 s",    "< 10 s", "longer"};
    uint64_t all = 0, sum = 0;
    for (size_t i = 0; i < AXP_HEAP_AGES; i++)
        all += lived[i];
    for (size_t i = 0; i < AXP_HEAP_AGES && all; i++) {
        sum += lived[i];
        if (sum < all - all / 2) continue;
        snprintf(out, AXP__CELL, "%s", texts[i]);
        return;
    }
}

/* Who allocates all the time, whatever is held: that takes time, not memory. */
static void put_often(struct axp__text *t, const axp_heap *h,
                      struct axp__heap_group *g, size_t n)
{
    static const struct axp__column columns[] = {
        {"allocated most often", true, 0},
        {"blocks", false, 0},
        {"freed at once", false, 0},
        {"bytes", false, 0},
        {"half live", true, 1}};
    if (h->n_allocs < FEW_BLOCKS) return;
    qsort(g, n, sizeof *g, by_allocs);
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_OFTEN);
    for (size_t i = 0; table && i < n && i < SHOWN_OFTEN; i++) {
        double least = LEAST_OFTEN * (double)h->n_allocs;
        if (i && (double)g[i].n_allocs < least) break;
        axp__cell *cells = axp__table_row(table, g[i].text);
        axp__short_count(cells[0], g[i].n_allocs);
        axp__short_count(cells[1], g[i].n_temporary);
        axp__short_bytes(cells[2], g[i].total_allocated);
        put_median(cells[3], g[i].lived);
    }
    axp__out_char(t->o, '\n');
    axp__table_print(t, table);
}

/* Held more after each step, at no less than a quarter of the pace before. */
static bool is_growing(const struct axp__heap_group *g)
{
    return g->growth_early > 0 && g->growth_late >= g->growth_early / 4;
}

static int by_growth(const void *a, const void *b)
{
    const struct axp__heap_group *x = a, *y = b;
    if (x->growth_late != y->growth_late)
        return x->growth_late < y->growth_late ? 1 : -1;
    return strcmp(x->text, y->text);
}

static void put_growing(struct axp__text *t, struct axp__heap_group *g,
                        size_t n)
{
    static const struct axp__column columns[] = {
        {"grows with the steps", true, 0},
        {"bytes a step", false, 0},
        {"held now", false, 0}};
    size_t shown = 0, first = 0;
    qsort(g, n, sizeof *g, by_growth);
    while (first < n && !is_growing(&g[first]))
        first++;
    if (first == n) return;
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_OFTEN);
    for (size_t i = first; table && i < n && shown < SHOWN_OFTEN; i++) {
        if (!is_growing(&g[i])) continue;
        axp__cell *cells = axp__table_row(table, g[i].text);
        axp__short_bytes(cells[0], (uint64_t)g[i].growth_late);
        axp__short_bytes(cells[1], g[i].current_bytes);
        shown++;
    }
    axp__out_char(t->o, '\n');
    axp__table_print(t, table);
}

/* The allocator had nothing for 1.00 MB after 3.2 s, in truth_hog (m.c:41): what
 * was live then stands below, if so much could be had at all. */
static void put_failed(struct axp__text *t, const axp_view *v)
{
    char bytes[32], at[32], limit[32], where[512], line[896];
    const char *text =
        axp__heap_where(v, v->heap.failed_stack, where, sizeof where);
    bool is_too_much = axp__heap_was_asked_too_much(v);
    snprintf(
        line, sizeof line,
        "%s: the allocator had nothing for %s after %s%s%s%s%s%s; %s",
        is_too_much ? "FAILED ALLOCATION" : "OUT OF MEMORY",
        axp_format_bytes(bytes, sizeof bytes, v->heap.failed_bytes),
        axp_format_ns(at, sizeof at, v->heap.failed_at), text ? ", in " : "",
        text ? text : "",
        v->heap.n_failed > 1 ? ", the first of several times" : "",
        v->heap.failed_limit_bytes ? "; the limit of the process is " : "",
        v->heap.failed_limit_bytes
            ? axp_format_bytes(limit, sizeof limit, v->heap.failed_limit_bytes)
            : "",
        is_too_much ? "that is more than there is"
                    : "held means what was live then");
    axp__text_style(t, AXP__RED);
    axp__text_wrap(t, "", line);
    axp__text_style(t, NULL);
}

/* The kernel had none: of a process that it killed all that is known is what it
 * had not freed by then. */
static void put_killed(struct axp__text *t, const axp_heap *h)
{
    char limit[32], line[256];
    if (!h->n_oom_kills) return;
    snprintf(line, sizeof line, "OUT OF MEMORY: the kernel killed %s%s%s%s",
             h->n_oom_kills == 1 ? "a process" : "several processes",
             !h->oom_limit_bytes   ? ""
             : h->n_oom_kills == 1 ? ": its control group allows "
                                   : ": their control group allows ",
             h->oom_limit_bytes
                 ? axp_format_bytes(limit, sizeof limit, h->oom_limit_bytes)
                 : "",
             h->is_seen ? "; what was live then is what was not freed" : "");
    axp__text_style(t, AXP__RED);
    axp__text_wrap(t, "", line);
    axp__text_style(t, NULL);
}

static void put_all(struct axp__text *t, const axp_heap *h)
{
    char bytes[32];
    axp__cell blocks, once;
    axp__text_say(t,
                  "%s block%s%s, %s in all; %s freed before their thread "
                  "allocated again",
                  axp__short_count(blocks, h->n_allocs),
                  h->n_allocs == 1 ? "" : "s",
                  h->sampled_bytes ? " looked at" : "",
                  axp_format_bytes(bytes, sizeof bytes, h->total_allocated),
                  axp__short_count(once, h->n_temporary));
}

/* What is no block: mapped by the program itself, and all that was resident. */
static void put_beside(struct axp__text *t, const axp_view *v)
{
    const axp_heap *h = &v->heap;
    uint64_t resident = axp__heap_resident_peak(v);
    char peak[32], left[32];
    if (h->n_mapped)
        axp__text_say(t, "mapped beside it: %s at most, %s not unmapped",
                      axp_format_bytes(peak, sizeof peak, h->mapped_peak_bytes),
                      axp_format_bytes(left, sizeof left, h->mapped_bytes));
    if (resident)
        axp__text_say(t, "resident: %s at most",
                      axp_format_bytes(peak, sizeof peak, resident));
}

void axp__text_heap(struct axp__text *t, const axp_view *v)
{
    const axp_heap *h = &v->heap;
    char peak[32], at[32], live[32];
    size_t n = 0;
    if (!h->is_seen) {
        if (h->n_oom_kills) axp__text_heading(t, "Heap", "not looked at");
        put_killed(t, h);
        return;
    }
    struct axp__heap_group *g = axp__heap_groups(v, &n);
    if (!g) {
        t->has_failed = true;
        return;
    }
    axp_format_bytes(peak, sizeof peak, h->peak_bytes);
    axp_format_ns(at, sizeof at, h->peak_at);
    axp_format_bytes(live, sizeof live, h->current_bytes);
    axp__text_heading(t, "Heap", "peak %s after %s, %s not freed", peak, at,
                      live);
    put_all(t, h);
    put_beside(t, v);
    if (h->n_failed) put_failed(t, v);
    put_killed(t, h);
    if (h->sampled_bytes)
        axp__text_say(t,
                      "estimates: one block every %s was looked at; sums of n "
                      "such blocks are good to about 200 / sqrt(n) %%",
                      axp_format_bytes(live, sizeof live, h->sampled_bytes));
    put_peak(t, g, n);
    put_left(t, h, g, n);
    put_often(t, h, g, n);
    put_growing(t, g, n);
    if (h->n_missed)
        axp__text_say(t,
                      "%llu block%s could not be followed and %s in none of "
                      "these figures",
                      (unsigned long long)h->n_missed,
                      h->n_missed == 1 ? "" : "s",
                      h->n_missed == 1 ? "is" : "are");
    axp__heap_groups_free(g, n);
}
