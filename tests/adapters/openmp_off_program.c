/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Regions of a library while nothing is recorded, run with the adapter loaded:
 * where they are is not looked up, since that asks the kernel for every part of
 * the library's path. */
#include <errno.h>

#include "wait_check.h"

double omp_sum(long n);

static unsigned n_asked;

/* Before the C library's, for whoever calls it. */
__attribute__((visibility("default"))) ssize_t readlink(const char *path,
                                                        char *to, size_t bytes)
{
    (void)path, (void)to, (void)bytes;
    __atomic_add_fetch(&n_asked, 1, __ATOMIC_RELAXED);
    errno = EINVAL; /* it is no link */
    return -1;
}

int main(void)
{
    axp_set_enabled(axp_global(), false);
    unsigned before = n_asked;
    omp_sum(1000);
    CHECK(n_asked == before);
    axp_set_enabled(axp_global(), true);
    omp_sum(1000);
    CHECK(n_asked > before);
    puts("places are not looked up");
    return 0;
}
