/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof export: files of one run → a format that other tools open. */
#include <string.h>
#include <unistd.h>

#include <axprof/axprof_read.h>

#include "cli/cli_output.h"
#include "cli/cli_say.h"
#include "cli/cli_trace.h"
#include "cli/cli_verbs.h"

static int choose_format(const cli_args *args, const char *path, int *format)
{
    const cli_choice *ending =
        path ? cli_choice_by_ending(OPT_export_format, path) : NULL;
    *format =
        cli_args_choice(args, OPT_export_format, ending ? ending->value : -1);
    if (*format >= 0) return CLI_OK;
    if (path && strcmp(path, "-") != 0)
        return cli_wrong("which format? No known one ends like \"%s\"; say it "
                         "with -f (\"axprof export --help\" lists them)",
                         path);
    return cli_wrong("which format? Say it with -f, for example -f perfetto "
                     "(\"axprof export --help\" lists them)");
}

/* A file of no lines is what such a run gives: whoever asked is told why. */
static void say_no_heap(const axp_view *view, int format)
{
    bool is_of_heap = format == AXP_EXPORT_FOLDED_PEAK ||
                      format == AXP_EXPORT_FOLDED_LEAKS ||
                      format == AXP_EXPORT_FOLDED_ALLOCATED ||
                      format == AXP_EXPORT_FOLDED_TEMPORARY;
    if (!is_of_heap || axp_view_heap(view).is_seen) return;
    cli_note(
        "no memory of the heap was seen in this run, so there is nothing in "
        "%s; axprof run sees it, unless it is --without memory",
        axp_export_format_name((axp_export_format)format, NULL));
}

int cli_export_main(const cli_args *args)
{
    const char *path = cli_args_value(args, OPT_export_output);
    axp_view *view = NULL;
    cli_output out;
    int format;
    int rc = choose_format(args, path, &format);
    if (rc != CLI_OK) return rc;
    if (!path && isatty(STDOUT_FILENO))
        return cli_wrong("where to? A terminal is no place for a trace: "
                         "-o FILE, or \"-o -\" if it is meant");
    rc = cli_trace_spare(args, path);
    if (rc == CLI_OK) rc = cli_trace_open(args, OPT_export_symbols, &view);
    if (rc == CLI_OK) rc = cli_output_open(&out, path, "-o");
    if (rc == CLI_OK) {
        axp_status status =
            axp_export_write(view, (axp_export_format)format, out.to);
        rc = cli_output_close(&out, status);
        if (rc == CLI_OK) say_no_heap(view, format);
    }
    rc = cli_trace_damage(view, rc);
    axp_view_destroy(view);
    return rc;
}
