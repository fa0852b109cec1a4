/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The words after a verb, sorted into options and the rest.
 *
 *   --word VALUE  --word=VALUE  -x VALUE  -xVALUE  -abc (switches)  --
 *
 * Options may stand after other arguments, except for verbs whose rest is
 * another command: there the first argument ends them. Words must be given in
 * full; an unknown one is answered with the nearest.
 *
 * Ownership  values point into argv; cli_args_fini frees the lists.
 * Failure    a message is printed, CLI_USAGE returned.
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H
#include <stdint.h>

#include "cli/cli_table.h"

typedef struct cli_given {
    cli_option_id option;
    const char *value; /* "" for a switch */
} cli_given;

typedef struct cli_args {
    cli_verb_id verb;
    cli_given *given;
    size_t n_given;
    char **rest; /* ends with NULL, as argv does */
    size_t n_rest;
    bool is_help; /* --help was among them: nothing else was checked */
} cli_args;

/* argv[0] is the verb. */
int cli_args_init(cli_args *args, cli_verb_id verb, int argc, char **argv);
void cli_args_fini(cli_args *args);

/* The last value given, or NULL. */
const char *cli_args_value(const cli_args *args, cli_option_id option);
bool cli_args_has(const cli_args *args, cli_option_id option);
/* How many times it was given; the values into out, as many as fit. */
size_t cli_args_values(const cli_args *args, cli_option_id option,
                       const char **out, size_t cap);
/* The value of the choice given, else `other`. */
int cli_args_choice(const cli_args *args, cli_option_id option, int other);
/* A whole number from min to max into *out, which stays as it is when the
 * option was not given. */
int cli_args_number(const cli_args *args, cli_option_id option, uint64_t min,
                    uint64_t max, uint64_t *out);
/* The same for "30s", "1.5m", "200ms": nanoseconds; a bare number: seconds. */
int cli_args_time(const cli_args *args, cli_option_id option, uint64_t *ns);

#endif
