/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether adapters fit a program that is about to be executed.
 *
 * The loader of a 32-bit program complains about them on standard error, that
 * of musl fails, and a sanitizer's library ends the process that does not have
 * it first.
 *
 * Input      any file, through #! lines. Every offset is checked.
 * Cost       some 15 us.
 * Safe       in a child of vfork: no allocation, and what is mapped is
 *            unmapped. No point of cancellation, as what executes is none.
 *            errno is left as it was.
 */
#ifndef EXEC_FIT_H
#define EXEC_FIT_H
#include <stdbool.h>

/* What cannot be read, or is no program, fits: that is not for us to judge. */
bool exec_fits(int folder, const char *path);
bool exec_fits_fd(int fd);

#endif
