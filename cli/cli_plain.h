/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text for where UTF-8 is not understood (LC_ALL=C): what reports draw with is
 * replaced by what is nearest to it in ASCII, other characters by "?". */
#ifndef CLI_PLAIN_H
#define CLI_PLAIN_H
#include <stdbool.h>
#include <stdio.h>

/* By the environment: LC_ALL, LC_CTYPE, LANG. */
bool cli_plain_is_wanted(void);
/* A stream that writes into `to`; closing it leaves that open. NULL: none. */
FILE *cli_plain_open(FILE *to);

#endif
