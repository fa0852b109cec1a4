/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cli_table.def as C: enums to name its rows by, arrays to walk them.
 *
 * Place      below the parser, the help and the generated pages.
 * Ownership  everything is static and never changes.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H
#include <stdbool.h>
#include <stddef.h>

typedef enum cli_verb_id {
#define VERB(id, arguments, summary, text) VERB_##id,
#include "cli/cli_table.def"
    N_VERBS
} cli_verb_id;

typedef enum cli_option_id {
#define OPTION(verb, id, letter, word, argument, text) OPT_##verb##_##id,
#include "cli/cli_table.def"
    N_OPTIONS
} cli_option_id;

/* Values of choices that are the command's own. */
enum { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

typedef struct cli_verb {
    const char *name, *arguments, *summary, *text;
} cli_verb;
typedef struct cli_option {
    cli_verb_id verb;
    char letter; /* 0: none */
    const char *word;
    const char *argument; /* NULL: a switch */
    const char *text;
} cli_option;
typedef struct cli_choice {
    cli_option_id option;
    const char *word;
    int value;
    const char *ending; /* NULL: none */
    const char *text;   /* NULL: not shown */
} cli_choice;
typedef struct cli_example {
    cli_verb_id verb;
    const char *command, *text;
} cli_example;
typedef struct cli_exit {
    cli_verb_id verb;
    int code;
    const char *text;
} cli_exit;
typedef struct cli_variable {
    cli_verb_id verb;
    const char *name, *text;
} cli_variable;

extern const cli_verb cli_verbs[N_VERBS];
extern const cli_option cli_options[N_OPTIONS];
extern const cli_choice cli_choices[];
extern const size_t cli_n_choices;
extern const cli_example cli_examples[];
extern const size_t cli_n_examples;
extern const cli_exit cli_exits[];
extern const size_t cli_n_exits;
extern const cli_variable cli_variables[];
extern const size_t cli_n_variables;

/* Whether the ith choice belongs to the option, and help lists it. */
bool cli_choice_is_shown(size_t i, cli_option_id option);
/* NULL: no such choice. */
const cli_choice *cli_choice_find(cli_option_id option, const char *word);
/* The choice whose ending is the longest that the path ends with; or NULL. */
const cli_choice *cli_choice_by_ending(cli_option_id option, const char *path);

#endif
