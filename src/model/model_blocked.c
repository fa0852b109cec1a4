/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Time off a processor by scope and stack; see model_blocked.h. */
#include "model/model_blocked.h"

#include <stdlib.h>

#include "base/base_text.h"

#define MOST_LOOKS 64 /* at scopes that had not begun then, or are gone */

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    return axp__mix64(((const struct axp__blocked_sums *)ctx)->at[i].of);
}

/* False: no memory. */
static bool add(struct axp__blocked_sums *b, uint32_t of, axp_ns ns)
{
    void *at = b->at;
    bool ok = axp__slots_widen(&b->slots, b, hash_of) &&
              axp__array_grow(&at, &b->cap, b->n + 1, sizeof *b->at);
    b->at = at;
    if (!ok) return false;
    uint32_t *slot;
    for (uint64_t k = axp__mix64(of); *(slot = axp__slots_at(&b->slots, k));
         k++)
        if (b->at[*slot - 1].of == of) break;
    if (!*slot) {
        b->at[b->n] = (struct axp__blocked){.of = of};
        *slot = (uint32_t)++b->n;
        b->slots.n_used++;
    }
    b->at[*slot - 1].n++;
    b->at[*slot - 1].ns += ns;
    return true;
}

bool axp__blocked_take_stack(struct axp__blocked_all *all, uint32_t stack,
                             axp_ns ns)
{
    return !stack || add(&all->stacks, stack, ns);
}

bool axp__blocked_take(struct axp__blocked_all *all,
                       const struct axp__stream *s, const struct axp__record *r)
{
    size_t n;
    const struct axp__scope *open = axp__stream_scopes(s, &n);
    bool has_any = n;
    for (size_t looks = 0; n && looks < MOST_LOOKS; n--, looks++)
        if (open[n - 1].name != AXP__SCOPE_GONE &&
            open[n - 1].begin_ns <= r->begin_ns)
            return add(&all->scopes, open[n - 1].name, r->id);
    return has_any || axp__blocked_take_stack(all, r->stack, r->id);
}

void axp__blocked_keep(struct axp__blocked_all *all, axp_view *v)
{
    v->blocked = all->scopes.at;
    v->n_blocked = all->scopes.n;
    v->blocked_stacks = all->stacks.at;
    v->n_blocked_stacks = all->stacks.n;
    all->scopes.at = all->stacks.at = NULL;
}

static void fini(struct axp__blocked_sums *sums)
{
    free(sums->at);
    free(sums->slots.at);
}

void axp__blocked_fini(struct axp__blocked_all *all)
{
    fini(&all->scopes);
    fini(&all->stacks);
}
