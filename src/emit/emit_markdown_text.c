/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names, sentences and tables of Markdown; see emit_markdown.h. */
#include "emit/emit_markdown.h"

#include <stdlib.h>
#include <string.h>

#include "emit/emit_name.h"

#define MAX_NAME 400 /* columns; longer ones are cut */

static void put_entities(struct axp__out *o, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_word = c >= 0x80 || c == ' ' || (c >= '0' && c <= '9') ||
                       ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (is_word)
            axp__out_char(o, (char)c);
        else
            axp__out_format(o, "&#%u;", c);
    }
}

void axp__md_sentence(struct axp__md *m, const char *text)
{
    char *plain = axp__plain(text);
    if (!plain) m->has_failed = true;
    for (const char *c = plain; c && *c; c++) {
        if (strchr("\\`*_{}[]<>&#|~!$", *c)) axp__out_char(m->o, '\\');
        axp__out_char(m->o, *c);
    }
    free(plain);
}

void axp__md_name(struct axp__md *m, const char *name)
{
    struct axp__fit fit = {name, MAX_NAME, NULL};
    if (!axp__fit_names(&fit, 1)) {
        m->has_failed = true;
    } else if (strpbrk(fit.shown, "`|\\")) {
        axp__out_text(m->o, "<code>");
        put_entities(m->o, fit.shown);
        axp__out_text(m->o, "</code>");
    } else if (*fit.shown) {
        axp__out_char(m->o, '`');
        axp__out_text(m->o, fit.shown);
        axp__out_char(m->o, '`');
    }
    free(fit.shown);
}

void axp__md_cell(struct axp__md *m, const char *text)
{
    size_t len = strlen(text);
    while (len && text[len - 1] == ' ')
        len--;
    axp__out_text(m->o, " | ");
    axp__out_bytes(m->o, text, len);
}

void axp__md_heads(struct axp__md *m, const char *const *heads, size_t n,
                   size_t n_texts)
{
    for (size_t i = 0; i < n; i++)
        axp__out_format(m->o, "| %s ", heads[i]);
    axp__out_text(m->o, "|\n");
    for (size_t i = 0; i < n; i++)
        axp__out_text(m->o, i < n_texts ? "|:--" : "|--:");
    axp__out_text(m->o, "|\n");
}

void axp__md_row_begin(struct axp__md *m, const char *name)
{
    axp__out_text(m->o, "| ");
    axp__md_name(m, name);
}

void axp__md_device(struct axp__md *m, const char *device)
{
    if (!device) return;
    axp__out_text(m->o, " on ");
    axp__md_name(m, device);
}

void axp__md_row_end(struct axp__md *m)
{
    axp__out_text(m->o, " |\n");
}
