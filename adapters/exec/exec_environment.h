/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The environment of a program that adapters would harm: those of the run, which
 * AXPROF_PRELOAD lists, are taken out of LD_PRELOAD; what the user had there
 * stays.
 *
 * Input      a list that a program passes, which may be none.
 * Own        what starts programs from inside the C library (system, popen) takes
 *            the process's own, so that this is changed where none of them may
 *            have adapters any more.
 * Safe       in a child of vfork: memory is the caller's.
 */
#ifndef EXEC_ENVIRONMENT_H
#define EXEC_ENVIRONMENT_H
#include <stdbool.h>
#include <stddef.h>

/* Bytes for a shorter one; 0: it has nothing of ours, is too large for the stack
 * or, where the kernel may be asked, cannot be read. */
size_t exec_environment_room(char *const *env, bool may_ask);
/* The same variables in the room given, but LD_PRELOAD. */
char **exec_environment_without(char *const *env, void *room);

/* The process's own, in its place: no allocation, no system call. */
void exec_environment_shorten(void);

#endif
