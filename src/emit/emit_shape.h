/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A shape as text: "512x512x64", "other 8" of those that are summed up. */
#ifndef AXP_EMIT_SHAPE_H
#define AXP_EMIT_SHAPE_H
#include <inttypes.h>
#include <stdio.h>

#include "axprof/axprof_read.h"

#define AXP__SHAPE_LABEL (6 * 11 + 1)

/* Returns `out`. */
static inline char *axp__shape_label(const axp_shape *s,
                                     char out[AXP__SHAPE_LABEL])
{
    int len = 0;
    if (!s->n_dims)
        snprintf(out, AXP__SHAPE_LABEL, "other %" PRIu64, s->n_shapes);
    for (uint32_t i = 0; i < s->n_dims && i < 6; i++)
        len += snprintf(out + len, AXP__SHAPE_LABEL - (size_t)len,
                        i ? "x%" PRIu32 : "%" PRIu32, s->dims[i]);
    return out;
}

#endif
