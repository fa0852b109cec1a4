/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The nth allocation fails. */
#ifndef AXP_TORTURE_ALLOC_H
#define AXP_TORTURE_ALLOC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static struct {
    bool is_armed;
    uint64_t n_calls, nth;
} torture;

static bool is_failing(void)
{
    return torture.is_armed && ++torture.n_calls == torture.nth;
}

#include "torture_wrap.h"

#endif
