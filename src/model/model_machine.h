/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a public axp_machine is. */
#ifndef AXP_MODEL_MACHINE_H
#define AXP_MODEL_MACHINE_H
#include "machine/machine.h"

struct axp_machine {
    struct axp__machine is;
};

#endif
