/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that goes: what is known of places in it is forgotten when a library is
 * closed, since another one may come to where it was. Nothing that is kept of it
 * is ever read as code, so that what is forgotten late has a wrong name, and no
 * more.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "openmp_call.h"
#include "openmp_team.h"

static int (*real)(void *);

__attribute__((constructor)) static void load(void)
{
    void *found = dlsym(RTLD_NEXT, "dlclose");
    memcpy(&real, &found, sizeof real);
}

__attribute__((visibility("default"))) int dlclose(void *object)
{
    if (!real) load();
    int rc = real(object), error = errno;
    openmp_call_forget();
    openmp_team_forget();
    errno = error;
    return rc;
}
