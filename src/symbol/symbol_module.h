/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which file has the symbols of a module: of those that have its build id, the
 * first of
 *
 *   FOLDER/.build-id/xx/yyy.debug   xxyyy is the build id
 *   FOLDER/NAME.debug               debug information that was taken out
 *   PATH                            where it was when it was recorded
 *   FOLDER/.build-id/xx/yyy
 *   FOLDER/NAME
 *   FOLDER/PATH                     the tree of another machine
 *
 * A file of debug information has all that a lookup needs, so that the module
 * itself may be missing.
 *
 * Input  path and build id are not trusted: an id that is not of hex digits and
 *        a path that goes up (..) are not made into a name.
 */
#ifndef AXP_SYMBOL_MODULE_H
#define AXP_SYMBOL_MODULE_H
#include <stdbool.h>
#include <stddef.h>

#define AXP__MODULE_PATH 4096

struct axp__folders { /* not owned */
    const char *const *at;
    size_t n;
};

/* That file, open for reading, and its path; -1: there is none. */
int axp__module_find(struct axp__folders folders, const char *path,
                     const char *build_id, char found[AXP__MODULE_PATH]);
/* A library of the system, which nobody who reads a report is about to change:
 * below /lib and /usr/lib. */
bool axp__module_is_system(const char *path);

#endif
