/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the heads of all recordings that this process writes have in common:
 * its run, its machine, its clock. */
#ifndef AXP_RECORD_HEAD_H
#define AXP_RECORD_HEAD_H
#include "wire/wire_block.h"

/* What axprof run gave to all processes of a run (AXPROF_RUN_ID), or one of
 * this process's own. */
AXP_API void axp__head_run_id(uint8_t out[16]);
/* Machine and clock, as they are now. */
AXP_API void axp__head_clock(struct axp__file_head *head);

#endif
