/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Findings as text; see emit_text.h. */
#include <stdlib.h>

#include "emit/emit_name.h"
#include "emit/emit_text.h"
#include "emit/emit_words.h"
#include "record/record_thread.h"

static const char *color_of(axp_severity severity)
{
    static const char *const colors[] = {AXP__CYAN, AXP__YELLOW, AXP__RED,
                                         AXP__RED};
    return colors[severity];
}

/* "at most 2.310 s (56.1 %)"; "": not estimable */
static void format_saving(const axp_finding *f, char *out, size_t size)
{
    char time[32], share[32];
    *out = 0;
    if (!f->saving_ns) return;
    snprintf(out, size, "%s %s (%s %%)",
             f->saving_is_bound ? "at most" : "saves",
             axp_format_ns(time, sizeof time, f->saving_ns),
             axp__fixed(share, sizeof share, 100 * f->saving_share, 1));
}

static void put_upper(struct axp__text *t, const char *word)
{
    for (; *word; word++)
        axp__out_char(t->o, (char)(*word - 'a' + 'A'));
}

#define LEAST_NAME 16

/* 1. [HIGH] SlowOperation: name                    at most 2.310 s (56.1 %)
 * The room of the name. Where it has too little, the saving goes to a line of
 * its own. */
static size_t room_for_name(const struct axp__text *t, const axp_finding *f,
                            size_t number, bool *has_saving)
{
    char mark[32], saving[96];
    format_saving(f, saving, sizeof saving);
    snprintf(mark, sizeof mark, "%zu. [] : ", number);
    size_t taken = strlen(mark) + strlen(axp__word_severity(f->severity)) +
                   strlen(f->type_name);
    size_t more = *saving ? strlen(saving) + 2 : 0;
    *has_saving = more && taken + more + LEAST_NAME <= t->width;
    if (*has_saving) taken += more;
    return taken < t->width ? t->width - taken : 1;
}

static void put_head(struct axp__text *t, const axp_finding *f, size_t number,
                     const struct axp__fit *name)
{
    char saving[96];
    bool is_beside;
    size_t room = room_for_name(t, f, number, &is_beside);
    format_saving(f, saving, sizeof saving);
    axp__out_format(t->o, "%zu. ", number);
    axp__text_style(t, color_of(f->severity));
    axp__out_char(t->o, '[');
    put_upper(t, axp__word_severity(f->severity));
    axp__out_char(t->o, ']');
    axp__text_style(t, NULL);
    axp__out_format(t->o, " %s: ", f->type_name);
    axp__text_style(t, AXP__BOLD);
    axp__out_text(t->o, name->shown);
    axp__text_style(t, NULL);
    if (is_beside) {
        axp__text_spaces(t, 2 + room - axp__columns(name->shown));
        axp__out_text(t->o, saving);
    }
    axp__out_char(t->o, '\n');
    if (*saving && !is_beside) axp__text_wrap(t, "   ", saving);
}

/* "at train.c:120"; of a path that is too long for a line the end. */
static void put_place(struct axp__text *t, const axp_finding *f)
{
    char place[AXP__SHORT_PLACE_BYTES];
    if (!axp__short_place(place, f->file, f->line, t->width - 6)) return;
    axp__out_text(t->o, "   at ");
    axp__text_wrap(t, "", place);
}

static bool name_all(const struct axp__text *t, const axp_findings *f,
                     struct axp__fit *names, size_t shown)
{
    for (size_t i = 0; i < shown; i++) {
        bool is_beside;
        names[i].name = axp__name_on(f->all[i].name, f->all[i].device);
        names[i].columns = room_for_name(t, &f->all[i], i + 1, &is_beside);
        if (!names[i].name) return false;
    }
    return axp__fit_names(names, shown);
}

static void put_all(struct axp__text *t, const axp_findings *f, size_t shown)
{
    struct axp__fit *names = calloc(shown + 1, sizeof *names);
    bool ok = names && name_all(t, f, names, shown);
    for (size_t i = 0; ok && i < shown; i++) {
        axp__out_char(t->o, '\n');
        put_head(t, &f->all[i], i + 1, &names[i]);
        put_place(t, &f->all[i]);
        axp__text_wrap(t, "   ", f->all[i].description);
        axp__text_wrap(t, "   → ", f->all[i].suggestion);
    }
    for (size_t i = 0; names && i < shown; i++) {
        free((char *)names[i].name);
        free(names[i].shown);
    }
    free(names);
    if (!ok) t->has_failed = true;
}

void axp__text_findings(struct axp__text *t, const axp_findings *f,
                        size_t shown)
{
    if (!f->n) {
        axp__text_wrap(t, "", f->verdict);
        return;
    }
    axp__text_say(t, "Found %zu bottleneck%s%s:", f->n, f->n == 1 ? "" : "s",
                  f->n == 1 ? "" : ", the most severe first");
    put_all(t, f, shown < f->n ? shown : f->n);
    if (shown < f->n) {
        axp__out_char(t->o, '\n');
        axp__text_say(t, "and %zu more", f->n - shown);
    }
}

static axp_status emit_findings(struct axp__out *o, void *ctx)
{
    struct axp__text t = {.o = o, .width = 80};
    const axp_findings *f = ctx;
    axp__text_findings(&t, f, AXP__SHOWN_FINDINGS);
    if (!t.has_failed) return AXP_OK;
    return axp__fail(AXP_E_NO_MEMORY, "no memory for the findings");
}

axp_status axp_findings_write(const axp_findings *f, FILE *to)
{
    if (!f || !to)
        return axp__fail(AXP_E_INVALID,
                         "axp_findings_write needs findings and a file");
    return axp__out_to_file(to, emit_findings, (void *)f);
}
