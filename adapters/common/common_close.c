/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Libraries that a program closes; see common_close.h. */
#include "adapters/common/common_close.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static void (*forget_gone)(void);
static int (*real)(void *); /* NULL: not found yet */

static void load(void)
{
    void *found = dlsym(RTLD_NEXT, "dlclose");
    memcpy(&real, &found, sizeof real);
}

void common_close_tell(void (*forget)(void))
{
    load();
    forget_gone = forget;
}

__attribute__((visibility("default"))) int dlclose(void *object)
{
    if (!real) load(); /* by a constructor before ours */
    int rc = real(object), error = errno;
    if (forget_gone) forget_gone();
    errno = error;
    return rc;
}
