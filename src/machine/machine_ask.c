/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a machine reaches, by type and threads; see machine.h. */
#include "machine/machine.h"

/* Which measured type a declared one is computed in: what has none of its own
 * goes through the next wider one. */
static axp_dtype measured_as(axp_dtype dtype)
{
    switch (dtype) {
    case AXP_F64:
    case AXP_C128: return AXP_F64;
    case AXP_F16: return AXP_F16;
    case AXP_BF16: return AXP_BF16;
    case AXP_F8:
    case AXP_I8: return AXP_I8;
    default: return AXP_F32;
    }
}

const struct axp__machine_compute *axp__machine_compute_of(
    const struct axp__machine *m, axp_dtype dtype)
{
    const struct axp__machine_compute *best = NULL;
    axp_dtype as = measured_as(dtype);
    for (int turn = 0; turn < 2 && !best; turn++) {
        for (size_t i = 0; i < m->n_compute; i++) {
            const struct axp__machine_compute *c = &m->compute[i];
            if (c->dtype == as && c->one.best > 0 &&
                (!best || c->all.best > best->all.best))
                best = c;
        }
        as = AXP_F32; /* the processor has no such type */
    }
    return best;
}

double axp__machine_scaled(const struct axp__machine *m, double one, double all,
                           uint32_t threads)
{
    if (threads <= 1 || m->n_threads <= 1) return one > 0 ? one : all;
    if (all <= 0) return 0;
    double many = one > 0 ? one * threads : all;
    if (many > all) many = all;
    return many > one ? many : one;
}

static size_t is_doubtful(struct axp__figure f)
{
    return f.best > 0 && f.spread > AXP__DOUBTFUL;
}

size_t axp__machine_doubtful(const struct axp__machine *m)
{
    size_t n = is_doubtful(m->hz);
    for (size_t i = 0; i < m->n_compute; i++)
        n += is_doubtful(m->compute[i].one) + is_doubtful(m->compute[i].all);
    for (size_t i = 0; i < m->n_memory; i++)
        n += is_doubtful(m->memory[i].read_one) +
             is_doubtful(m->memory[i].read_all) +
             is_doubtful(m->memory[i].move_one) +
             is_doubtful(m->memory[i].move_all);
    for (size_t i = 0; i < m->n_blas; i++)
        n += is_doubtful(m->blas[i].one) + is_doubtful(m->blas[i].all);
    return n;
}
