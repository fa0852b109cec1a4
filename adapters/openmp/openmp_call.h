/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where a region is, by the address that LLVM's runtime returns to.
 *
 * What a function calls last may become a jump (clang does so from -O1 on): the
 * runtime then returns to the caller of the function that has the region, where
 * regions of several would be one. The call before that address tells: it is not
 * of the runtime, but of that function, whose beginning stands for the region.
 *
 * Input    the program's instructions, where the segments of its file have code;
 *          nothing else is read.
 * Not here a call by a pointer, as the runtime calls a region's own function: a
 *          nested region that is jumped to is somewhere in the one around it.
 * Threads  any; no lock, no allocation.
 */
#ifndef OPENMP_CALL_H
#define OPENMP_CALL_H
#include <stdbool.h>

/* An address in the runtime: of those of its object it is asked. */
void openmp_call_runtime(const void *inside);
/* Whether the runtime itself is returned to. */
bool openmp_call_is_of_runtime(const void *return_address);
/* NULL for NULL. */
const void *openmp_call_place(const void *return_address);
/* What was found so far: there may be other code now where it was. */
void openmp_call_forget(void);

#endif
