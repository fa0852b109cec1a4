/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The memories of devices, and all of them in a capture; see tally_domain.h. */
#include "tally/tally_domain.h"

#include "os/os_space.h"

static struct axp__domain *find(struct axp__domain *first, uint32_t device)
{
    while (first && first->device != device)
        first = first->next;
    return first;
}

struct axp__memory *axp__domain_get(struct axp__domain **list,
                                    struct axp__budget *budget, uint32_t device)
{
    struct axp__domain *head = axp__get_acquire(list);
    struct axp__domain *d = find(head, device), *fresh = NULL;
    while (!d) {
        if (!fresh) fresh = axp__budget_map(budget, sizeof *fresh);
        if (!fresh) return NULL;
        fresh->memory.budget = budget;
        fresh->device = device;
        fresh->next = head;
        if (axp__cas(list, &head, fresh)) {
            axp__budget_force(budget, sizeof *fresh);
            return &fresh->memory;
        }
        d = find(head, device);
    }
    if (fresh) axp__budget_unmap(budget, fresh, sizeof *fresh);
    return &d->memory;
}

void axp__domains_clear(struct axp__domain **list, struct axp__budget *budget)
{
    struct axp__domain *d = *list;
    *list = NULL;
    while (d) {
        struct axp__domain *next = d->next;
        axp__memory_clear(&d->memory);
        axp__budget_unmap(budget, d, sizeof *d);
        axp__budget_give(budget, sizeof *d);
        d = next;
    }
}

/* ---- into a capture -------------------------------------------------------------- */

struct live_copy {
    const struct axp__memory *m;
    struct axp__cap_live *to;
    size_t n, cap;
    uint64_t n_steps;
};

static void count_live(void *ctx, struct axp__live_name *live)
{
    (void)live;
    ++*(size_t *)ctx;
}

static void copy_live(void *ctx, struct axp__live_name *live)
{
    struct live_copy *x = ctx;
    struct axp__live_state s = axp__memory_read(x->m, &live->account);
    struct axp__growth g =
        axp__growth_of(axp__get(&live->half_bytes),
                       axp__get(&live->power_bytes), s.held, x->n_steps);
    if (x->n == x->cap) return; /* it came meanwhile */
    x->to[x->n++] = (struct axp__cap_live){
        .name = live->name,
        .kind = axp__get(&live->kind),
        .current_bytes = axp__live_bytes(s.held),
        .peak_bytes = axp__get(&live->account.peak_bytes),
        .at_peak_bytes = axp__live_bytes(s.held_at_peak),
        .first_step_bytes = axp__get(&live->first_step_bytes),
        .since_ticks = s.since_ticks,
        .since_row = s.since_row,
        .growth_early = g.early,
        .growth_late = g.late};
}

static bool copy_memory(struct axp__capture *c, struct axp__memory *m,
                        uint64_t n_steps)
{
    struct live_copy x = {.m = m, .n_steps = n_steps};
    axp__memory_each(m, count_live, &x.cap);
    x.to = axp__cap_take(c, x.cap, sizeof *x.to);
    if (!x.to) return false;
    axp__memory_each(m, copy_live, &x);
    return axp__cap_add_live(c, x.to, x.n);
}

bool axp__domains_copy(struct axp__capture *c, struct axp__memory *host,
                       struct axp__domain *const *list, uint64_t n_steps)
{
    struct axp__domain *first = axp__get_acquire(list);
    size_t n = 0;
    for (const struct axp__domain *d = first; d; d = d->next)
        n++;
    c->domains = axp__cap_take(c, n, sizeof *c->domains);
    if (!c->domains || !copy_memory(c, host, n_steps)) return false;
    c->current_bytes = axp__memory_current(host);
    c->peak_bytes = axp__memory_peak(host);
    c->peak_ticks = axp__get(&host->peak_ticks);
    for (struct axp__domain *d = first; d; d = d->next) {
        struct axp__memory *m = &d->memory;
        if (!copy_memory(c, m, n_steps)) return false;
        axp__cap_add_domain(c, (struct axp__cap_domain){
                                   .device = d->device,
                                   .current_bytes = axp__memory_current(m),
                                   .peak_bytes = axp__memory_peak(m),
                                   .peak_ticks = axp__get(&m->peak_ticks)});
    }
    return true;
}
