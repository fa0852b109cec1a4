/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The arrays of cli_table.def, and the two ways to find a choice. */
#include "cli/cli_table.h"

#include <string.h>
#include <strings.h>

#include <axprof/axprof_read.h>

const cli_verb cli_verbs[N_VERBS] = {
#define VERB(id, arguments, summary, text) {#id, arguments, summary, text},
#include "cli/cli_table.def"
};

const cli_option cli_options[N_OPTIONS] = {
#define OPTION(verb, id, letter, word, argument, text)                         \
    {VERB_##verb, letter, word, argument, text},
#include "cli/cli_table.def"
};

const cli_choice cli_choices[] = {
#define CHOICE(verb, option, word, value, ending, text)                        \
    {OPT_##verb##_##option, word, value, ending, text},
#include "cli/cli_table.def"
};
const size_t cli_n_choices = sizeof cli_choices / sizeof *cli_choices;

const cli_example cli_examples[] = {
#define EXAMPLE(verb, command, text) {VERB_##verb, command, text},
#include "cli/cli_table.def"
};
const size_t cli_n_examples = sizeof cli_examples / sizeof *cli_examples;

const cli_exit cli_exits[] = {
#define STATUS(verb, code, text) {VERB_##verb, code, text},
#include "cli/cli_table.def"
};
const size_t cli_n_exits = sizeof cli_exits / sizeof *cli_exits;

const cli_variable cli_variables[] = {
#define VARIABLE(verb, name, text) {VERB_##verb, name, text},
#include "cli/cli_table.def"
};
const size_t cli_n_variables = sizeof cli_variables / sizeof *cli_variables;

bool cli_choice_is_shown(size_t i, cli_option_id option)
{
    return cli_choices[i].option == option && cli_choices[i].text;
}

const cli_choice *cli_choice_find(cli_option_id option, const char *word)
{
    for (size_t i = 0; i < cli_n_choices; i++)
        if (cli_choices[i].option == option &&
            !strcmp(cli_choices[i].word, word))
            return &cli_choices[i];
    return NULL;
}

const cli_choice *cli_choice_by_ending(cli_option_id option, const char *path)
{
    const cli_choice *best = NULL;
    size_t best_len = 0, path_len = strlen(path);
    for (size_t i = 0; i < cli_n_choices; i++) {
        const cli_choice *c = &cli_choices[i];
        size_t len = c->ending ? strlen(c->ending) : 0;
        if (c->option != option || len <= best_len || len >= path_len) continue;
        if (strcasecmp(path + path_len - len, c->ending) != 0) continue;
        best = c;
        best_len = len;
    }
    return best;
}
