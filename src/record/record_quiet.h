/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether this process is to be left alone (axp_quiet_begin). */
#ifndef AXP_RECORD_QUIET_H
#define AXP_RECORD_QUIET_H
#include <stdbool.h>

bool axp__is_quiet(void);

#endif
