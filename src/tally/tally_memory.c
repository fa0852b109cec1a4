/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names, their slow ways, and reading; see tally_memory.h. */
#include "tally/tally_memory.h"

#include "os/os_map.h"
#include "os/os_space.h"

#define PAGE_BYTES (AXP__LIVE_PAGE * sizeof(axp__ref))

static struct axp__book book_of_all(struct axp__memory *m)
{
    return (struct axp__book){&m->slab, &m->all, &m->stamp, 0};
}

static struct axp__book book_of(struct axp__memory *m,
                                struct axp__live_name *live)
{
    return (struct axp__book){&m->slab, &live->account, &m->stamp, 0};
}

/* ---- names ---------------------------------------------------------------------- */

struct axp__live_name *axp__memory_find(struct axp__memory *m, uint32_t name)
{
    axp__ref *page = axp__get_acquire(&m->page[name / AXP__LIVE_PAGE]);
    axp__ref ref = page ? axp__get_acquire(&page[name % AXP__LIVE_PAGE]) : 0;
    return ref ? axp__slab_at(&m->slab, ref) : NULL;
}

static axp__ref *get_page(struct axp__memory *m, uint32_t name)
{
    axp__ref **where = &m->page[name / AXP__LIVE_PAGE];
    axp__ref *page = axp__get_acquire(where);
    if (page) return page;
    axp__ref *fresh = axp__budget_has(m->budget, PAGE_BYTES)
                          ? axp__budget_map(m->budget, PAGE_BYTES)
                          : NULL;
    if (fresh && axp__cas(where, &page, fresh))
        axp__budget_pay(m->budget, PAGE_BYTES);
    else
        axp__budget_unmap(m->budget, fresh, PAGE_BYTES);
    return axp__get_acquire(where);
}

struct axp__live_name *axp__memory_get(struct axp__memory *m, uint32_t name)
{
    struct axp__live_name *live = axp__memory_find(m, name);
    if (live) return live;
    axp__ref *page = get_page(m, name), none = 0;
    axp__ref ref = page ? axp__slab_new(&m->slab, m->budget) : 0;
    live = ref ? axp__slab_at(&m->slab, ref) : NULL;
    if (!live) return NULL;
    live->name = name;
    /* A record that loses this race stays unused. */
    if (axp__cas(&page[name % AXP__LIVE_PAGE], &none, ref)) return live;
    return axp__slab_at(&m->slab, none);
}

/* ---- purses ---------------------------------------------------------------------- */

/* The second to come ends the time in which the first was alone. */
static void end_alone(struct axp__memory *m)
{
    if (axp__get_acquire(&m->is_parted)) return;
    __atomic_fetch_or(&m->stamp, AXP__STAMP_SHARED, __ATOMIC_SEQ_CST);
    axp__barrier_all_threads();
    axp__put_release(&m->is_parted, 1);
}

struct axp__purse *axp__memory_join(struct axp__memory *m)
{
    struct axp__purse *own = axp__purse_join(book_of_all(m), m->budget, 0);
    if (!own) return NULL;
    if (__atomic_fetch_add(&m->n_joined, 1, __ATOMIC_ACQ_REL) ||
        !axp__barrier_is_there())
        end_alone(m);
    return own;
}

struct axp__purse *axp__memory_join_name(struct axp__memory *m,
                                         struct axp__live_name *live)
{
    return axp__purse_join(book_of(m, live), m->budget, live->name);
}

void axp__memory_release(struct axp__memory *m, axp__ref ref)
{
    struct axp__purse *p = ref ? axp__slab_at(&m->slab, ref) : NULL;
    if (p) axp__purse_release(p);
}

/* ---- events ------------------------------------------------------------------------ */

/* The name's purse has changed by `change` since it held what counts. */
static void save_for_epoch(struct axp__memory *m, struct axp__purse *own,
                           int64_t change)
{
    uint32_t stamp = axp__get(&m->stamp);
    if (axp__purse_is_saved(own, stamp))
        axp__put(&own->stamp, stamp);
    else
        axp__purse_save(own, stamp, axp__purse_held(own) - change);
}

