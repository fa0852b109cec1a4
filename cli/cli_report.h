/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A report of a view, written as options say; `run` writes the same one. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H
#include <axprof/axprof_read.h>

/* Columns of the terminal behind fd; 80 where there is none. */
int cli_report_width(int fd);
/* when: CLI_COLOR_*. */
bool cli_report_has_color(int when, int fd);

#endif
