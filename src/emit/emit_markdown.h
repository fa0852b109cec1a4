/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The Markdown report: GitHub's kind, made to be pasted into a pull request.
 *
 *   emit_markdown.c         the report: run, findings, operations
 *   emit_markdown_memory.c  memory that was told of, and the heap
 *   emit_markdown_rows.c    threads, critical path, waits
 *   emit_markdown_text.c    names, sentences, rows of tables
 *
 * Names are untrusted. They are first made printable (emit_name.h: no line
 * breaks, no control characters), then shown as code, where GitHub knows no
 * markup, no HTML, no @mentions and no #references. In a code span a backtick
 * would end it, and a pipe the cell of a table: names with those become a
 * <code> element in which all punctuation is written as numbers.
 */
#ifndef AXP_EMIT_MARKDOWN_H
#define AXP_EMIT_MARKDOWN_H
#include "emit/emit_report.h"

struct axp__md {
    struct axp__out *o;
    bool has_failed; /* no memory */
};

/* ---- text -------------------------------------------------------------------- */
/* A sentence with names in it: what has a meaning here is escaped. */
void axp__md_sentence(struct axp__md *m, const char *text);
void axp__md_name(struct axp__md *m, const char *name);
void axp__md_device(struct axp__md *m, const char *device); /* NULL: nothing */

/* The first n_texts columns are texts, the rest numbers. */
void axp__md_heads(struct axp__md *m, const char *const *heads, size_t n,
                   size_t n_texts);
void axp__md_row_begin(struct axp__md *m, const char *name);
/* Our own words: nothing in them but letters and numbers. */
void axp__md_cell(struct axp__md *m, const char *text);
void axp__md_row_end(struct axp__md *m);

/* ---- sections ---------------------------------------------------------------- */
void axp__md_heap(struct axp__md *m, const axp_view *v);
void axp__md_memory(struct axp__md *m, const axp_view *v);
void axp__md_threads(struct axp__md *m, const axp_view *v);
void axp__md_path(struct axp__md *m, const axp_view *v);
void axp__md_waits(struct axp__md *m, const axp_view *v);

#endif
