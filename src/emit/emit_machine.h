/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The members of a measured machine as JSON, of an object that is open. */
#ifndef AXP_EMIT_MACHINE_H
#define AXP_EMIT_MACHINE_H
#include "emit/emit_json_out.h"
#include "machine/machine.h"

void axp__json_machine(struct axp__json *j, const struct axp__machine *m);

#endif
