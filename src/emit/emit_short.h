/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Numbers and places for the cells of a table: three digits, a unit, few
 * columns.
 * axp_format_ns and axp_format_bytes are for sentences. */
#ifndef AXP_EMIT_SHORT_H
#define AXP_EMIT_SHORT_H
#include "axprof/axprof_read.h"

#define AXP__CELL 24
typedef char axp__cell[AXP__CELL]; /* what each of these fits into */

char *axp__short_ns(axp__cell out, axp_ns ns);         /* 12.3 ms, 1.50 s  */
char *axp__short_bytes(axp__cell out, uint64_t bytes); /* 1.50 MB */
char *axp__short_count(axp__cell out, uint64_t count); /* 12,345 or 1.23 G */
char *axp__short_rate(axp__cell out, double value);    /* 123; "": unknown */
char *axp__short_percent(axp__cell out, double share); /* 0.5: 50.0% */
char *axp__short_number(axp__cell out, double value);  /* of any size */

/* "model/train.c:120" in as many columns, folders left out from the front
 * where it is longer ("...train.c:120"); printable ASCII. NULL: no place is
 * known. */
#define AXP__SHORT_PLACE_BYTES 128
char *axp__short_place(char out[AXP__SHORT_PLACE_BYTES], const char *file,
                       int line, size_t columns);

/* The same for a cell; "": none. */
char *axp__cell_place(axp__cell out, const char *file, int line);

/* A figure about an operation's own time, marked where it is doubtful; what that
 * means, for below the table; and whether one of the first n is. */
#define AXP__DOUBT_TEXT                                                        \
    "? not to be believed: recording took too much of it to know the rest"
char *axp__mark_doubt(axp__cell out, const char *figure, const axp_op *op);
bool axp__has_doubt(const axp_op *ops, size_t n);

/* Where it took so much that it is stated, what an operation's share is not of,
 * for below the table: the same time is another part of what has it in it. */
#define AXP__LESS_TEXT                                                           \
    "share: less what recording took, which the run's length and the call tree " \
    "have in them"

/* How long a thread waited: off its processor or spinning, where the scheduler
 * told of it, else in waits that were recorded; "": not at all. */
char *axp__short_waiting(axp__cell out, const axp_thread_info *t);

/* What stands before a warning's text: how many there were, where there were
 * several: "16 scopes still open". */
const char *axp__short_many(axp__cell out, const axp_warning *w);
/* And before its name: "last: " where it is that of one among several. */
const char *axp__short_last(const axp_warning *w);

#endif
