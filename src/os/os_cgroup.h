/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The process's control groups: where their files are, and how much memory
 * they allow.
 *
 * Memory is read once, when the library is loaded: before there are threads,
 * handlers and descriptors that could be in the way, and never in a recording
 * call. The rest is for those who may open files.
 */
#ifndef AXP_OS_CGROUP_H
#define AXP_OS_CGROUP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes; UINT64_MAX: no limit. */
uint64_t axp__cgroup_memory(void);

/* Where the files of its group of version 2 are; "": not to be seen. */
const char *axp__cgroup_folder(void);

/* Both, read now, with every path below `root` ("" is the machine's). `folder`
 * has AXP__CGROUP_PATH bytes, and is "" before; NULL: it is not wanted. */
#define AXP__CGROUP_PATH 4096u
uint64_t axp__cgroup_read_memory(const char *root, char *folder);

struct axp__cgroup {
    const char *root, *folder; /* its files are in `folder` below `root` */
    bool is_second;            /* version 2 */
    bool is_own;               /* the process's, not one above it */
};
typedef void (*axp__cgroup_fn)(void *ctx, const struct axp__cgroup *g);

/* Tells the group that has `controller` in version 1, the one of version 2,
 * and those above each that can be seen, from the innermost up. */
void axp__cgroup_walk(const char *root, const char *controller,
                      axp__cgroup_fn fn, void *ctx);
/* What a file of it begins with, ended by 0; false: there is nothing. */
bool axp__cgroup_read(const struct axp__cgroup *g, const char *file, char *text,
                      size_t size);

#endif
