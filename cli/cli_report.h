/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A report of a view, written as options say; `run` writes the same one. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H
#include <axprof/axprof_read.h>

#include "cli/cli_table.h"

/* Columns of the terminal behind fd; 80 where there is none. */
int cli_report_width(int fd);
/* when: CLI_COLOR_*. */
bool cli_report_has_color(int when, int fd);

/* ASCII where the terminal wants it; shows how it goes if that takes long. */
axp_status cli_report_write(axp_view *view, axp_format format,
                            const axp_report_options *o, FILE *to);
/* The ending of a file's name that says what kind of file it is; NULL: none does. */
const char *cli_report_ending(const char *path);
/* Refuses a report's name whose ending means another kind of file. */
int cli_report_check_ending(cli_option_id formats, const char *path);

#endif
