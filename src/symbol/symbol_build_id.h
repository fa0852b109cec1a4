/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The id of an ELF file, read before anything else is done with it: its build
 * id or, of one that has none among what is loaded of it, one that is made
 * (os_made_id.h).
 *
 * Place  symbol_module.c: a recording says which modules it was made with, and
 *        a file that lies there is given to libdw only if it is the same.
 *        Files of debug information have the id in a section alone: their
 *        segments are as in the module, with nothing in them. Those of a
 *        module without a build id are never known to be its own.
 * Input  any file. What is no ELF file of this machine's word size has no id.
 */
#ifndef AXP_SYMBOL_BUILD_ID_H
#define AXP_SYMBOL_BUILD_ID_H
#include <stdbool.h>

#include "os/os_made_id.h"

/* A regular file of that path, with that id (hex digits), open for
 * reading; -1: there is none. Never waits, and opens no device. */
int axp__module_open(const char *path, const char *build_id);
/* Whether a regular file that may be read lies there and has another, or none. */
bool axp__module_is_other(const char *path, const char *build_id);
/* The id that is made of a file; false: it has a build id, or is none. */
bool axp__module_make_id(int fd, char out[AXP__MADE_ID]);

#endif
