/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LLVM's runtime, which tells a tool by itself (OMPT). */
#ifndef OPENMP_TOOLS_H
#define OPENMP_TOOLS_H
#include <stdbool.h>

/* It has asked for a tool: whatever passes through its other entries is told
 * twice. */
bool openmp_tools_are_on(void);

#endif
