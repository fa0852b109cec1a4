/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The frame of the text report; see emit_text.h. */
#include "emit/emit_text.h"

#include <stdarg.h>
#include <stdlib.h>

#include "analyze/analyze.h"
#include "emit/emit_name.h"
#include "record/record_thread.h"

#define LEAST_WIDTH 40
#define MOST_WIDTH 400
#define USUAL_WIDTH 80

/* ---- what the sections are written with ------------------------------------------ */

void axp__text_style(struct axp__text *t, const char *style)
{
    if (t->has_color) axp__out_text(t->o, style ? style : "\x1b[0m");
}

void axp__text_spaces(struct axp__text *t, size_t n)
{
    while (n--)
        axp__out_char(t->o, ' ');
}

static void put_rule(struct axp__text *t, size_t used)
{
    axp__text_style(t, AXP__DIM);
    for (; used < t->width; used++)
        axp__out_text(t->o, "─");
    axp__text_style(t, NULL);
    axp__out_char(t->o, '\n');
}

void axp__text_heading(struct axp__text *t, const char *title,
                       const char *detail, ...)
{
    char text[200];
    va_list args;
    va_start(args, detail);
    vsnprintf(text, sizeof text, detail, args);
    va_end(args);
    size_t used = 4 + axp__columns(title), more = 2 + axp__columns(text);
    bool fits = used + more <= t->width;
    axp__out_text(t->o, "\n");
    axp__text_style(t, AXP__DIM);
    axp__out_text(t->o, "── ");
    axp__text_style(t, NULL);
    axp__text_style(t, AXP__BOLD);
    axp__out_text(t->o, title);
    axp__text_style(t, NULL);
    if (fits) axp__out_format(t->o, ": %s", text);
    if (used + (fits ? more : 0) < t->width) axp__out_char(t->o, ' ');
    put_rule(t, used + (fits ? more : 0));
    if (!fits) axp__text_wrap(t, "", text);
}

/* Whether a number's unit comes after the space: it stays in its line. */
static bool is_unit(const char *number_end)
{
    static const char *const units[] = {"%", "ns", "us", "ms", "s"};
    const char *unit = number_end + 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t len = strlen(units[i]);
        if (!strncmp(unit, units[i], len) &&
            (!unit[len] || strchr(" .,;:)", unit[len])))
            return number_end[-1] >= '0' && number_end[-1] <= '9';
    }
    return false;
}

/* The bytes and columns of what comes before the next space. */
static size_t next_word(const char *text, size_t *columns)
{
    size_t len = 0, n;
    unsigned one;
    *columns = 0;
    while ((text[len] != ' ' || (len && is_unit(text + len))) &&
           (n = axp__next_cell(text + len, &one))) {
        len += n;
        *columns += one;
    }
    return len;
}

/* A word that is longer than a line goes over several. */
static void put_long(struct axp__text *t, const char *word, size_t len,
                     size_t indent)
{
    size_t at = indent, n;
    unsigned one;
    for (size_t i = 0; i < len; i += n) {
        n = axp__next_cell(word + i, &one);
        if (at + one > t->width) {
            axp__out_char(t->o, '\n');
            axp__text_spaces(t, indent);
            at = indent;
        }
        axp__out_bytes(t->o, word + i, n);
        at += one;
    }
}

void axp__text_wrap(struct axp__text *t, const char *mark, const char *text)
{
    size_t indent = axp__columns(mark), at = indent, columns, len;
    char *plain = axp__plain(text);
    const char *rest = plain;
    axp__out_text(t->o, mark);
    if (!plain) t->has_failed = true;
    while (rest && *rest) {
        len = next_word(rest, &columns);
        if (at > indent && at + 1 + columns > t->width) {
            axp__out_char(t->o, '\n');
            axp__text_spaces(t, indent);
            at = indent;
        } else if (at > indent) {
            axp__out_char(t->o, ' ');
            at++;
        }
        if (indent + columns > t->width)
            put_long(t, rest, len, indent);
        else
            axp__out_bytes(t->o, rest, len);
        at += columns;
        rest += len;
        while (*rest == ' ')
            rest++;
    }
    axp__out_char(t->o, '\n');
    free(plain);
}

void axp__text_say(struct axp__text *t, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    axp__text_wrap(t, "", text);
}

/* ---- the run ------------------------------------------------------------------------- */

struct words { /* "a, b, c" */
    char text[320];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *w,
                                                      const char *format, ...)
{
    va_list args;
    if (w->len && w->len + 2 < sizeof w->text) {
        memcpy(w->text + w->len, ", ", 3);
        w->len += 2;
    }
    va_start(args, format);
    int n = vsnprintf(w->text + w->len, sizeof w->text - w->len, format, args);
    va_end(args);
    if (n > 0) w->len += (size_t)n;
    if (w->len >= sizeof w->text) w->len = sizeof w->text - 1;
}

static void add_count(struct words *w, uint64_t n, const char *one,
                      const char *many)
{
    axp__cell count;
    add(w, "%s %s", axp__short_count(count, n), n == 1 ? one : many);
}

