/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What --help prints, for the command and for a verb. */
#include "cli/cli_help.h"

#include <string.h>

enum { WIDTH = 79, TEXT_COLUMN = 26 };

void cli_help_wrap(const char *text, int indent, int at, FILE *to)
{
    bool is_first = true;
    while (*text) {
        size_t len = strcspn(text, " \n");
        if (!is_first && at + 1 + (int)len > WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
        } else if (!is_first && len) {
            fputc(' ', to);
            at++;
        }
        fwrite(text, 1, len, to);
        at += (int)len;
        is_first = false;
        text += len;
        if (*text == '\n') {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
            is_first = true;
        }
        if (*text) text++;
    }
    fputc('\n', to);
}

void cli_option_text(const cli_option *o, char *buf, size_t size)
{
    const char *argument = o->argument ? o->argument : "";
    const char *space = o->argument ? " " : "";
    if (o->letter)
        snprintf(buf, size, "-%c, --%s%s%s", o->letter, o->word, space,
                 argument);
    else
        snprintf(buf, size, "--%s%s%s", o->word, space, argument);
}

/* A term in its column and its text beside it, or below if it is long. */
static void write_row(const char *term, const char *text, FILE *to)
{
    int len = (int)strlen(term);
    fprintf(to, "  %s", term);
    if (len + 4 > TEXT_COLUMN)
        fprintf(to, "\n%*s", TEXT_COLUMN, "");
    else
        fprintf(to, "%*s", TEXT_COLUMN - 2 - len, "");
    cli_help_wrap(text, TEXT_COLUMN, TEXT_COLUMN, to);
}

static void write_choices(cli_option_id option, FILE *to)
{
    const cli_option *o = &cli_options[option];
    bool is_first = true;
    for (size_t i = 0; i < cli_n_choices; i++) {
        if (!cli_choice_is_shown(i, option)) continue;
        if (is_first) fprintf(to, "\n%s:\n", o->argument);
        is_first = false;
        char text[256];
        const char *ending = cli_choices[i].ending;
        snprintf(text, sizeof text, "%s%s%s%s", cli_choices[i].text,
                 ending ? " (" : "", ending ? ending : "", ending ? ")" : "");
        write_row(cli_choices[i].word, text, to);
    }
}

static void write_options(cli_verb_id verb, FILE *to)
{
    char term[128];
    fputs("\nOptions:\n", to);
    for (int i = 0; i < N_OPTIONS; i++) {
        if (cli_options[i].verb != verb) continue;
        cli_option_text(&cli_options[i], term, sizeof term);
        write_row(term, cli_options[i].text, to);
    }
    write_row("-h, --help", "this text", to);
    if (verb == VERB_top) write_row("--version", "which version this is", to);
    for (int i = 0; i < N_OPTIONS; i++)
        if (cli_options[i].verb == verb) write_choices((cli_option_id)i, to);
}

static void write_rest(cli_verb_id verb, FILE *to)
{
    fputs("\nExamples:\n", to);
    for (size_t i = 0; i < cli_n_examples; i++) {
        if (cli_examples[i].verb != verb) continue;
        fprintf(to, "  %s\n      ", cli_examples[i].command);
        cli_help_wrap(cli_examples[i].text, 6, 6, to);
    }
    fputs("\nExit status:\n", to);
    for (size_t i = 0; i < cli_n_exits; i++) {
        if (cli_exits[i].verb != verb) continue;
        fprintf(to, "  %-4d", cli_exits[i].code);
        cli_help_wrap(cli_exits[i].text, 6, 6, to);
    }
}

void cli_help_write(cli_verb_id verb, FILE *to)
{
    const cli_verb *v = &cli_verbs[verb];
    if (verb == VERB_top)
        fprintf(to, "axprof: %s\n\nUsage: axprof %s\n\n", v->summary,
                v->arguments);
    else
        fprintf(to, "axprof %s: %s\n\nUsage: axprof %s [options] %s\n\n",
                v->name, v->summary, v->name, v->arguments);
    cli_help_wrap(v->text, 0, 0, to);
    if (verb == VERB_top) {
        fputs("\nVerbs:\n", to);
        for (int i = 0; i < N_VERBS; i++)
            if (i != VERB_top)
                write_row(cli_verbs[i].name, cli_verbs[i].summary, to);
    }
    write_options(verb, to);
    write_rest(verb, to);
}
