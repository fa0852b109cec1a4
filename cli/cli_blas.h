/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Why no call of BLAS was seen, where there must have been some. */
#ifndef CLI_BLAS_H
#define CLI_BLAS_H
#include <axprof/axprof_read.h>

#include "cli/cli_args.h"
#include "cli/cli_target.h"

/* One line, or none: where the adapter is off, calls were seen, or nothing tells
 * of a BLAS. */
void cli_blas_say(const cli_args *args, const cli_target *target,
                  const axp_view *view);

#endif
