/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/base_version.h"

#include "axprof/axprof.h"

const char AXP__RT_OF_VERSION = 0;

const char *axp_version(void)
{
    return AXP_VERSION;
}
