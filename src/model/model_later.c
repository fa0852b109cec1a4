/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Public calls whose parts are not there yet: they say so, and never give an
 * empty result. LATER: exports replace these, in a folder of their own. */
#include "axprof/axprof_read.h"
#include "record/record_thread.h"

static axp_status later(const char *what)
{
    return axp__fail(AXP_E_UNSUPPORTED, "%s are not part of this version",
                     what);
}

axp_status axp_export(const axp_view *v, const char *path,
                      axp_export_format format)
{
    (void)v, (void)path, (void)format;
    return later("exports");
}

axp_status axp_export_write(const axp_view *v, axp_export_format format,
                            FILE *to)
{
    (void)v, (void)format, (void)to;
    return later("exports");
}
