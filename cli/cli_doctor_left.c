/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What `doctor` says about what was left by something that was killed: spools
 * of programs, what they belong to, and how they are recovered or removed;
 * folders of runs that were to keep nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <axprof/axprof_file.h>

#include "cli/cli_doctor.h"
#include "cli/cli_parts.h"
#include "cli/cli_say.h"
#include "cli/cli_temporary.h"

enum { MOST_SHOWN = 8 };

struct spools {
    size_t n_used, n_left, n_shown;
    bool is_cleaning;
    int rc;
};

/* A path as it may reach a terminal; caller frees. */
static char *shown(const char *path)
{
    char *text = cli_format("%s", path);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    return text;
}

static void show(const axp_spool_info *s)
{
    char size[32];
    char *whole = cli_parts_recording(s->recording);
    char *recording = shown(whole ? whole : s->recording);
    bool is_there = s->recording[0] && !access(s->recording, F_OK);
    free(whole);
    char *advice =
        is_there ? cli_format("axprof pack '%s' moves it into the recording",
                              recording)
                 : cli_format("axprof doctor --clean removes it");
    axp_format_bytes(size, sizeof size, s->bytes);
    cli_doctor_better("spool", advice,
                      "%s of process %llu, which has ended: %s", size,
                      (unsigned long long)s->process_id,
                      is_there       ? recording
                      : recording[0] ? "its recording is gone"
                                     : s->path);
    free(advice);
    free(recording);
}

static void clean(struct spools *all, const axp_spool_info *s)
{
    char size[32];
    axp_format_bytes(size, sizeof size, s->bytes);
    if (axp_spool_remove(s->path) != AXP_OK) {
        all->rc = cli_fail("%s", axp_last_error());
        return;
    }
    char *recording = shown(s->recording);
    printf("removed %s (%s%s%s)\n", s->path, size, recording[0] ? ", of " : "",
           recording);
    free(recording);
}

static int look(const axp_spool_info *s, void *ctx)
{
    struct spools *all = ctx;
    if (s->is_in_use) {
        all->n_used++;
        return 0;
    }
    all->n_left++;
    if (all->is_cleaning)
        clean(all, s);
    else if (all->n_shown++ < MOST_SHOWN)
        show(s);
    return 0;
}

static void show_folder(const char *path, uint64_t bytes)
{
    char size[32], *text = shown(path);
    axp_format_bytes(size, sizeof size, bytes);
    cli_doctor_better("folder", "axprof doctor --clean removes it",
                      "%s of a run without a file that was killed: %s", size,
                      text);
    free(text);
}

static void say_removed(const char *path, uint64_t bytes)
{
    char size[32], *text = shown(path);
    axp_format_bytes(size, sizeof size, bytes);
    printf("removed %s (%s)\n", text, size);
    free(text);
}

void cli_doctor_left(void)
{
    struct spools all = {0};
    if (axp_spools_list(look, &all) != AXP_OK) return;
    if (all.n_left > MOST_SHOWN)
        cli_doctor_better("spool", "axprof doctor --clean removes them all",
                          "and %zu more", all.n_left - MOST_SHOWN);
    else if (!all.n_left)
        cli_doctor_ok("spools", "none is left behind, %zu in use", all.n_used);
    cli_temporary_left(false, show_folder);
}

static int count(const axp_spool_info *s, void *ctx)
{
    size_t *n = ctx;
    *n += !s->is_in_use;
    return 0;
}

/* True where nobody can be asked. */
static bool may_remove(size_t n)
{
    char line[16];
    if (!n || !isatty(0) || !isatty(1)) return true;
    printf("Remove %zu spool%s? What is in no recording yet is lost. [y/N] ", n,
           n == 1 ? "" : "s");
    fflush(stdout);
    return fgets(line, sizeof line, stdin) &&
           (line[0] == 'y' || line[0] == 'Y');
}

int cli_doctor_clean(void)
{
    struct spools all = {.is_cleaning = true, .rc = CLI_OK};
    size_t n = 0;
    if (axp_spools_list(count, &n) != AXP_OK)
        return cli_fail("%s", axp_last_error());
    if (!may_remove(n)) return CLI_FAILED;
    size_t n_folders = cli_temporary_left(true, say_removed);
    if (axp_spools_list(look, &all) != AXP_OK)
        return cli_fail("%s", axp_last_error());
    if (!all.n_left && !n_folders) printf("nothing to remove\n");
    return all.rc;
}
