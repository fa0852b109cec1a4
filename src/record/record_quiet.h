/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether this process is to be left alone (axp_quiet_begin). */
#ifndef AXP_RECORD_QUIET_H
#define AXP_RECORD_QUIET_H
#include <stdbool.h>

bool axp__is_quiet(void);
/* Around slow ways that ask the kernel: whoever sets a filter for all threads waits
 * until they have. False: it is quiet, and not to be asked. */
bool axp__quiet_ask(void);
void axp__quiet_asked(void);

#endif
