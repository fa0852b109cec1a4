/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof report: files of one run → text, JSON, Markdown or a page. */
#include "cli/cli_report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli_output.h"
#include "cli/cli_plain.h"
#include "cli/cli_progress.h"
#include "cli/cli_say.h"
#include "cli/cli_trace.h"
#include "cli/cli_verbs.h"

enum { WIDTH_MIN = 40, WIDTH_DEFAULT = 80, WIDTH_MAX = 1000 };

int cli_report_width(int fd)
{
    struct winsize size = {0};
    if (ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col) return WIDTH_DEFAULT;
    if (size.ws_col < WIDTH_MIN) return WIDTH_MIN;
    return size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
}

bool cli_report_has_color(int when, int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (when != CLI_COLOR_AUTO) return when == CLI_COLOR_ALWAYS;
    if (no_color && *no_color) return false;
    return term && strcmp(term, "dumb") != 0 && isatty(fd);
}

static int read_options(const cli_args *args, int fd, axp_report_options *o,
                        axp_thresholds *thresholds)
{
    uint64_t width = (uint64_t)cli_report_width(fd), findings = 0;
    int rc =
        cli_args_number(args, OPT_report_width, WIDTH_MIN, WIDTH_MAX, &width);
    if (rc == CLI_OK)
        rc = cli_args_number(args, OPT_report_findings, 1, 1000000, &findings);
    if (rc == CLI_OK)
        rc = cli_args_number(args, OPT_report_events, 1, UINT64_MAX,
                             &o->max_events);
    o->size = sizeof *o;
    o->width = (int)width;
    o->max_findings = (size_t)findings;
    o->has_shapes = cli_args_has(args, OPT_report_shapes);
    o->color = cli_report_has_color(
        cli_args_choice(args, OPT_report_color, CLI_COLOR_AUTO), fd);
    o->thresholds = thresholds;
    return rc;
}

/* The repeated options' values; the caller frees both lists. */
static void read_thresholds(const cli_args *args, axp_thresholds *t)
{
    const char **set = cli_alloc(args->n_given, sizeof *set);
    const char **ignore = cli_alloc(args->n_given, sizeof *ignore);
    t->n_set = cli_args_values(args, OPT_report_set, set, args->n_given);
    t->n_ignore =
        cli_args_values(args, OPT_report_ignore, ignore, args->n_given);
    t->set = set;
    t->ignore = ignore;
}

axp_status cli_report_write(axp_view *view, axp_format format,
                            const axp_report_options *o, FILE *to)
{
    cli_progress progress;
    bool is_plain =
        (format == AXP_FORMAT_TEXT || format == AXP_FORMAT_MARKDOWN) &&
        cli_plain_is_wanted();
    FILE *plain = is_plain ? cli_plain_open(to) : NULL;
    cli_progress_begin(&progress, "axprof: writing the report", to);
    axp_status status =
        axp_report_write_ex(view, format, o, plain ? plain : to);
    if (plain) fclose(plain);
    cli_progress_end(&progress);
    return status;
}

const char *cli_report_ending(const char *path)
{
    const char *base = path ? strrchr(path, '/') : NULL;
    const char *dot = strrchr(base ? base : path ? path : "", '.');
    size_t len = dot ? strlen(dot + 1) : 0;
    if (len < 2 || len > 5 || !strcmp(dot, ".log") || !strcmp(dot, ".out") ||
        strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != len)
        return NULL;
    return dot;
}

/* "r.pdf" would be text. */
int cli_report_check_ending(cli_option_id formats, const char *path)
{
    const char *dot = cli_report_ending(path);
    char known[128] = "";
    if (!dot || cli_choice_by_ending(formats, path)) return CLI_OK;
    for (size_t i = 0; i < cli_n_choices; i++)
        if (cli_choices[i].option == formats && cli_choices[i].ending)
            snprintf(known + strlen(known), sizeof known - strlen(known),
                     "%s%s", *known ? ", " : "", cli_choices[i].ending);
    return cli_wrong("no report is a %s file; there are: %s (or choose with "
                     "--format)",
                     dot, known);
}

static int write_report(const cli_args *args, const axp_report_options *o,
                        axp_format format, const char *path)
{
    axp_view *view = NULL;
    cli_output out;
    int rc = cli_trace_open(args, OPT_report_symbols, &view);
    if (rc == CLI_OK) rc = cli_output_open(&out, path, "-o");
    if (rc == CLI_OK) {
        axp_status status = cli_report_write(view, format, o, out.to);
        rc = cli_output_close(&out, status);
        if (status == AXP_E_INVALID) rc = CLI_USAGE; /* --set, --ignore */
    }
    rc = cli_trace_damage(view, rc);
    axp_view_destroy(view);
    return rc;
}

int cli_report_main(const cli_args *args)
{
    const char *path = cli_args_value(args, OPT_report_output);
    const cli_choice *ending =
        path ? cli_choice_by_ending(OPT_report_format, path) : NULL;
    int format = cli_args_choice(args, OPT_report_format,
                                 ending ? ending->value : AXP_FORMAT_TEXT);
    bool is_file = path && strcmp(path, "-") != 0;
    axp_report_options o = {0};
    axp_thresholds thresholds = {0};

    read_thresholds(args, &thresholds);
    int rc = cli_trace_spare(args, path);
    if (rc == CLI_OK && !cli_args_has(args, OPT_report_format))
        rc = cli_report_check_ending(OPT_report_format, path);
    if (rc == CLI_OK)
        rc = read_options(args, is_file ? -1 : STDOUT_FILENO, &o, &thresholds);
    if (rc == CLI_OK) rc = write_report(args, &o, (axp_format)format, path);
    free((void *)thresholds.set);
    free((void *)thresholds.ignore);
    return rc;
}
