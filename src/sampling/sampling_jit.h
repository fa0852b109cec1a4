/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of code that a process makes at run time, as it writes them for perf:
 *
 *   /tmp/perf-PID.map:   first (hex) · length (hex) · name, a line each
 *
 * Place    read when a sample is in code that has no file, at most every 50 ms,
 *          from where the last reading ended; a later line takes the place of an
 *          earlier one, and a file that begins anew that of the former. A
 *          process that has another root or number has its file there, by that.
 * Input    not trusted: only a regular file of the process's user, no link; so
 *          much of it and so many names, and names without control characters.
 * Failure  no names.
 */
#ifndef AXP_SAMPLING_JIT_H
#define AXP_SAMPLING_JIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct axp__jit;

struct axp__jit_code {
    uint64_t first, bytes;
    const char *path; /* AXP__JIT_CODE and its name */
};

struct axp__jit *axp__jit_create(uint32_t pid); /* NULL: no memory */
void axp__jit_destroy(struct axp__jit *j);      /* NULL allowed */
/* False: no name. It is valid until the next call. */
bool axp__jit_find(struct axp__jit *j, uint64_t pc, struct axp__jit_code *out);

#endif
