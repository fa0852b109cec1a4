/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Help, man pages and completion, all from cli_table.def.
 *
 * The pages under docs/man and the completion are what `axprof generate`
 * prints; a test compares them.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H
#include <stdio.h>

#include "cli/cli_args.h"

void cli_help_write(cli_verb_id verb, FILE *to);
/* Text in lines of at most `width` columns; all but the first line begin with
 * `indent` spaces; `at` is the column the first one begins in. */
void cli_help_wrap(const char *text, int indent, int at, FILE *to);

void cli_man_write(cli_verb_id verb, FILE *to);
void cli_completion_write(FILE *to);
/* The hidden verb: man VERB, or completion. */
int cli_generate_main(int argc, char **argv);

/* "-o FILE, --output FILE" into buf. */
void cli_option_text(const cli_option *option, char *buf, size_t size);

#endif
