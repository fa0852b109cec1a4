/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The child of a fork; record_fork.c. */
#ifndef AXP_RECORD_FORK_H
#define AXP_RECORD_FORK_H
#include <stdbool.h>

/* Once in a child, before it records: by pthread_atfork's handler, or by the
 * first slow path after a fork that bypassed it. */
void axp__fork_begin_child(bool is_raw);
void axp__fork_watch(void); /* sets up pthread_atfork */

#endif
