/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables of the text report: a column of names that takes the room that is
 * left, and columns of numbers as wide as their widest; see emit_text.h. */
#include <stdlib.h>
#include <string.h>

#include "emit/emit_name.h"
#include "emit/emit_text.h"

#define MAX_COLUMNS 12
#define LEAST_NAME 16 /* columns of a name before others must go */

struct row {
    const char *name;
    unsigned depth;
    uint64_t has_next;
    char *shown, *own; /* own: a name that was made for the row */
    axp__cell cells[MAX_COLUMNS];
};

struct axp__table {
    const struct axp__column *columns;
    size_t n_columns, n_rows, max_rows;
    size_t widths[MAX_COLUMNS]; /* 0: left out */
    size_t gap, name_width;
    bool is_narrow; /* names are cut */
    bool has_failed;
    struct row rows[]; /* and one that takes what has no room */
};

struct axp__table *axp__table_create(struct axp__text *t,
                                     const struct axp__column *columns,
                                     size_t n_columns, size_t max_rows)
{
    struct axp__table *table =
        calloc(1, sizeof *table + (max_rows + 1) * sizeof(struct row));
    if (!table) {
        t->has_failed = true;
        return NULL;
    }
    table->columns = columns;
    table->n_columns = n_columns < MAX_COLUMNS ? n_columns : MAX_COLUMNS;
    table->max_rows = max_rows;
    return table;
}

axp__cell *axp__table_row(struct axp__table *table, const char *name)
{
    struct row *row = &table->rows[table->n_rows];
    if (table->n_rows < table->max_rows) table->n_rows++;
    row->name = name;
    return row->cells;
}

axp__cell *axp__table_row_on(struct axp__table *table, const char *name,
                             const char *device)
{
    struct row *row = &table->rows[table->n_rows];
    axp__cell *cells = axp__table_row(table, name);
    if (!device || row->own) return cells;
    row->own = axp__name_on(name, device);
    if (row->own)
        row->name = row->own;
    else
        table->has_failed = true;
    return cells;
}

void axp__table_mark(struct axp__table *table, const char *mark)
{
    struct row *row = &table->rows[table->n_rows - 1];
    char *own = NULL;
    if (asprintf(&own, "%s%s", mark, row->name) < 0) {
        table->has_failed = true;
        return;
    }
    free(row->own);
    row->own = own;
    row->name = own;
}

void axp__table_branch(struct axp__table *table, unsigned depth,
                       uint64_t has_next)
{
    struct row *row = &table->rows[table->n_rows - 1];
    row->depth = depth;
    row->has_next = has_next;
}

/* ---- layout -------------------------------------------------------------------- */

#define INDENT 2 /* columns a level; in a narrow table there are four or more */

static size_t indent_of(const struct axp__table *table, const struct row *row)
{
    size_t most = table->name_width / 2 / INDENT * INDENT;
    size_t wanted = INDENT * row->depth;
    return wanted < most || !table->is_narrow ? wanted : most;
}

static void measure(struct axp__table *table)
{
    for (size_t c = 1; c < table->n_columns; c++) {
        size_t widest = 0;
        for (size_t r = 0; r < table->n_rows; r++) {
            size_t len = strlen(table->rows[r].cells[c - 1]);
            if (len > widest) widest = len;
        }
        size_t head = strlen(table->columns[c].head);
        table->widths[c] = widest && widest < head ? head : widest;
    }
}

static size_t taken(const struct axp__table *table)
{
    size_t sum = 0;
    for (size_t c = 1; c < table->n_columns; c++)
        if (table->widths[c]) sum += table->widths[c] + table->gap;
    return sum;
}

/* The column that is missed least; 0: none is left to go. */
static size_t most_expendable(const struct axp__table *table)
{
    size_t found = 0;
    int best = 0;
    for (size_t c = 1; c < table->n_columns; c++)
        if (table->widths[c] && table->columns[c].expendable > best) {
            best = table->columns[c].expendable;
            found = c;
        }
    return found;
}

/* 0: no memory. */
static size_t name_wanted(const struct axp__table *table)
{
    size_t widest = strlen(table->columns[0].head);
    for (size_t r = 0; r < table->n_rows; r++) {
        const struct row *row = &table->rows[r];
        char *plain = axp__plain(row->name);
        if (!plain) return 0;
        size_t n = axp__columns(plain) + INDENT * row->depth;
        if (n > widest) widest = n;
        free(plain);
    }
    return widest;
}

