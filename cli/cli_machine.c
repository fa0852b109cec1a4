/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof machine: what this machine can do, measured and kept. */
#include "cli/cli_machine.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_clock.h"
#include "cli/cli_plain.h"
#include "cli/cli_say.h"
#include "cli/cli_verbs.h"

/* ---- the cache ------------------------------------------------------------ */

/* Paths that are not absolute are no places, as the XDG folders have it. */
static char *folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/') return cli_format("%s/axprof", cache);
    if (home && *home == '/') return cli_format("%s/.cache/axprof", home);
    return NULL;
}

char *cli_machine_path(void)
{
    char name[160], *at = folder();
    axp_machine_file_name(name, sizeof name);
    char *path = at ? cli_format("%s/%s", at, name) : cli_format("%s", "");
    free(at);
    return path;
}

axp_machine *cli_machine_cached(void)
{
    char *path = cli_machine_path();
    axp_machine *m = NULL;
    if (*path && axp_machine_load(path, &m) != AXP_OK) m = NULL;
    free(path);
    if (m && !axp_machine_is_here(m)) {
        axp_machine_destroy(m);
        m = NULL;
    }
    return m;
}

/* The folder and those above it that are missing. */
static void make_folders(char *path)
{
    for (char *c = path + 1; *c; c++) {
        if (*c != '/') continue;
        *c = 0;
        (void)mkdir(path, 0700);
        *c = '/';
    }
}

bool cli_machine_keep(const axp_machine *m)
{
    char *path = cli_machine_path();
    bool is_kept = false;
    if (*path) {
        make_folders(path);
        is_kept = axp_machine_save(m, path) == AXP_OK;
    }
    free(path);
    return is_kept;
}

/* ---- the verb --------------------------------------------------------------- */

static int show_progress(double part, const char *what, void *ctx)
{
    static int last = -1;
    int percent = (int)(part * 100);
    (void)ctx;
    if (percent != last)
        dprintf(STDERR_FILENO, "\r\033[Kmeasuring this machine: %d %%, %s",
                percent, what);
    last = percent;
    return 0;
}

static axp_machine *measure(void)
{
    axp_machine_options o = {.size = sizeof o};
    bool is_shown = isatty(STDERR_FILENO);
    if (is_shown) o.progress = show_progress;
    axp_machine *m = axp_machine_measure(&o);
    if (is_shown) dprintf(STDERR_FILENO, "\r\033[K");
    return m;
}

/* What is not whole, as `run` measures it in a hurry, is measured again. */
static axp_machine *find(const cli_args *args, bool *is_new)
{
    axp_machine *m =
        cli_args_has(args, OPT_machine_refresh) ? NULL : cli_machine_cached();
    *is_new = !axp_machine_is_whole(m);
    if (!*is_new) return m;
    axp_machine_destroy(m);
    return measure();
}

static void say_where(bool is_kept)
{
    char *path = cli_machine_path();
    if (is_kept)
        cli_note("kept as %s", path);
    else if (*path)
        cli_note("could not be kept as %s: it is measured again the next time",
                 path);
    else
        cli_note("not kept, for neither XDG_CACHE_HOME nor HOME is a folder: "
                 "it is measured again the next time");
    free(path);
}

int cli_machine_main(const cli_args *args)
{
    bool is_new, is_json = cli_args_has(args, OPT_machine_json);
    if (args->n_rest)
        return cli_wrong("\"%s\"? machine takes no argument", args->rest[0]);
    axp_machine *m = find(args, &is_new);
    if (!m) return cli_fail("%s", axp_last_error());
    bool is_kept = !is_new || cli_machine_keep(m);
    FILE *plain =
        !is_json && cli_plain_is_wanted() ? cli_plain_open(stdout) : NULL;
    axp_status status = axp_machine_write(
        m, is_json ? AXP_FORMAT_JSON : AXP_FORMAT_TEXT, plain ? plain : stdout);
    if (plain) fclose(plain);
    if (status == AXP_OK && !is_json && is_new) say_where(is_kept);
    axp_machine_destroy(m);
    return status == AXP_OK ? CLI_OK : cli_fail("%s", axp_last_error());
}

/* ---- at the end of a run ------------------------------------------------------ */

/* Who wants it to end now does not want this to go on. */
static int stop_if_asked(double part, const char *what, void *ctx)
{
    sigset_t pending;
    bool *is_asked = ctx;
    (void)part;
    (void)what;
    if (sigpending(&pending)) return 0;
    *is_asked = sigismember(&pending, SIGINT) == 1 ||
                sigismember(&pending, SIGTERM) == 1 ||
                sigismember(&pending, SIGHUP) == 1 ||
                sigismember(&pending, SIGQUIT) == 1;
    return *is_asked;
}

axp_machine *cli_machine_for_run(bool is_quiet)
{
    axp_machine *m = cli_machine_cached();
    char time[32];
    bool is_asked = false;
    if (m) return m;
    uint64_t began = cli_clock_ns(CLOCK_MONOTONIC);
    axp_machine_options o = {.size = sizeof o,
                             .is_short = true,
                             .progress = stop_if_asked,
                             .ctx = &is_asked};
    m = axp_machine_measure(&o);
    if (is_asked || !m) {
        axp_machine_destroy(m);
        return NULL;
    }
    bool is_kept = cli_machine_keep(m);
    axp_format_ns(time, sizeof time, cli_clock_ns(CLOCK_MONOTONIC) - began);
    if (!is_quiet)
        cli_note("measured in %s what this machine can do%s; \"--without "
                 "machine\" leaves that out",
                 time,
                 is_kept ? ", for this run and later ones"
                         : ", which could not be kept for later runs");
    return m;
}
