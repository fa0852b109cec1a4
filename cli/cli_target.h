/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program that `run` starts: found as a shell finds it, and asked whether
 * an adapter can be loaded into it.
 *
 * Input      a word and PATH; files that may be anything.
 * Ownership  cli_target_fini frees what find allocated.
 * Failure    a message and the exit status a shell would give: 127 where
 *            there is no such program, 126 where it cannot be executed.
 */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H
#include "cli/cli_elf.h"

typedef struct cli_target {
    char *path;   /* what is executed */
    char *name;   /* what its recording is called: "train" */
    char *binary; /* what the kernel loads: path, or the interpreter of it */
    cli_elf elf;  /* of binary */
    bool is_script_for_sh; /* neither ELF nor #!: a shell hands it to sh */
    /* Why nothing can be loaded into it, as a sentence; NULL: it can. */
    const char *why_not;
    /* Its loader would complain about our libraries, or it would not start:
     * they must not even be in its environment. */
    bool is_preload_harmful;
} cli_target;

int cli_target_find(cli_target *target, char *const *argv);
void cli_target_fini(cli_target *target);

#endif
