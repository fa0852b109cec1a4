/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library's own functions behind the wrappers. */
#ifndef EXEC_REAL_H
#define EXEC_REAL_H
#include <dlfcn.h>
#include <string.h>

/* Into a pointer to a function; NULL: there is none of that name. */
static inline void exec_real_find(const char *name, void *out)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(out, &found, sizeof found);
}

#endif
