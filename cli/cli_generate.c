/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The pages under docs/man and the completion for bash, from the table that
 * --help is made of. */
#include "cli/cli_help.h"

#include <string.h>

#include <axprof/axprof.h>

#include "cli/cli_say.h"

/* ---- man pages ---------------------------------------------------------- */

/* Text as troff takes it: dashes that can be copied, no line that begins with
 * a request. A newline begins a paragraph. */
static void write_troff(const char *text, FILE *to)
{
    for (const char *c = text; *c; c++) {
        if (*c == '-')
            fputs("\\-", to);
        else if (*c == '\\')
            fputs("\\e", to);
        else if (*c == '\n')
            fputs("\n.PP\n", to);
        else if ((*c == '.' || *c == '\'') && (c == text || c[-1] == '\n'))
            fprintf(to, "\\&%c", *c);
        else
            fputc(*c, to);
    }
}

static void write_term(const char *term, const char *text, FILE *to)
{
    fputs(".TP\n.B ", to);
    write_troff(term, to);
    fputc('\n', to);
    write_troff(text, to);
    fputc('\n', to);
}

static void write_man_choices(cli_option_id option, FILE *to)
{
    bool is_first = true;
    for (size_t i = 0; i < cli_n_choices; i++) {
        const cli_choice *c = &cli_choices[i];
        if (!cli_choice_is_shown(i, option)) continue;
        if (is_first) fputs(".RS\n", to);
        is_first = false;
        char text[256];
        snprintf(text, sizeof text, "%s%s%s", c->text,
                 c->ending ? "; the ending " : "", c->ending ? c->ending : "");
        write_term(c->word, text, to);
    }
    if (!is_first) fputs(".RE\n", to);
}

static void write_man_options(cli_verb_id verb, FILE *to)
{
    char term[128];
    fputs(".SH OPTIONS\n", to);
    for (int i = 0; i < N_OPTIONS; i++) {
        if (cli_options[i].verb != verb) continue;
        cli_option_text(&cli_options[i], term, sizeof term);
        write_term(term, cli_options[i].text, to);
        write_man_choices((cli_option_id)i, to);
    }
    write_term("-h, --help", "A short form of this page.", to);
    if (verb == VERB_top) write_term("--version", "The version.", to);
}

static void write_man_verbs(FILE *to)
{
    fputs(".SH VERBS\n", to);
    for (int i = 0; i < N_VERBS; i++)
        if (i != VERB_top)
            write_term(cli_verbs[i].name, cli_verbs[i].summary, to);
}

static void write_man_environment(cli_verb_id verb, FILE *to)
{
    bool is_any = false;
    for (size_t i = 0; i < cli_n_variables; i++) {
        if (cli_variables[i].verb != verb) continue;
        if (!is_any) fputs(".SH ENVIRONMENT\n", to);
        write_term(cli_variables[i].name, cli_variables[i].text, to);
        is_any = true;
    }
}

static void write_man_rest(cli_verb_id verb, FILE *to)
{
    char code[16];
    write_man_environment(verb, to);
    fputs(".SH \"EXIT STATUS\"\n", to);
    for (size_t i = 0; i < cli_n_exits; i++) {
        if (cli_exits[i].verb != verb) continue;
        snprintf(code, sizeof code, "%d", cli_exits[i].code);
        write_term(code, cli_exits[i].text, to);
    }
    fputs(".SH EXAMPLES\n", to);
    for (size_t i = 0; i < cli_n_examples; i++)
        if (cli_examples[i].verb == verb)
            write_term(cli_examples[i].command, cli_examples[i].text, to);
    fputs(".SH \"SEE ALSO\"\n", to);
    const char *comma = "";
    for (int i = 0; i < N_VERBS; i++) {
        if (i == (int)verb) continue;
        fprintf(to, "%s.BR axprof%s%s (1)", comma, i == VERB_top ? "" : "\\-",
                i == VERB_top ? "" : cli_verbs[i].name);
        comma = ",\n";
    }
    fputc('\n', to);
}

