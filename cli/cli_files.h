/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The files of one run: where they go, and which they were.
 *
 *   train-4711.4711.axp   while the program runs: one a process that records,
 *   train-4711.4720.axp   by the pid of the program and then its own
 *   train-4711.run.axp    what the parent saw in /proc
 *   train-4711.axp        afterwards: the program's own; without one, /proc's
 *
 * The stem (train-4711) is chosen when the pid is known, and so that no file
 * begins with it yet: what begins with it afterwards is the run's.
 *
 * Ownership  cli_files_fini frees, and removes what is not to be kept.
 * Failure    a folder that cannot be written to is replaced by a temporary
 *            one, which is not kept; `why_not_kept` says so.
 */
#ifndef CLI_FILES_H
#define CLI_FILES_H
#include <sys/types.h>

#include "cli/cli_args.h"
#include "cli/cli_temporary.h"

typedef struct cli_files {
    char *folder;             /* absolute */
    char *stem;               /* NULL until the pid is known */
    char *name;               /* of the program */
    char *exact;              /* the stem that --output asked for, or NULL */
    cli_temporary temporary;  /* the folder, where nothing is kept */
    const char *why_not_kept; /* NULL: kept, or not asked to be */
    char **paths;             /* after list or collect, sorted */
    size_t n_paths;
} cli_files;

/* --output and --no-file decide. */
int cli_files_init(cli_files *files, const cli_args *args, const char *name);
void cli_files_fini(cli_files *files);
void cli_files_begin(cli_files *files, pid_t pid);
/* Both: caller frees. For AXPROF_OUT, with %p for the pid; for the parent. */
char *cli_files_pattern(const cli_files *files);
char *cli_files_own(const cli_files *files);
/* Fills paths with what there is now. */
void cli_files_list(cli_files *files);
/* After the run: gives the program's file its short name, fills paths. */
void cli_files_collect(cli_files *files, pid_t pid);
/* Bytes of all of them now. */
uint64_t cli_files_size(const cli_files *files);

#endif
