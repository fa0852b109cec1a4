/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axprof_file.h until src/file has it. LATER: replaced by that. */
#include "axprof/axprof_file.h"
#include "record/record_thread.h"

static axp_status later(void)
{
    return axp__fail(AXP_E_UNSUPPORTED,
                     "trace files are not part of this version");
}

axp_status axp_file_info_write(const char *const *paths, size_t n, FILE *to)
{
    (void)paths, (void)n, (void)to;
    return later();
}

axp_status axp_file_check(const char *path, FILE *to)
{
    (void)path, (void)to;
    return later();
}

axp_status axp_file_pack(const char *path, const char *out)
{
    (void)path, (void)out;
    return later();
}
