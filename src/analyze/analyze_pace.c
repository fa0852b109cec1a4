/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What took longer because its processor was slower; see analyze_pace.h. */
#include "analyze/analyze_pace.h"

#include <math.h>
#include <stdlib.h>

#define LARGE 0.05 /* of all */
#define LEAST 3    /* large ones: of two that are alike one may be by chance */
#define ALIKE                                                                  \
    0.15 /* of what there is more is not as in all: 0.01 to 0.09 seen */

/* A few meetings, of which most have the same late row as the one before. */
static bool is_a_stretch(const axp_graph *g, const struct axp__meets *m,
                         const bool *which)
{
    size_t n = 0, n_late = 0, n_again = 0;
    uint32_t last = AXP__NONE; /* who was late when they met last */
    for (size_t i = 0; i < g->n_episodes; i++) {
        const struct axp__meet *meet = &m->at[i];
        if (meet->n < 2 || axp__meet_is_alone(meet)) continue;
        n++;
        n_late += which[i];
        n_again += which[i] && meet->row == last;
        last = which[i] ? meet->row : AXP__NONE;
    }
    return 2 * n_late < n && 2 * n_again >= n_late;
}

static bool is_work(const struct axp__graph_ops *ops, size_t i)
{
    const struct axp__graph_op *op = &ops->at[i];
    return i >= AXP__N_NO_OPS && !op->is_wait && !op->is_kernel &&
           !op->is_own && op->category != AXP_CAT_SYNC;
}

bool axp__pace_is_alike(const struct axp__graph_ops *ops, size_t n,
                        const double *all, const double *more)
{
    double sum = 0, longer = 0, off = 0;
    size_t n_large = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_work(ops, i)) continue;
        sum += all[i];
        longer += more[i];
    }
    if (sum <= 0 || longer <= 0) return false;
    for (size_t i = 0; i < n; i++) {
        if (!is_work(ops, i)) continue;
        n_large += all[i] >= LARGE * sum;
        off += fabs(more[i] - longer * all[i] / sum);
    }
    return n_large >= LEAST && off < ALIKE * longer;
}

bool axp__pace_was_slow(const axp_graph *g, const struct axp__meets *m,
                        const bool *which, bool *is_slow)
{
    *is_slow = is_a_stretch(g, m, which);
    if (!*is_slow) return true;
    double *all = calloc(g->ops.n + 1, sizeof *all);
    double *more = calloc(g->ops.n + 1, sizeof *more);
    bool ok = all && more;
    if (ok) {
        axp__graph_led(g, m, which, all, false);
        axp__graph_led(g, m, which, more, true);
        *is_slow = axp__pace_is_alike(&g->ops, g->ops.n, all, more);
    }
    free(all);
    free(more);
    return ok;
}
