/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Public calls whose parts are not there yet: they say so, and never give an
 * empty result. LATER: files replace these, in a folder of their own. */
#include "axprof/axprof_read.h"
#include "record/record_thread.h"

static axp_status later(const char *what)
{
    return axp__fail(AXP_E_UNSUPPORTED, "%s are not part of this version",
                     what);
}

axp_status axp_open(const char *const *paths, size_t n_paths, axp_view **out)
{
    (void)paths, (void)n_paths, (void)out;
    return later("trace files");
}
