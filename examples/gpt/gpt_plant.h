/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_plant.h: inefficiencies that are left in when asked for (--plant), each
 * as such things come about. They are there to be found: run the program with
 * one and see what the report says of it. Results stay the same but for
 * rounding. */
#ifndef GPT_PLANT_H
#define GPT_PLANT_H
#include <stdbool.h>
#include <stddef.h>

#include "gpt_matmul.h"

typedef struct gpt_plants {
    bool product; /* a product in each block is written by hand, not BLAS's */
    bool split;   /* attention's heads are divided by a number that does not
                   * fit: three quarters are the first thread's */
} gpt_plants;
extern gpt_plants gpt_planted; /* set before the first step */

/* "product,split", or one of them; false: something else. */
bool gpt_plant(const char *names);

/* What gpt_matmul_forward computes, as three loops. */
void gpt_product_by_hand(gpt_linear size, real *out, const real *in,
                         const real *weight, const real *bias);

/* How many of n pieces a thread takes at a time. */
size_t gpt_split(size_t n);

#endif
