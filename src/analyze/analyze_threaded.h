/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Libraries that compute with threads of their own, and the variable of the
 * environment that says with how many. */
#ifndef AXP_ANALYZE_THREADED_H
#define AXP_ANALYZE_THREADED_H
#include <stddef.h>

struct axp__threaded {
    const char *library; /* how its file's name begins */
    const char *variable;
};

/* In the order in which they call each other; NULL: there are no more. */
const struct axp__threaded *axp__threaded_at(size_t i);
/* NULL: the file is none of them. */
const struct axp__threaded *axp__threaded_of(const char *path);

#endif
