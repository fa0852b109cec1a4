/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The words for categories, as reports write them and callers say them. */
#ifndef AXP_MODEL_CATEGORY_H
#define AXP_MODEL_CATEGORY_H
#include <stddef.h>

#include "axprof/axprof.h"

/* NULL: none. */
static inline const char *axp__word_cat(axp_cat category)
{
    static const char *const words[] = {NULL,        "forward", "backward",
                                        "optimizer", "data",    "comm",
                                        "sync",      "copy",    "io"};
    size_t i = (size_t)category;
    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

#endif
