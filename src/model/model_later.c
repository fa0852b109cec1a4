/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Public calls whose parts are not there yet: they say so, and never give an
 * empty result. */
#include "axprof/axprof_read.h"
#include "record/record_thread.h"

axp_status axp_open(const char *const *paths, size_t n_paths, axp_view **out)
{
    (void)paths, (void)n_paths, (void)out;
    return axp__fail(AXP_E_UNSUPPORTED,
                     "trace files are not part of this version");
}
