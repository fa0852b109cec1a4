/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Processes that have counted themselves: the exec adapter appends 16 bytes,
 * process id and namespace of process ids, when a process begins or becomes
 * another program; the id's first bit says that it was forked and is the program
 * that it was. Of those in another namespace the numbers say nothing. */
#ifndef CLI_COUNT_H
#define CLI_COUNT_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many of them are not among the n that were seen. */
uint64_t cli_count_missed(const char *path, const pid_t *seen, size_t n);
/* How many programs have begun. */
uint64_t cli_count_begun(const char *path);

#endif
