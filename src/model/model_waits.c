/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who waited for whom: the waits of each thread by who ended them, counted from
 * the timeline.
 *
 * Memory   as many records as there are triples of a wait's name, who waited
 *          and who ended it.
 * Input    untrusted: rows that are not there are not known.
 */
#include "model/model_waits.h"

#include <stdlib.h>

#include "base/base_text.h"
#include "record/record_thread.h"

#define NOBODY UINT32_MAX

struct axp__wait_sum {
    uint32_t name, row, by; /* rows of the stream; NOBODY: not known */
    uint64_t count;
    axp_ns total_ns, max_ns;
};

static uint64_t hash(uint32_t name, uint32_t row, uint32_t by)
{
    return axp__mix64(axp__mix64((uint64_t)name << 32 | row) + by);
}

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    const struct axp__wait_sum *w =
        &((const struct axp__wait_sums *)ctx)->at[i];
    return hash(w->name, w->row, w->by);
}

/* NULL: no memory. */
static struct axp__wait_sum *get(struct axp__wait_sums *c, uint32_t name,
                                 uint32_t row, uint32_t by)
{
    void *at = c->at;
    bool ok = axp__slots_widen(&c->slots, c, hash_of) &&
              axp__array_grow(&at, &c->cap, c->n + 1, sizeof *c->at);
    c->at = at;
    if (!ok) return NULL;
    uint32_t *slot;
    for (uint64_t k = hash(name, row, by);
         *(slot = axp__slots_at(&c->slots, k)); k++) {
        struct axp__wait_sum *w = &c->at[*slot - 1];
        if (w->name == name && w->row == row && w->by == by) return w;
    }
    c->at[c->n] = (struct axp__wait_sum){.name = name, .row = row, .by = by};
    *slot = (uint32_t)++c->n;
    c->slots.n_used++;
    return &c->at[c->n - 1];
}

bool axp__waits_take(struct axp__wait_sums *sums, const struct axp__stream *s,
                     const struct axp__record *r)
{
    if (r->kind != AXP__R_SYNC || axp__record_verb(r) != AXP_SYNC_WAITED)
        return true;
    uint32_t by =
        r->from_row == NOBODY ? NOBODY : axp__stream_find_row(s, r->from_row);
    struct axp__wait_sum *w = get(sums, r->name, r->row, by);
    if (!w) return false;
    axp_ns ns = r->time_ns - r->begin_ns;
    w->count++;
    w->total_ns += ns;
    if (ns > w->max_ns) w->max_ns = ns;
    return true;
}

static int by_total(const void *a, const void *b)
{
    const struct axp__wait_sum *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
    if (x->name != y->name) return x->name > y->name ? 1 : -1;
    if (x->row != y->row) return x->row > y->row ? 1 : -1;
    return (x->by > y->by) - (x->by < y->by);
}

static axp_waits waits_of(const axp_view *v, const struct axp__stream *s,
                          const struct axp__wait_sum *w)
{
    const struct axp__stream_row *row = axp__stream_row(s, w->row);
    const struct axp__stream_row *by =
        w->by == NOBODY ? NULL : axp__stream_row(s, w->by);
    return (axp_waits){.name = axp__view_name(v, w->name),
                       .process_id = row->process_id,
                       .thread_id = row->thread_id,
                       .thread = row->name,
                       .by_thread_id = by ? by->thread_id : 0,
                       .by_thread = by ? by->name : NULL,
                       .count = w->count,
                       .total_ns = w->total_ns,
                       .max_ns = w->max_ns};
}

/* NULL: no memory. */
static axp_waits *list_of(struct axp__wait_sums *sums,
                          const struct axp__stream *s, const axp_view *v)
{
    axp_waits *list = malloc((sums->n + 1) * sizeof *list);
    if (!list) return NULL;
    if (sums->n) qsort(sums->at, sums->n, sizeof *sums->at, by_total);
    for (size_t i = 0; i < sums->n; i++)
        list[i] = waits_of(v, s, &sums->at[i]);
    return list;
}

bool axp__waits_keep(struct axp__wait_sums *sums, const struct axp__stream *s,
                     axp_view *v)
{
    v->waits = list_of(sums, s, v);
    v->n_waits = v->waits ? sums->n : 0;
    return v->waits;
}

void axp__waits_fini(struct axp__wait_sums *sums)
{
    free(sums->at);
    free(sums->slots.at);
}

bool axp__view_has_waits(const axp_view *v)
{
    for (size_t i = 0; i < v->n_ops; i++)
        if (v->ops[i].is_wait) return true;
    return false;
}

static void give(const axp_waits *list, size_t n, axp_waits_fn fn, void *ctx)
{
    for (size_t i = 0; i < n; i++)
        if (fn(&list[i], ctx)) break;
}

static axp_status read_all(const axp_view *v, axp_waits_fn fn, void *ctx)
{
    struct axp__wait_sums sums = {0};
    struct axp__stream *s;
    const struct axp__record *r;
    axp_waits *list = NULL;
    bool ok = true;
    axp_status status =
        axp__stream_open(v, AXP__STREAM_RAW | AXP__STREAM_BY_ROW, &s);
    if (status) return status;
    while (ok && (r = axp__stream_next(s)))
        ok = axp__waits_take(&sums, s, r);
    status = axp__stream_status(s);
    if (ok && !status) list = list_of(&sums, s, v);
    if (!status && !list)
        status = axp__fail(AXP_E_NO_MEMORY, "no memory to count waits");
    if (list) give(list, sums.n, fn, ctx);
    axp__stream_close(s);
    axp__waits_fini(&sums);
    free(list);
    return status;
}

axp_status axp_view_waits(const axp_view *v, axp_waits_fn fn, void *ctx)
{
    if (!v || !fn)
        return axp__fail(AXP_E_INVALID,
                         "axp_view_waits needs a view and a function");
    if (!v->waits) return read_all(v, fn, ctx);
    give(v->waits, v->n_waits, fn, ctx);
    return AXP_OK;
}
