/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One line at the bottom of the terminal while a program runs.
 *
 * The program writes to the same terminal without our knowing, so the line is
 * kept out of its way: the last row is taken out of the region that scrolls,
 * as package managers do it, and given back at the end. Nothing is drawn where
 * standard error is no terminal, while we are in the background, while the
 * program has the terminal in a mode of its own (editors, pagers), on
 * terminals of fewer than three rows, and in the first second.
 *
 * Threads    one.
 */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H
#include <stdbool.h>

typedef struct cli_status {
    bool is_wanted; /* false: every call does nothing */
    bool is_drawn;
    int rows, columns; /* of the terminal when it was drawn */
} cli_status;

void cli_status_init(cli_status *status, bool is_wanted);
/* Draws the line, or draws it anew after a change of size. */
void cli_status_show(cli_status *status, const char *text);
/* The terminal as it was. Before a stop, before the report, at the end. */
void cli_status_hide(cli_status *status);

#endif