static void put_counts(struct axp__text *t, const axp_view *v)
{
    struct words w = {.len = 0};
    size_t n_processes = axp__view_n_processes(v);
    if (n_processes > 1) add_count(&w, n_processes, "process", "processes");
    bool is_outside_alone = v->is_outside && !v->n_recorded;
    if (!is_outside_alone || v->n_threads)
        add_count(&w, v->n_threads, "thread", "threads");
    if (v->has_no_part)
        add(&w, "the part that was asked for never came");
    else if (is_outside_alone)
        add(&w, "seen from outside alone");
    if (v->n_tracks) add_count(&w, v->n_tracks, "track", "tracks");
    if (v->n_ops || !is_outside_alone) {
        add_count(&w, v->n_ops, "operation", "operations");
        add_count(&w, axp__view_n_calls(v), "call", "calls");
    }
    if (v->steps.count) add_count(&w, v->steps.count, "step", "steps");
    char bytes[32];
    if (v->memory.peak_bytes)
        add(&w, "memory peak %s",
            axp_format_bytes(bytes, sizeof bytes, v->memory.peak_bytes));
    axp__text_wrap(t, "", w.text);
}

static void put_verdict(struct axp__text *t, const axp_findings *f)
{
    axp__text_style(t, AXP__BOLD);
    axp__text_wrap(t, "", f->verdict);
    axp__text_style(t, NULL);
    axp__out_char(t->o, '\n');
}

static void put_run(struct axp__text *t, const axp_view *v)
{
    char time[32];
    axp_format_ns(time, sizeof time, v->duration_ns);
    size_t room = t->width - strlen(time) - 2;
    struct axp__fit title = {v->capture->title, room, NULL};
    if (!axp__fit_names(&title, 1)) t->has_failed = true;
    axp__text_style(t, AXP__BOLD);
    if (title.shown) axp__out_text(t->o, title.shown);
    axp__text_style(t, NULL);
    axp__out_format(t->o, ": %s\n", time);
    free(title.shown);
    put_counts(t, v);
}

static void put_warnings(struct axp__text *t, const axp_view *v)
{
    for (size_t i = 0; i < v->n_warnings; i++) {
        const axp_warning *w = &v->warnings[i];
        struct axp__fit name = {w->name ? w->name : "", 30, NULL};
        struct words words = {.len = 0};
        axp__cell many;
        if (!axp__fit_names(&name, 1)) {
            t->has_failed = true;
            free(name.shown);
            break;
        }
        if (!i) axp__out_char(t->o, '\n');
        add(&words, "%s%s", axp__short_many(many, w), w->text);
        if (w->name)
            words.len += (size_t)snprintf(
                words.text + words.len, sizeof words.text - words.len,
                " (%s%s)", axp__short_last(w), name.shown);
        axp__text_style(t, AXP__YELLOW);
        axp__text_wrap(t, "! ", words.text);
        axp__text_style(t, NULL);
        free(name.shown);
    }
}

/* ---- what was applied --------------------------------------------------------------------- */

static void put_thresholds(struct axp__text *t, const axp_findings *f)
{
    char *text = axp__applied(f);
    if (!text) {
        t->has_failed = true;
        return;
    }
    axp__out_char(t->o, '\n');
    axp__text_style(t, AXP__DIM);
    axp__text_wrap(t, "", text);
    axp__text_style(t, NULL);
    free(text);
}

axp_status axp__emit_text(const axp_view *v, const axp_findings *f,
                          const axp_report_options *options, struct axp__out *o)
{
    int width = options->width > 0 ? options->width : USUAL_WIDTH;
    struct axp__text t = {.o = o, .has_color = options->color};
    t.width = width < LEAST_WIDTH  ? LEAST_WIDTH
              : width > MOST_WIDTH ? MOST_WIDTH
                                   : (size_t)width;
    put_verdict(&t, f);
    put_run(&t, v);
    put_warnings(&t, v);
    if (f->n) {
        axp__out_char(o, '\n');
        axp__text_findings(&t, f, axp__shown_findings(f, options));
    }
    axp__text_open(&t, v);
    axp__text_path(&t, v);
    bool has_ops = axp__is_marked(v);
    if (!has_ops) axp__text_functions(&t, v);
    if (has_ops || !v->n_functions || v->n_ops) axp__text_ops(&t, v);
    axp__text_roof(&t, v, f->roofs);
    if (options->has_shapes) axp__text_shapes(&t, v, f->roofs);
    if (has_ops) axp__text_functions(&t, v);
    axp__text_tree(&t, v);
    axp__text_heap(&t, v);
    axp__text_memory(&t, v);
    axp__text_steps(&t, v);
    axp__text_processes(&t, v);
    axp__text_threads(&t, v);
    axp__text_waits(&t, v);
    axp__text_tracks(&t, v);
    axp__text_counters(&t, v);
    put_thresholds(&t, f);
    if (!t.has_failed) return AXP_OK;
    return axp__fail(AXP_E_NO_MEMORY, "no memory for a report");
}
