/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_plant.c: inefficiencies that are left in when asked for. */
#include "gpt_plant.h"

#include <omp.h>
#include <string.h>

#include "gpt_profile.h"

gpt_plants gpt_planted;

bool gpt_plant(const char *names)
{
    while (*names) {
        const size_t length = strcspn(names, ",");
        if (length == 7 && strncmp(names, "product", length) == 0)
            gpt_planted.product = true;
        else if (length == 5 && strncmp(names, "split", length) == 0)
            gpt_planted.split = true;
        else
            return false;
        names += length;
        names += *names == ',';
    }
    return true;
}

void gpt_product_by_hand(gpt_linear size, real *out, const real *in,
                         const real *weight, const real *bias)
{
    AXP_SCOPE_WORK("proj.by_hand", GPT_PRODUCT_WORK(size.rows, size.n, size.k));

#pragma omp parallel for
    for (size_t r = 0; r < size.rows; r++)
        for (size_t c = 0; c < size.n; c++) {
            real sum = bias[c];
            for (size_t i = 0; i < size.k; i++)
                sum += in[r * size.k + i] * weight[c * size.k + i];
            out[r * size.n + c] = sum;
        }
}

size_t gpt_split(size_t n)
{
    const size_t threads = (size_t)omp_get_max_threads();
    const size_t pieces =
        gpt_planted.split ? 3 * n / 4 : (n + threads - 1) / threads;
    return pieces > 0 ? pieces : 1;
}
