/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How much memory the process's control groups allow it.
 *
 * Read once, when the library is loaded: before there are threads, handlers
 * and descriptors that could be in the way, and never in a recording call.
 */
#ifndef AXP_OS_CGROUP_H
#define AXP_OS_CGROUP_H
#include <stdint.h>

/* Bytes; UINT64_MAX: no limit. */
uint64_t axp__cgroup_memory(void);

/* The same, read now, with every path below `root` ("" is the machine's). */
uint64_t axp__cgroup_read_memory(const char *root);

#endif
