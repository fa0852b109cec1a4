/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The status line, in the few escape sequences that every terminal since the
 * VT100 knows. Each change is one write, so that it does not mix with what the
 * program writes. */
#include "cli/cli_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define FD STDERR_FILENO

void cli_status_init(cli_status *s, bool is_wanted)
{
    const char *term = getenv("TERM");
    *s = (cli_status){.is_wanted = is_wanted && isatty(FD) && term && *term &&
                                   strcmp(term, "dumb") != 0};
}

/* May something be drawn now? */
static bool is_free(struct winsize *size)
{
    struct termios mode;
    if (tcgetpgrp(FD) != getpgrp()) return false;
    if (tcgetattr(FD, &mode) ||
        (mode.c_lflag & (ICANON | ECHO)) != (ICANON | ECHO))
        return false;
    return !ioctl(FD, TIOCGWINSZ, size) && size->ws_row >= 3 &&
           size->ws_col >= 20;
}

static void put(const char *text, int len)
{
    if (len > 0) (void)!write(FD, text, (size_t)len);
}

/* IND scrolls by a row if the cursor is in the last one and keeps its column;
 * one up again, and the cursor is where it was, with a free row below. Setting
 * the region moves the cursor, so it is saved around it. */
static void take_row(cli_status *s, const struct winsize *size)
{
    char text[64];
    put(text, snprintf(text, sizeof text, "\033D\033[A\0337\033[1;%dr\0338",
                       size->ws_row - 1));
    s->is_drawn = true;
    s->rows = size->ws_row;
    s->columns = size->ws_col;
}

void cli_status_show(cli_status *s, const char *text)
{
    struct winsize size = {0};
    char line[512];
    if (!s->is_wanted) return;
    if (!is_free(&size)) {
        s->is_drawn = false; /* whoever has the terminal resets it */
        return;
    }
    if (s->is_drawn && (s->rows != size.ws_row || s->columns != size.ws_col))
        cli_status_hide(s);
    if (!s->is_drawn) take_row(s, &size);
    put(line,
        snprintf(line, sizeof line, "\0337\033[%d;1H\033[K%.*s\0338", s->rows,
                 s->columns - 1 > 400 ? 400 : s->columns - 1, text));
}

void cli_status_hide(cli_status *s)
{
    char text[64];
    if (!s->is_drawn) return;
    s->is_drawn = false;
    put(text, snprintf(text, sizeof text, "\0337\033[r\033[%d;1H\033[K\0338",
                       s->rows));
}
