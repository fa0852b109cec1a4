/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was meant by a word; see cli_meant.h. */
#include "cli/cli_meant.h"

#include <string.h>

#include "cli/cli_say.h"

/* By its word, or the ending of a file's name that says the same. */
static bool is_called(const cli_choice *c, const char *word)
{
    return !strcmp(c->word, word) ||
           (c->ending && !strcmp(c->ending + 1, word));
}

/* The option and its value. A page in the terminal is what nobody wants: where a
 * report follows a run it goes into a file, whose ending says its format. */
static char *spell(const cli_choice *c)
{
    const cli_option *o = &cli_options[c->option];
    if (c->option == OPT_run_format)
        return cli_format("--%s report%s", cli_options[OPT_run_report].word,
                          c->ending);
    return o->letter ? cli_format("-%c %s", o->letter, c->word)
                     : cli_format("--%s %s", o->word, c->word);
}

/* Whether report and export have anything to do with it. */
static bool has_recordings(cli_verb_id verb)
{
    const char *arguments = cli_verbs[verb].arguments;
    return strstr(arguments, "FILE") || strstr(arguments, "COMMAND");
}

/* What another verb makes of a recording. */
static char *spell_format(cli_verb_id not_by, const char *word)
{
    static const cli_option_id formats[] = {OPT_report_format,
                                            OPT_export_format};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const cli_option *o = &cli_options[formats[i]];
        for (size_t k = 0; o->verb != not_by && k < cli_n_choices; k++)
            if (cli_choices[k].option == formats[i] &&
                is_called(&cli_choices[k], word))
                return cli_format("axprof %s -%c %s", cli_verbs[o->verb].name,
                                  o->letter, cli_choices[k].word);
    }
    return NULL;
}

char *cli_meant_by_option(cli_verb_id verb, const char *word)
{
    if (!strcmp(word, "version")) return cli_format("axprof --version");
    for (size_t i = 0; i < cli_n_choices; i++)
        if (cli_options[cli_choices[i].option].verb == verb &&
            is_called(&cli_choices[i], word))
            return spell(&cli_choices[i]);
    return has_recordings(verb) ? spell_format(verb, word) : NULL;
}

char *cli_meant_by_choice(cli_option_id option, const char *word)
{
    return strcmp(cli_options[option].word, "format") != 0
               ? NULL
               : spell_format(cli_options[option].verb, word);
}
