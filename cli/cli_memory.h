/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How the memory of a run is followed: --memory. */
#ifndef CLI_MEMORY_H
#define CLI_MEMORY_H
#include <stdint.h>

#include "cli/cli_args.h"

/* *bytes: the mean distance of two blocks that are looked at; 0: all are. A
 * status of the command; what is wrong was said. */
int cli_memory_read(const cli_args *args, uint64_t *bytes);

#endif