void axp__memory_alloc_slow(struct axp__memory *m, struct axp__purses x,
                            uint64_t bytes, uint64_t now)
{
    struct axp__live_name *live = axp__memory_find(m, x.own->name);
    if (!live) return; /* the child of a fork in the middle of this */
    save_for_epoch(m, x.own, (int64_t)bytes);
    axp__purse_settle_up(book_of(m, live), x.own);
    if (axp__purse_settle_up(book_of_all(m), x.all)) {
        axp__put(&m->peak_ticks, now);
        __atomic_fetch_add(&m->stamp, AXP__STAMP_EPOCH, __ATOMIC_RELEASE);
    }
}

uint64_t axp__memory_free_slow(struct axp__memory *m, struct axp__purses x,
                               uint64_t bytes)
{
    struct axp__live_name *live = axp__memory_find(m, x.own->name);
    if (!live) return 0; /* the child of a fork in the middle of this */
    save_for_epoch(m, x.own, -(int64_t)bytes);
    uint64_t excess = axp__purse_settle_down(book_of(m, live), x.own);
    axp__purse_settle_down(book_of_all(m), x.all);
    return excess < bytes ? excess : bytes;
}

uint64_t axp__memory_free_loose(struct axp__memory *m,
                                struct axp__live_name *live,
                                struct axp__purse *all, uint64_t bytes)
{
    uint64_t excess =
        live ? axp__purse_lower_others(book_of(m, live), bytes) : bytes;
    axp__put(&all->net, all->net - bytes);
    (void)axp__memory_stamp(m);
    axp__purse_settle_down(book_of_all(m), all);
    return excess;
}

/* ---- reading ------------------------------------------------------------------------ */

struct axp__live_state axp__memory_read(const struct axp__memory *m,
                                        const struct axp__account *account)
{
    uint32_t stamp = axp__get_acquire(&m->stamp);
    struct axp__live_state s = {0};
    for (axp__ref ref = axp__get_acquire(&account->purses); ref;) {
        const struct axp__purse *p = axp__slab_at(&m->slab, ref);
        axp__live_add_purse(&s, p, stamp);
        ref = p->next;
    }
    return s;
}

uint64_t axp__memory_current(const struct axp__memory *m)
{
    return axp__live_bytes(axp__memory_read(m, &m->all).held);
}

void axp__memory_each(struct axp__memory *m,
                      void (*fn)(void *ctx, struct axp__live_name *), void *ctx)
{
    for (uint32_t i = 0; i < AXP__LIVE_PAGES; i++) {
        axp__ref *page = axp__get_acquire(&m->page[i]);
        for (uint32_t k = 0; page && k < AXP__LIVE_PAGE; k++) {
            axp__ref ref = axp__get_acquire(&page[k]);
            if (ref) fn(ctx, axp__slab_at(&m->slab, ref));
        }
    }
}

struct mark {
    struct axp__memory *m;
    bool is_first;
};

static void mark(void *ctx, struct axp__live_name *live)
{
    const struct mark *x = ctx;
    uint64_t held =
        axp__live_bytes(axp__memory_read(x->m, &live->account).held);
    if (x->is_first) axp__put(&live->first_step_bytes, held);
    axp__put(&live->half_bytes, axp__get(&live->power_bytes));
    axp__put(&live->power_bytes, held);
}

void axp__memory_mark_step(struct axp__memory *m, uint64_t n_steps)
{
    struct mark x = {m, n_steps == 1};
    axp__memory_each(m, mark, &x);
}

void axp__memory_clear(struct axp__memory *m)
{
    for (uint32_t i = 0; i < AXP__LIVE_PAGES; i++) {
        if (!m->page[i]) continue;
        axp__budget_unmap(m->budget, m->page[i], PAGE_BYTES);
        axp__budget_give(m->budget, PAGE_BYTES);
    }
    axp__slab_clear(&m->slab, m->budget);
    *m = (struct axp__memory){.budget = m->budget};
}
