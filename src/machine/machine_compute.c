/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arithmetic by type and instruction set, and the frequency. */
#include <stdio.h>

#include "machine/machine_item.h"
#include "machine/machine_kernel.h"

static void run_kernel(const struct axp__item *item, uint32_t thread,
                       uint64_t passes)
{
    const struct axp__kernel *k = item->of;
    (void)thread;
    k->run(passes);
}

static void run_chain(const struct axp__item *item, uint32_t thread,
                      uint64_t passes)
{
    (void)item;
    (void)thread;
    axp__kernel_chain(passes);
}

void axp__compute_add(struct axp__items *s, struct axp__machine *m)
{
    size_t n = axp__kernels(s->kernels, AXP__MACHINE_COMPUTE);
    axp__items_add(s, (struct axp__item){.what = "frequency",
                                         .threads = 1,
                                         .run = run_chain,
                                         .work = AXP__CHAIN_ADDS,
                                         .to = &m->hz});
    for (size_t i = 0; i < n; i++) {
        struct axp__machine_compute *to = &m->compute[m->n_compute++];
        struct axp__item item = {.what = "arithmetic",
                                 .threads = 1,
                                 .run = run_kernel,
                                 .of = &s->kernels[i],
                                 .work = s->kernels[i].flops,
                                 .to = &to->one};
        *to = (struct axp__machine_compute){.dtype = s->kernels[i].dtype};
        snprintf(to->isa, sizeof to->isa, "%s", s->kernels[i].isa);
        axp__items_add(s, item);
        item.threads = m->n_threads;
        item.to = &to->all;
        if (m->n_threads > 1) axp__items_add(s, item);
    }
}
