/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The measured machine of the user's cache: $XDG_CACHE_HOME/axprof, or
 * ~/.cache/axprof, by processor and number of threads.
 *
 * Failure    without a folder that can be written nothing is kept, and that is
 *            no error; what is in a file that is no machine is not believed.
 */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H
#include <stdbool.h>

#include <axprof/axprof_machine.h>

/* Where it is kept, "": nowhere; caller frees. */
char *cli_machine_path(void);
/* NULL: there is none of this machine. */
axp_machine *cli_machine_cached(void);
/* False: it could not be kept. */
bool cli_machine_keep(const axp_machine *m);

/* What `run` does at its end: the one that is kept, or else a short
 * measurement, which is kept and said. NULL: neither. */
axp_machine *cli_machine_for_run(bool is_quiet);

#endif
