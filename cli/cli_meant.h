/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was meant by a word that is no option, or no choice of one, though it is
 * spelled well: --json instead of -f json, a format that another verb writes.
 *
 * Place      behind the parser's messages. Misspelled words: cli_nearest.
 * Ownership  what is returned is the caller's; NULL: nobody knows.
 */
#ifndef CLI_MEANT_H
#define CLI_MEANT_H
#include "cli/cli_table.h"

char *cli_meant_by_option(cli_verb_id verb, const char *word);
char *cli_meant_by_choice(cli_option_id option, const char *word);

#endif
