/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waits by who ended them; see emit_text.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "emit/emit_text.h"

#define SHOWN_WAITS 10

struct list {
    struct axp__text *t;
    struct axp__table *table;
    char *label[SHOWN_WAITS]; /* the table's until it is printed */
    size_t n;
    axp_ns rest_ns;
};

/* "NAME/ID": threads of one name are the rule. */
static char *label_of(const axp_waits *w)
{
    char *label = NULL;
    int n;
    if (w->by_thread)
        n = asprintf(&label, "%s/%" PRIu64 ": %s, ended by %s/%" PRIu64,
                     w->thread, w->thread_id, w->name, w->by_thread,
                     w->by_thread_id);
    else
        n = asprintf(&label, "%s/%" PRIu64 ": %s", w->thread, w->thread_id,
                     w->name);
    return n < 0 ? NULL : label;
}

static int put_waits(const axp_waits *w, void *ctx)
{
    static const struct axp__column columns[] = {{"wait", true, 0},
                                                 {"times", false, 0},
                                                 {"together", false, 0},
                                                 {"longest", false, 1}};
    struct list *list = ctx;
    size_t i = list->n++;
    if (i >= SHOWN_WAITS) {
        list->rest_ns += w->total_ns;
        return 0;
    }
    if (!list->table) {
        axp__text_heading(list->t, "Waits", "of threads, and who ended them");
        list->table = axp__table_create(
            list->t, columns, sizeof columns / sizeof *columns, SHOWN_WAITS);
    }
    list->label[i] = label_of(w);
    if (!list->label[i]) {
        list->t->has_failed = true;
        return 1;
    }
    axp__cell *cells = axp__table_row(list->table, list->label[i]);
    axp__short_count(cells[0], w->count);
    axp__short_ns(cells[1], w->total_ns);
    axp__short_ns(cells[2], w->max_ns);
    return 0;
}

void axp__text_waits(struct axp__text *t, const axp_view *v)
{
    struct list list = {.t = t};
    char text[32];
    if (!axp__view_has_waits(v)) return;
    if (axp_view_waits(v, put_waits, &list)) t->has_failed = true;
    if (!list.n) return;
    axp__table_print(t, list.table);
    for (size_t i = 0; i < SHOWN_WAITS; i++)
        free(list.label[i]);
    if (list.n > SHOWN_WAITS)
        axp__text_say(t, "and %zu more, %s together", list.n - SHOWN_WAITS,
                      axp_format_ns(text, sizeof text, list.rest_ns));
}
