/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What `doctor` says about a program: whether something can be loaded into it,
 * whether its functions have names and lines, whether its stack can be
 * walked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_doctor.h"
#include "cli/cli_say.h"
#include "cli/cli_target.h"

static void check_kind(const cli_target *t)
{
    const cli_elf *elf = &t->elf;
    if (strcmp(t->binary, t->path) != 0)
        cli_doctor_ok("program", "%s is a script for %s", t->path, t->binary);
    if (t->why_not)
        cli_doctor_better("program", t->why_not,
                          "%s: nothing can be loaded "
                          "into it",
                          t->binary);
    else
        cli_doctor_ok("program", "%s: %s, dynamic; adapters fit", t->binary,
                      cli_elf_machine(elf->machine));
    if (elf->needs_rt)
        cli_doctor_ok("recording", "it links libaxprof_rt and records by "
                                   "itself");
    else if (elf->has_hooks)
        cli_doctor_ok("recording", "it is built with -finstrument-functions: "
                                   "its functions are recorded");
    else
        cli_doctor_better("recording",
                          "build with -finstrument-functions, or mark what "
                          "matters with AXP_SCOPE",
                          "nothing in it records what it does: its functions "
                          "are sampled");
}

/* Where distributions put debug information that was taken out. */
static bool has_debug_file(const char *build_id)
{
    if (strlen(build_id) < 4) return false;
    char *path = cli_format("/usr/lib/debug/.build-id/%.2s/%s.debug", build_id,
                            build_id + 2);
    bool is_there = access(path, R_OK) == 0;
    free(path);
    return is_there;
}

static void check_symbols(const cli_elf *elf)
{
    if (elf->has_debug)
        cli_doctor_ok("debug info", "there: functions, files and lines");
    else if (has_debug_file(elf->build_id))
        cli_doctor_ok("debug info", "in /usr/lib/debug, by its build id");
    else if (elf->has_symbols)
        cli_doctor_better("debug info", "build with -g",
                          "functions have names, but no files and lines");
    else
        cli_doctor_better("debug info",
                          "build with -g and do not strip, or install the "
                          "package with its debug symbols",
                          "stripped: only exported functions have names");
}

/* Small functions may do without a frame: most of the others have one, or the
 * program was built to have none. */
static void check_frames(const cli_elf *elf)
{
    unsigned percent =
        elf->n_functions ? 100 * elf->n_with_frame / elf->n_functions : 0;
    if (!elf->n_functions)
        cli_doctor_better("frame pointers", "do not strip it",
                          "cannot be told: no functions with a size");
    else if (percent >= 50)
        cli_doctor_ok("frame pointers", "%u %% of %u functions make a frame",
                      percent, elf->n_functions);
    else
        cli_doctor_ok(
            "frame pointers",
            "%u %% of %u functions make a frame: stacks are walked by "
            "the tables for exceptions",
            percent, elf->n_functions);
}

int cli_doctor_program(char *const *argv)
{
    cli_target target;
    int rc = cli_target_find(&target, argv);
    if (rc != CLI_OK) return CLI_FAILED;
    cli_elf_read(target.binary, true, &target.elf);
    check_kind(&target);
    if (cli_elf_is_native(&target.elf)) {
        check_symbols(&target.elf);
        check_frames(&target.elf);
    }
    cli_target_fini(&target);
    return CLI_OK;
}