static bool lay_out(struct axp__table *table, size_t width)
{
    size_t wanted = name_wanted(table);
    if (!wanted) return false;
    size_t least = wanted < LEAST_NAME ? wanted : LEAST_NAME;
    measure(table);
    table->gap = 2;
    if (wanted + taken(table) > width) table->gap = 1;
    while (least + taken(table) > width) {
        size_t c = most_expendable(table);
        if (!c) break;
        table->widths[c] = 0;
    }
    size_t used = taken(table);
    size_t room = used + least < width ? width - used : least;
    table->name_width = wanted < room ? wanted : room;
    table->is_narrow = room < wanted;
    return true;
}

static bool fit(struct axp__table *table)
{
    struct axp__fit *fits = calloc(table->n_rows + 1, sizeof *fits);
    if (!fits) return false;
    for (size_t r = 0; r < table->n_rows; r++) {
        struct row *row = &table->rows[r];
        fits[r].name = row->name;
        fits[r].columns = table->name_width - indent_of(table, row);
    }
    bool ok = axp__fit_names(fits, table->n_rows);
    for (size_t r = 0; r < table->n_rows; r++)
        table->rows[r].shown = fits[r].shown;
    free(fits);
    return ok;
}

/* ---- printing --------------------------------------------------------------------- */

/* A line with blanks put off until something follows them. */
struct line {
    struct axp__text *t;
    size_t n_blanks;
};

static void put_text(struct line *line, const char *text)
{
    for (; *text; text++) {
        if (*text == ' ') {
            line->n_blanks++;
            continue;
        }
        axp__text_spaces(line->t, line->n_blanks);
        line->n_blanks = 0;
        axp__out_char(line->t->o, *text);
    }
}

static void put_cell(struct line *line, const struct axp__table *table,
                     size_t c, const char *cell)
{
    size_t pad = table->widths[c] - strlen(cell);
    bool is_left = table->columns[c].is_left;
    line->n_blanks += table->gap + (is_left ? 0 : pad);
    put_text(line, cell);
    line->n_blanks += is_left ? pad : 0;
}

/* │ │ ├ : one mark a level. Where there is no room for all, how many more there
 * are takes the place of the last two: rows of different levels are no siblings.
 *
 *   │ │ │ └ last that has room
 *   │ │ +1  below it */
static void put_branch(struct axp__text *t, const struct axp__table *table,
                       const struct row *row)
{
    unsigned levels = (unsigned)(indent_of(table, row) / INDENT);
    unsigned more = row->depth - levels, kept = levels - (more ? 2 : 1);
    char text[16];
    for (unsigned k = 0; k < kept; k++)
        axp__out_text(t->o, k < 64 && row->has_next >> k & 1 ? "│ " : "  ");
    if (more)
        snprintf(text, sizeof text, "+%-3u", more < 999 ? more : 999);
    else
        snprintf(text, sizeof text, "%s",
                 kept < 64 && row->has_next >> kept & 1 ? "├ " : "└ ");
    axp__out_text(t->o, text);
}

static void put_row(struct axp__text *t, const struct axp__table *table,
                    const struct row *row)
{
    struct line line = {t, 0};
    size_t used = indent_of(table, row) + axp__columns(row->shown);
    if (row->depth) {
        axp__text_style(t, AXP__DIM);
        put_branch(t, table, row);
        axp__text_style(t, NULL);
    }
    put_text(&line, row->shown);
    if (used < table->name_width) line.n_blanks += table->name_width - used;
    for (size_t c = 1; c < table->n_columns; c++)
        if (table->widths[c]) put_cell(&line, table, c, row->cells[c - 1]);
    axp__out_char(t->o, '\n');
}

static void put_heads(struct axp__text *t, const struct axp__table *table)
{
    const char *head = table->columns[0].head;
    struct line line = {t, 0};
    axp__text_style(t, AXP__DIM);
    put_text(&line, head);
    line.n_blanks += table->name_width - strlen(head);
    for (size_t c = 1; c < table->n_columns; c++)
        if (table->widths[c]) put_cell(&line, table, c, table->columns[c].head);
    axp__text_style(t, NULL);
    axp__out_char(t->o, '\n');
}

void axp__table_print(struct axp__text *t, struct axp__table *table)
{
    if (!table) return;
    if (!table->has_failed && lay_out(table, t->width) && fit(table)) {
        put_heads(t, table);
        for (size_t r = 0; r < table->n_rows; r++)
            put_row(t, table, &table->rows[r]);
    } else {
        t->has_failed = true;
    }
    for (size_t r = 0; r <= table->max_rows; r++) {
        free(table->rows[r].shown);
        free(table->rows[r].own);
    }
    free(table);
}
