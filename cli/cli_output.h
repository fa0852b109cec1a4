/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a verb writes: standard output, or a file that appears when complete.
 *
 *   cli_output out;
 *   if (cli_output_open(&out, path, "-o") != CLI_OK) return CLI_FAILED;
 *   … write to out.to …
 *   return cli_output_close(&out, status);
 *
 * A file is written under a temporary name beside it and renamed at the end:
 * an error, Ctrl-C or a full disk leaves what was there before and no half
 * file. Through a symbolic link the file it points to is replaced, not the
 * link; a device or a pipe is written to directly.
 *
 * Threads    one output at a time: a handler of signals knows its temporary.
 * Failure    a message that says what to do, CLI_FAILED.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H
#include <stdbool.h>
#include <stdio.h>

#include <axprof/axprof.h>

typedef struct cli_output {
    FILE *to;
    char *path; /* as renamed; NULL: nothing to rename */
    char *temporary;
    const char *shown, *option; /* for messages */
} cli_output;

/* path NULL or "-": standard output. option: which names it, as it is typed. */
int cli_output_open(cli_output *out, const char *path, const char *option);
/* What can be known before there is anything to write; nothing is made. */
int cli_output_check(const char *path, const char *option);
/* status: of the call that wrote, whose errno still is the reason where writing
 * failed. Unless it is AXP_OK the reason is said and what was written is thrown
 * away. Returns CLI_OK only if all of it arrived. */
int cli_output_close(cli_output *out, axp_status status);

#endif