void cli_man_write(cli_verb_id verb, FILE *to)
{
    const cli_verb *v = &cli_verbs[verb];
    const char *name = verb == VERB_top ? "" : v->name;
    const char *dash = verb == VERB_top ? "" : "\\-";

    fputs(".\\\" Made by \"axprof generate\" from cli/cli_table.def.\n", to);
    fprintf(to, ".TH \"AXPROF%s%s\" 1 \"\" \"axprof %s\"\n", dash, name,
            AXP_VERSION);
    fprintf(to, ".SH NAME\naxprof%s%s \\- ", dash, name);
    write_troff(v->summary, to);
    fprintf(to, "\n.SH SYNOPSIS\n.B axprof%s%s\n", *name ? " " : "", name);
    if (*name) fputs("[options] ", to);
    write_troff(v->arguments, to);
    fputs("\n.SH DESCRIPTION\n", to);
    write_troff(v->text, to);
    fputc('\n', to);
    if (verb == VERB_top) write_man_verbs(to);
    write_man_options(verb, to);
    write_man_rest(verb, to);
}

/* ---- completion --------------------------------------------------------- */

/* One line of the script's case: what may follow the option. */
static void write_value_case(cli_option_id id, FILE *to)
{
    const cli_option *o = &cli_options[id];
    bool is_first = true;
    if (!o->argument) return;
    fprintf(to, "    %s:--%s", cli_verbs[o->verb].name, o->word);
    if (o->letter) fprintf(to, " | %s:-%c", cli_verbs[o->verb].name, o->letter);
    fputs(")\n        ", to);
    if (!strcmp(o->argument, "FILE"))
        fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", to);
    else if (!strcmp(o->argument, "DIR"))
        fputs("COMPREPLY=($(compgen -d -- \"$cur\"))", to);
    else {
        fputs("COMPREPLY=($(compgen -W \"", to);
        for (size_t i = 0; i < cli_n_choices; i++) {
            if (!cli_choice_is_shown(i, id)) continue;
            fprintf(to, "%s%s", is_first ? "" : " ", cli_choices[i].word);
            is_first = false;
        }
        fputs("\" -- \"$cur\"))", to);
    }
    fputs("\n        return ;;\n", to);
}

static void write_words_case(cli_verb_id verb, FILE *to)
{
    fprintf(to, "    %s) words=\"--help", cli_verbs[verb].name);
    for (int i = 0; i < N_OPTIONS; i++)
        if (cli_options[i].verb == verb)
            fprintf(to, " --%s", cli_options[i].word);
    fputs("\" ;;\n", to);
}

void cli_completion_write(FILE *to)
{
    fputs("# SPDX-License-Identifier: MIT OR Apache-2.0\n"
          "# bash completion for axprof; made by \"axprof generate\" from "
          "cli/cli_table.def.\n"
          "_axprof()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} "
          "prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local verb=${COMP_WORDS[1]} words\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W \"--help --version",
          to);
    for (int i = 0; i < N_VERBS; i++)
        if (i != VERB_top) fprintf(to, " %s", cli_verbs[i].name);
    fputs("\" -- \"$cur\"))\n        return\n    fi\n"
          "    case $verb:$prev in\n",
          to);
    for (int i = 0; i < N_OPTIONS; i++)
        write_value_case((cli_option_id)i, to);
    fputs("    esac\n    case $verb in\n", to);
    for (int i = 0; i < N_VERBS; i++)
        if (i != VERB_top) write_words_case((cli_verb_id)i, to);
    fputs("    esac\n"
          "    if [[ $cur == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "    elif [[ $verb == run ]]; then\n"
          "        COMPREPLY=($(compgen -c -- \"$cur\") "
          "$(compgen -f -- \"$cur\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
          "    fi\n}\n"
          "complete -o filenames -F _axprof axprof\n",
          to);
}

int cli_generate_main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "completion")) {
        cli_completion_write(stdout);
        return CLI_OK;
    }
    for (int i = 0; argc == 3 && !strcmp(argv[1], "man") && i < N_VERBS; i++) {
        if (strcmp(argv[2], cli_verbs[i].name) != 0) continue;
        cli_man_write((cli_verb_id)i, stdout);
        return CLI_OK;
    }
    if (argc == 2 && !strcmp(argv[1], "verbs")) {
        for (int i = 0; i < N_VERBS; i++)
            puts(cli_verbs[i].name);
        return CLI_OK;
    }
    return cli_wrong("generate what? \"man VERB\", \"completion\" or "
                     "\"verbs\"");
}
