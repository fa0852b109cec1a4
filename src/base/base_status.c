/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The sentence for each status; the table is base_status.def. The last error
 * of a thread is kept by record_thread.c, which owns what is per thread. */
#include "axprof/axprof.h"

const char *axp_strerror(axp_status status)
{
    switch (status) {
#define X(constant, text)                                                      \
    case constant:                                                             \
        return text;
#include "base/base_status.def"
#undef X
    }
    return "unknown status";
}
