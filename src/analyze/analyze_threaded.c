/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Libraries with threads of their own; see analyze_threaded.h. */
#include "analyze/analyze_threaded.h"

#include <string.h>

static const struct axp__threaded all[] = {
    {"libgomp", "OMP_NUM_THREADS"},  {"libomp", "OMP_NUM_THREADS"},
    {"libiomp5", "OMP_NUM_THREADS"}, {"libopenblas", "OPENBLAS_NUM_THREADS"},
    {"libmkl", "MKL_NUM_THREADS"},   {"libblis", "BLIS_NUM_THREADS"}};

const struct axp__threaded *axp__threaded_at(size_t i)
{
    return i < sizeof all / sizeof *all ? &all[i] : NULL;
}

const struct axp__threaded *axp__threaded_of(const char *path)
{
    const char *file = path ? strrchr(path, '/') : NULL;
    for (size_t i = 0; file && i < sizeof all / sizeof *all; i++)
        if (!strncmp(file + 1, all[i].library, strlen(all[i].library)))
            return &all[i];
    return NULL;
}
