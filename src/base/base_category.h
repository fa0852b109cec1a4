/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How many categories of work there are. */
#ifndef AXP_BASE_CATEGORY_H
#define AXP_BASE_CATEGORY_H
#include "axprof/axprof.h"

#define AXP__N_CATEGORIES (AXP_CAT_IO + 1)

#endif
