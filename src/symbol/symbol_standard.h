/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code of C++'s standard library that compilers put into programs: templates and
 * inlined functions. Nobody who reads a report is about to change it; who called
 * it is what one looks for.
 *
 * Input  any text; what does not look like C++ is not of it.
 */
#ifndef AXP_SYMBOL_STANDARD_H
#define AXP_SYMBOL_STANDARD_H
#include <stdbool.h>

/* By the file that it was written in, if that is known (NULL: it is not), else
 * by the name as debuggers show it: "void std::vector<int>::push_back(int)". */
bool axp__code_is_standard(const char *function, const char *file);

#endif
