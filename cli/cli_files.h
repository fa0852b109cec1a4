/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The file of one run: where it goes, and its parts while the program runs
 * (cli_parts.h).
 *
 * The stem (train-4711) is chosen when the pid is known, and so that neither a
 * file nor a folder of that name is there yet. One that --output names is
 * refused then: whoever makes the folder of its parts has it.
 *
 * Ownership  cli_files_fini frees, and removes what is not to be kept.
 * Failure    a folder that cannot be written to is replaced by a temporary
 *            one, which is not kept; `why_not_kept` says so. Where there is no
 *            temporary one either, nothing is recorded in the program.
 */
#ifndef CLI_FILES_H
#define CLI_FILES_H
#include <sys/types.h>

#include "cli/cli_args.h"
#include "cli/cli_parts.h"

typedef struct cli_files {
    char *folder;             /* absolute; NULL: there is no place */
    char *stem;               /* NULL until the pid is known */
    char *name;               /* of the program */
    const char *output;       /* as --output says it; NULL: not given */
    char *exact;              /* the stem that it asked for, or NULL */
    bool is_temporary;        /* nothing is kept */
    const char *why_not_kept; /* NULL: kept, or not asked to be */
    pid_t pid;                /* of the program */
    char *path;               /* of the recording, and its parts' folder; */
    char *parts;              /* NULL: nothing is recorded */
    int lock;                 /* on that */
    cli_parts now;            /* after list or join: what is to be read */
} cli_files;

/* --output and --no-file decide. */
int cli_files_init(cli_files *files, const cli_args *args, const char *name);
void cli_files_fini(cli_files *files);
/* Refuses, and says so, where --output names a file and another run was quicker. */
int cli_files_begin(cli_files *files, pid_t pid);
/* Both: NULL, nothing is recorded; else caller frees. For AXPROF_OUT, with %p
 * for the pid; for the parent. */
char *cli_files_pattern(const cli_files *files);
char *cli_files_sampled(const cli_files *f);
char *cli_files_ring(const cli_files *f);
char *cli_files_own(const cli_files *files);
/* Where processes are counted (AXPROF_COUNT), made; NULL: nowhere. */
char *cli_files_count(const cli_files *files);
/* Fills `now` with the parts that there are. */
void cli_files_list(cli_files *files);
/* After the run: makes one file of those parts that have ended, and fills `now`
 * with it and the others. False: it could not be made, and all parts stay;
 * axp_last_error says why. */
bool cli_files_join(cli_files *files,
                    bool (*has_ended)(void *ctx, const char *part), void *ctx);

#endif
