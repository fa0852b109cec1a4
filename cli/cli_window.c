/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The options about parts of a run. */
#include "cli/cli_window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_say.h"

#define VARIABLE "AXPROF_WINDOW"

/* "100:120", "100:", ":20" */
static int read_steps(const char *text, cli_window *w)
{
    char *end;
    if (!text) return CLI_OK;
    w->has_steps = true;
    w->first_step = strtoull(text, &end, 10);
    if (*end != ':' || strpbrk(text, "-+ ")) goto wrong;
    text = end + 1;
    w->end_step = strtoull(text, &end, 10);
    if (*end || (*text && w->end_step <= w->first_step)) goto wrong;
    return CLI_OK;
wrong:
    return cli_wrong("--steps wants two numbers, such as 100:120 for the "
                     "steps from 100 on and before 120");
}

/* "step > 3x", "step > 50ms" */
static int read_trigger(const char *text, cli_window *w)
{
    double value;
    char unit[8] = "", rest;
    if (!text) return CLI_OK;
    if (sscanf(text, " step > %lf%7[a-z] %c", &value, unit, &rest) == 2 &&
        value > 0 && value < 1e9) {
        if (!strcmp(unit, "x")) w->keep.slow_times = value;
        if (!strcmp(unit, "s")) w->keep.slow_ns = (axp_ns)(value * 1e9);
        if (!strcmp(unit, "ms")) w->keep.slow_ns = (axp_ns)(value * 1e6);
        if (!strcmp(unit, "us")) w->keep.slow_ns = (axp_ns)(value * 1e3);
    }
    if (w->keep.slow_times > 0 || w->keep.slow_ns) return CLI_OK;
    return cli_wrong("--trigger wants something like 'step > 3x' or "
                     "'step > 50ms', not \"%s\"",
                     text);
}

static int check_one(const cli_args *args, const cli_option_id *options,
                     size_t n)
{
    const char *first = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!cli_args_has(args, options[i])) continue;
        if (first)
            return cli_wrong("--%s and --%s do not go together", first,
                             cli_options[options[i]].word);
        first = cli_options[options[i]].word;
    }
    return CLI_OK;
}

int cli_window_read(const cli_args *args, cli_window *w)
{
    static const cli_option_id kept[] = {OPT_run_keep, OPT_run_keep_steps,
                                         OPT_run_trigger};
    static const cli_option_id by_time[] = {OPT_run_delay, OPT_run_steps},
                               by_steps[] = {OPT_run_duration, OPT_run_steps};
    *w = (cli_window){0};
    int rc = check_one(args, kept, 3);
    if (rc == CLI_OK) rc = check_one(args, by_time, 2);
    if (rc == CLI_OK) rc = check_one(args, by_steps, 2);
    if (rc == CLI_OK) rc = cli_args_time(args, OPT_run_delay, &w->delay_ns);
    if (rc == CLI_OK)
        rc = cli_args_time(args, OPT_run_duration, &w->duration_ns);
    if (rc == CLI_OK) rc = read_steps(cli_args_value(args, OPT_run_steps), w);
    if (rc == CLI_OK)
        rc = cli_args_time(args, OPT_run_keep, &w->keep.newest_ns);
    if (rc == CLI_OK)
        rc = cli_args_number(args, OPT_run_keep_steps, 1, 4096,
                             &w->keep.newest_steps);
    if (rc == CLI_OK)
        rc = read_trigger(cli_args_value(args, OPT_run_trigger), w);
    return rc;
}

uint64_t cli_window_end(const cli_window *w, uint64_t begin_ns)
{
    return w->duration_ns ? begin_ns + w->delay_ns + w->duration_ns : 0;
}

char *cli_window_variable(const cli_window *w, uint64_t begin_ns)
{
    if (w->has_steps)
        return cli_format(VARIABLE "=steps:%" PRIu64 ":%" PRIu64, w->first_step,
                          w->end_step);
    if (!w->delay_ns && !w->duration_ns) return NULL;
    return cli_format(VARIABLE "=time:%" PRIu64 ":%" PRIu64 ":%" PRIu64,
                      begin_ns + w->delay_ns, cli_window_end(w, begin_ns),
                      begin_ns);
}

void cli_window_announce(const cli_window *w, uint64_t begin_ns)
{
    char *entry = cli_window_variable(w, begin_ns);
    unsetenv(VARIABLE); /* of an axprof around this one */
    if (entry) setenv(VARIABLE, strchr(entry, '=') + 1, 1);
    free(entry);
}

char *cli_window_text(const cli_window *w)
{
    char from[32], to[32];
    axp_format_ns(from, sizeof from, w->delay_ns);
    axp_format_ns(to, sizeof to, w->delay_ns + w->duration_ns);
    if (w->has_steps && w->end_step)
        return cli_format("steps %" PRIu64 " to %" PRIu64, w->first_step,
                          w->end_step - 1);
    if (w->has_steps) return cli_format("steps from %" PRIu64, w->first_step);
    if (w->duration_ns)
        return cli_format("from %s to %s", w->delay_ns ? from : "the start",
                          to);
    return w->delay_ns ? cli_format("from %s on", from) : NULL;
}
