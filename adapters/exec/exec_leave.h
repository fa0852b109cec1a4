/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a process gives away for ever, asked and told inside this adapter. */
#ifndef EXEC_LEAVE_H
#define EXEC_LEAVE_H
#include <stdbool.h>

#define EXEC_HIDDEN __attribute__((visibility("hidden")))

/* Is this the process that records here? A child of vfork is not. */
EXEC_HIDDEN bool exec_is_own(void);
/* It has set a filter of system calls: none may be made that it does not make
 * itself, by its children and the programs they become neither. */
EXEC_HIDDEN extern bool exec_is_filtered;
/* So had a child of vfork, which has this thread's memory until it becomes a
 * program: what the thread itself starts after that is taken for such as well. */
EXEC_HIDDEN extern __thread bool exec_child_is_filtered;

#endif
