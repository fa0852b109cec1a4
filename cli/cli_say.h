/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the command says on standard error: "axprof VERB: sentence".
 *
 * Input      sentences may hold names of files and words of a recording, which
 *            anyone may have chosen: control characters become "?", so that
 *            nothing reaches the terminal as an order.
 */
#ifndef CLI_SAY_H
#define CLI_SAY_H
#include <stddef.h>
#include <stdio.h>

/* Exit statuses; cli_table.def says what they mean to the user. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_DAMAGED = 3,          /* done with what a damaged recording has */
    CLI_CANNOT = 125,         /* run: axprof itself failed */
    CLI_NOT_EXECUTABLE = 126, /* run: as a shell says it */
    CLI_NOT_FOUND = 127
};

/* The verb that messages name; NULL: none yet. */
void cli_say_verb(const char *verb);
/* Both return CLI_FAILED and CLI_USAGE, for `return cli_fail(…)`. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Text of others on standard output: control characters as question marks. */
void cli_put(const char *text);

/* Never NULL: without memory the command ends with a message. */
void *cli_alloc(size_t n, size_t size);
char *cli_format(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* caller frees */

/* The one of n words, stride bytes apart, that `word` was likely meant to be;
 * NULL: none is near. A NULL among the words is passed over. */
const char *cli_nearest(const char *word, const char *const *words, size_t n,
                        size_t stride);

#endif
