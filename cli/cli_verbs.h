/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One function a verb, each in its own file; cli_main.c calls them. They
 * return the exit status. */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H
#include "cli/cli_args.h"

#define VERB(id, arguments, summary, text)                                     \
    int cli_##id##_main(const cli_args *args);
#include "cli/cli_table.def"

#endif
