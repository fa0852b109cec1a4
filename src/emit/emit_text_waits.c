/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits by who ended them; see emit_text.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "emit/emit_text.h"
#include "model/model_slots.h"

#define SHOWN_WAITS 10
#define MOST_GROUPS 256

struct waits { /* of one thread, of one name; by whom, unless by several */
    axp_waits of;
    size_t n_by;        /* threads that ended some */
    uint64_t n_unknown; /* waits that nobody knows the end of */
};

struct list {
    struct waits *at;
    size_t n, cap;
    bool is_grouped, has_failed;
};

static bool is_like(const axp_waits *a, const axp_waits *b)
{
    return a->process_id == b->process_id && a->thread_id == b->thread_id &&
           !strcmp(a->name, b->name);
}

/* The one that it belongs to, if they are grouped: among the first, which took
 * longest, so that a hundred thousand threads do not take minutes. */
static struct waits *find(const struct list *list, const axp_waits *w)
{
    size_t n = list->n < MOST_GROUPS ? list->n : MOST_GROUPS;
    for (size_t i = 0; list->is_grouped && i < n; i++)
        if (is_like(&list->at[i].of, w)) return &list->at[i];
    return NULL;
}

static void add_ends(struct waits *to, const axp_waits *w)
{
    if (!w->by_thread) {
        to->n_unknown += w->count;
        return;
    }
    to->n_by++;
    to->of.by_thread = w->by_thread;
    to->of.by_thread_id = w->by_thread_id;
}

/* NULL: no memory. */
static struct waits *make(struct list *list, const axp_waits *w)
{
    void *at = list->at;
    list->has_failed |=
        !axp__array_grow(&at, &list->cap, list->n + 1, sizeof *list->at);
    list->at = at;
    if (list->has_failed) return NULL;
    list->at[list->n] = (struct waits){.of = *w};
    return &list->at[list->n++];
}

static int add_waits(const axp_waits *w, void *ctx)
{
    struct list *list = ctx;
    struct waits *to = find(list, w);
    if (to) {
        to->of.count += w->count;
        to->of.total_ns += w->total_ns;
        if (w->max_ns > to->of.max_ns) to->of.max_ns = w->max_ns;
    } else {
        to = make(list, w);
    }
    if (!to) return 1;
    add_ends(to, w);
    return 0;
}

static int by_total(const void *a, const void *b)
{
    const struct waits *x = a, *y = b;
    return (x->of.total_ns < y->of.total_ns) -
           (x->of.total_ns > y->of.total_ns);
}

/* "NAME/ID": threads of one name are the rule. */
static char *ends_of(const struct waits *waits)
{
    const axp_waits *w = &waits->of;
    char *ends = NULL;
    int n;
    if (waits->n_by > 1)
        n = asprintf(&ends, ", ended by %zu threads", waits->n_by);
    else if (waits->n_by)
        n = asprintf(&ends, ", ended by %s/%" PRIu64, w->by_thread,
                     w->by_thread_id);
    else
        n = asprintf(&ends, "%s", "");
    return n < 0 ? NULL : ends;
}

static char *label_of(const struct waits *waits)
{
    const axp_waits *w = &waits->of;
    char *ends = ends_of(waits), *label = NULL, unknown[40] = "";
    if (waits->n_by && waits->n_unknown)
        snprintf(unknown, sizeof unknown, " (%" PRIu64 " not known)",
                 waits->n_unknown);
    int n = !ends ? -1
                  : asprintf(&label, "%s/%" PRIu64 ": %s%s%s", w->thread,
                             w->thread_id, w->name, ends, unknown);
    free(ends);
    return n < 0 ? NULL : label;
}

/* Each with who ended it; where these are many, with how many they were. */
static void collect(struct list *list, const axp_view *v)
{
    if (axp_view_waits(v, add_waits, list)) list->has_failed = true;
    if (list->n <= SHOWN_WAITS || list->has_failed) return;
    list->n = 0;
    list->is_grouped = true;
    if (axp_view_waits(v, add_waits, list)) list->has_failed = true;
    if (list->n) qsort(list->at, list->n, sizeof *list->at, by_total);
}

static void put_list(struct axp__text *t, const struct list *list)
{
    static const struct axp__column columns[] = {{"wait", true, 0},
                                                 {"times", false, 0},
                                                 {"together", false, 0},
                                                 {"longest", false, 1}};
    char *labels[SHOWN_WAITS] = {NULL}, text[32];
    axp_ns rest = 0;
    axp__text_heading(t, "Waits", "of threads, and who ended them");
    struct axp__table *table = axp__table_create(
        t, columns, sizeof columns / sizeof *columns, SHOWN_WAITS);
    for (size_t i = 0; table && i < list->n; i++) {
        const struct waits *w = &list->at[i];
        if (i >= SHOWN_WAITS) {
            rest += w->of.total_ns;
            continue;
        }
        labels[i] = label_of(w);
        if (!labels[i]) t->has_failed = true;
        axp__cell *cells = axp__table_row(table, labels[i] ? labels[i] : "");
        axp__short_count(cells[0], w->of.count);
        axp__short_ns(cells[1], w->of.total_ns);
        axp__short_ns(cells[2], w->of.max_ns);
    }
    axp__table_print(t, table);
    for (size_t i = 0; i < SHOWN_WAITS; i++)
        free(labels[i]);
    if (list->n > SHOWN_WAITS)
        axp__text_say(t, "and %zu more, %s together", list->n - SHOWN_WAITS,
                      axp_format_ns(text, sizeof text, rest));
}

void axp__text_waits(struct axp__text *t, const axp_view *v)
{
    struct list list = {.n = 0};
    if (!axp__view_has_waits(v)) return;
    collect(&list, v);
    if (list.has_failed) t->has_failed = true;
    if (list.n) put_list(t, &list);
    free(list.at);
}
