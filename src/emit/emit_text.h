/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The text report: what a person reads first, on a terminal.
 *
 *   emit_text.c           the frame: run, warnings, order of the sections
 *   emit_text_findings.c  findings, and axp_findings_write
 *   emit_text_open.c      what was running when a process died
 *   emit_path.c           the critical path
 *   emit_text_ops.c       operations, call tree
 *   emit_text_roof.c      the roofline
 *   emit_text_shapes.c    operations by shape, if that is asked for
 *   emit_text_heap.c      what the allocator handed out
 *   emit_text_memory.c    memory at the peak, what was not freed
 *   emit_text_rows.c      steps, threads, tracks, counters
 *   emit_table.c          columns that line up
 *
 * Everything fits the width that is asked for (80 columns where none is), and
 * names that do not are cut (emit_name.h). Sections of which nothing was
 * recorded are left out, or say so in a line.
 */
#ifndef AXP_EMIT_TEXT_H
#define AXP_EMIT_TEXT_H
#include "emit/emit_report.h"
#include "base/base_number.h"
#include "emit/emit_short.h"

struct axp__text {
    struct axp__out *o;
    size_t width;
    bool has_color;
    bool has_failed; /* no memory */
};

#define AXP__BOLD "\x1b[1m"
#define AXP__DIM "\x1b[2m"
#define AXP__RED "\x1b[1;31m"
#define AXP__YELLOW "\x1b[1;33m"
#define AXP__CYAN "\x1b[36m"

void axp__text_style(struct axp__text *t, const char *style); /* NULL: off */
/* ── Title: detail ──────── */
__attribute__((format(printf, 3, 4))) void axp__text_heading(
    struct axp__text *t, const char *title, const char *detail, ...);
/* Words on lines of the width; the first line after `mark`, the others below
 * its text. The text may hold anything. */
void axp__text_wrap(struct axp__text *t, const char *mark, const char *text);
/* A line of our own words, wrapped. */
__attribute__((format(printf, 2, 3))) void axp__text_say(struct axp__text *t,
                                                         const char *format,
                                                         ...);
void axp__text_spaces(struct axp__text *t, size_t n);

/* ---- tables -------------------------------------------------------------- */
struct axp__column {
    const char *head;
    bool is_left;
    /* Where there is no room columns go, the highest first; 0: never. */
    int expendable;
};
struct axp__table;
/* The first column is the name's; NULL: no memory, and the text has failed. */
struct axp__table *axp__table_create(struct axp__text *t,
                                     const struct axp__column *columns,
                                     size_t n_columns, size_t max_rows);
/* Cells of the columns after the name, to be filled; empty ones stay empty,
 * and a column of empty ones is left out. NULL table: cells into nothing. */
axp__cell *axp__table_row(struct axp__table *table, const char *name);
/* The same for a name on a device, if that is not NULL. */
axp__cell *axp__table_row_on(struct axp__table *table, const char *name,
                             const char *device);
/* The last row's name has this before it. */
void axp__table_mark(struct axp__table *table, const char *mark);
/* The row is a branch: its depth, and at which levels siblings follow. */
void axp__table_branch(struct axp__table *table, unsigned depth,
                       uint64_t has_next);
void axp__table_print(struct axp__text *t, struct axp__table *table);

/* ---- sections ------------------------------------------------------------- */
void axp__text_findings(struct axp__text *t, const axp_findings *f,
                        size_t shown);
void axp__text_open(struct axp__text *t, const axp_view *v);
void axp__text_path(struct axp__text *t, const axp_view *v);
void axp__text_ops(struct axp__text *t, const axp_view *v);
void axp__text_roof(struct axp__text *t, const axp_view *v,
                    const struct axp__roofs *roofs);
void axp__text_shapes(struct axp__text *t, const axp_view *v,
                      const struct axp__roofs *roofs);
void axp__text_functions(struct axp__text *t, const axp_view *v);
void axp__text_processes(struct axp__text *t, const axp_view *v);
void axp__text_tree(struct axp__text *t, const axp_view *v);
void axp__text_heap(struct axp__text *t, const axp_view *v);
void axp__text_memory(struct axp__text *t, const axp_view *v);
void axp__text_steps(struct axp__text *t, const axp_view *v);
void axp__text_threads(struct axp__text *t, const axp_view *v);
void axp__text_waits(struct axp__text *t, const axp_view *v);
void axp__text_tracks(struct axp__text *t, const axp_view *v);
void axp__text_counters(struct axp__text *t, const axp_view *v);

#endif
