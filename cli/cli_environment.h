/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program finds in its environment when it is run here: its own, and what
 * adapters and recorder need to know. */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H
#include "cli/cli_run.h"

/* For cli_launch_exec; cli_launch_free frees it. */
char **cli_environment_make(const cli_run *r);

#endif
