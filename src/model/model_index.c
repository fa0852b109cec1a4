/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows by their ids, and lanes by their rows: a recording may have as many as
 * there were threads, and who looks one up does so for each. */
#include <assert.h>
#include <stdlib.h>

#include "base/base_order.h"
#include "model/model_view.h"

bool axp__view_make_index(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    v->row_keys = malloc((c->n_rows + 1) * sizeof *v->row_keys);
    v->lane_of_row = calloc(c->n_rows + 1, sizeof *v->lane_of_row);
    if (!v->row_keys || !v->lane_of_row) return false;
    for (size_t i = 0; i < c->n_rows; i++)
        v->row_keys[i] = (uint64_t)c->rows[i].id << 32 | i;
    qsort(v->row_keys, c->n_rows, sizeof *v->row_keys, axp__by_u64);
    assert(c->n_rows <= UINT32_MAX);
    for (size_t i = c->n_lanes; i--;)
        if (c->lanes[i].row >= 0)
            v->lane_of_row[c->lanes[i].row] = (uint32_t)i + 1;
    return true;
}

const struct axp__cap_row *axp__view_row(const axp_view *v, uint64_t id)
{
    const struct axp__capture *c = v->capture;
    size_t low = 0, high = c->n_rows;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (v->row_keys[mid] >> 32 < id)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == c->n_rows || v->row_keys[low] >> 32 != id) return NULL;
    return &c->rows[(uint32_t)v->row_keys[low]];
}

const struct axp__cap_lane *axp__view_lane(const axp_view *v,
                                           const struct axp__cap_row *row)
{
    const struct axp__capture *c = v->capture;
    assert(!row || (row >= c->rows && row < c->rows + c->n_rows));
    uint32_t lane = row ? v->lane_of_row[row - c->rows] : 0;
    return lane ? &c->lanes[lane - 1] : NULL;
}
