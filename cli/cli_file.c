/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof info, check, pack: recordings as files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <axprof/axprof_file.h>

#include "cli/cli_say.h"
#include "cli/cli_trace.h"
#include "cli/cli_verbs.h"

/* The exit status of one thing that went wrong after others: a failure counts
 * more than damage. */
static int worse(int rc, axp_status status)
{
    if (status != AXP_E_DAMAGED) return CLI_FAILED;
    return rc == CLI_OK ? CLI_DAMAGED : rc;
}

int cli_info_main(const cli_args *args)
{
    cli_parts list;
    int rc = cli_trace_find(args, &list);
    if (rc != CLI_OK) return rc;
    axp_status status =
        axp_file_info_write((const char *const *)list.paths, list.n, stdout);
    if (status != AXP_OK) {
        cli_fail("%s", axp_last_error());
        rc = worse(rc, status);
    }
    cli_parts_fini(&list);
    return rc;
}

int cli_check_main(const cli_args *args)
{
    cli_parts list;
    int rc = cli_trace_find(args, &list);
    if (rc != CLI_OK) return rc;
    for (size_t i = 0; i < list.n; i++) {
        const char *path = list.paths[i];
        axp_status status = axp_file_check(path, stdout);
        if (status == AXP_OK) {
            cli_put(path);
            puts(": sound");
        } else {
            cli_fail("%s: %s", path, axp_last_error());
            rc = worse(rc, status);
        }
    }
    cli_parts_fini(&list);
    return rc;
}

/* ---- pack --------------------------------------------------------------- */

static int pack_file(const char *path, const char *out, int rc)
{
    axp_status status = axp_file_pack(path, out);
    if (status == AXP_OK) return rc;
    cli_fail("%s: %s", path, axp_last_error());
    return worse(rc, status);
}

/* The file, if there is one already, and the parts, each made complete: where one
 * of them is damaged all stay as they are, unless they go elsewhere. */
static int join_parts(const char *recording, const cli_parts *parts,
                      const char *out)
{
    struct stat st;
    const char **paths = cli_alloc(parts->n + 1, sizeof *paths);
    size_t n = 0;
    bool is_there = !lstat(recording, &st);
    int rc = CLI_OK;
    if (is_there) paths[n++] = recording;
    for (size_t i = 0; rc == CLI_OK && i < parts->n; i++) {
        const char *path = parts->paths[i];
        if (axp_file_is_empty(path)) continue;
        if (!out) rc = pack_file(path, NULL, rc);
        paths[n++] = path;
    }
    if (rc == CLI_OK && !n)
        rc = cli_fail("%s: nothing was recorded into it", recording);
    if (rc == CLI_OK && axp_file_join(paths, n, out ? out : recording,
                                      is_there && !out) != AXP_OK)
        rc = cli_fail("%s: %s", recording, axp_last_error());
    free(paths);
    return rc;
}

/* Of a run that was killed, or of what went on after it. */
static int pack_parts(const char *recording, const char *folder,
                      const char *out)
{
    int lock = cli_parts_lock(folder);
    cli_parts parts;
    if (lock < 0)
        return cli_fail("%s is still being recorded: its run goes on",
                        recording);
    cli_parts_list(folder, &parts);
    int rc = join_parts(recording, &parts, out);
    if (rc == CLI_OK && !out) cli_parts_remove(folder, CLI_SPOOLS_UNUSED);
    cli_parts_fini(&parts);
    close(lock);
    return rc;
}

static int pack_one(const char *path, const char *out)
{
    struct stat st;
    char *recording = cli_parts_recording(path);
    if (!recording || (!stat(path, &st) && !S_ISDIR(st.st_mode))) {
        free(recording);
        recording = cli_format("%s", path);
    }
    char *folder = cli_parts_folder(recording);
    int rc = CLI_OK;
    if (!stat(folder, &st) && S_ISDIR(st.st_mode))
        rc = pack_parts(recording, folder, out);
    else
        rc = pack_file(recording, out, rc);
    free(folder);
    free(recording);
    return rc;
}

int cli_pack_main(const cli_args *args)
{
    const char *out = cli_args_value(args, OPT_pack_output);
    struct stat st;
    cli_parts list;
    if (!args->n_rest)
        return cli_wrong("no file given; \"axprof pack NAME.axp\" packs it in "
                         "place");
    int rc = cli_trace_find(args, &list); /* says what is wrong with them */
    if (rc != CLI_OK) return rc;
    cli_parts_fini(&list);
    if (out && args->n_rest > 1)
        return cli_wrong("-o takes one file; pack the others one by one");
    if (out && !strcmp(out, "-"))
        return cli_wrong("a recording cannot be packed into standard output; "
                         "give a name with -o");
    if (out && !lstat(out, &st))
        return cli_fail("%s exists; remove it or choose another name", out);
    for (size_t i = 0; i < args->n_rest; i++) {
        int one = pack_one(args->rest[i], out);
        if (one != CLI_OK && rc != CLI_FAILED) rc = one;
    }
    return rc;
}
