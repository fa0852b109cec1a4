/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which allocations of a program are in no figure, where some must be missing. */
#ifndef CLI_MALLOC_H
#define CLI_MALLOC_H
#include "cli/cli_args.h"
#include "cli/cli_target.h"

/* One line, or none: where the adapter is off, or nothing tells of an allocator
 * that is hidden in the program. */
void cli_malloc_say(const cli_args *args, const cli_target *target);

#endif
