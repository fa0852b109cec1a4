/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How much memory the process's control groups allow it, and where the other
 * limits of its group stand.
 *
 * Read once, when the library is loaded: before there are threads, handlers
 * and descriptors that could be in the way, and never in a recording call.
 */
#ifndef AXP_OS_CGROUP_H
#define AXP_OS_CGROUP_H
#include <stdint.h>

/* Bytes; UINT64_MAX: no limit. */
uint64_t axp__cgroup_memory(void);

/* Where the files of its group of version 2 are; "": not to be seen. */
const char *axp__cgroup_folder(void);

/* Both, read now, with every path below `root` ("" is the machine's). `folder`
 * has AXP__CGROUP_PATH bytes, and is "" before; NULL: it is not wanted. */
#define AXP__CGROUP_PATH 4096u
uint64_t axp__cgroup_read_memory(const char *root, char *folder);

#endif
