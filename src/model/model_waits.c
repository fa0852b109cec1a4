/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who waited for whom: the waits of each thread by who ended them, counted from
 * the timeline.
 *
 * Memory   as many records as there are triples of a wait's name, who waited
 *          and who ended it.
 * Input    untrusted: rows that are not there are not known.
 */
#include <stdlib.h>

#include "base/base_text.h"
#include "model/model_slots.h"
#include "model/model_stream.h"
#include "record/record_thread.h"

#define NOBODY UINT32_MAX

struct waits {
    uint32_t name, row, by; /* rows of the stream; NOBODY: not known */
    uint64_t count;
    axp_ns total_ns, max_ns;
};

struct counter {
    struct waits *at;
    size_t n, cap;
    struct axp__slots slots;
};

static uint64_t hash(uint32_t name, uint32_t row, uint32_t by)
{
    return axp__mix64(axp__mix64((uint64_t)name << 32 | row) + by);
}

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    const struct waits *w = &((const struct counter *)ctx)->at[i];
    return hash(w->name, w->row, w->by);
}

/* NULL: no memory. */
static struct waits *get(struct counter *c, uint32_t name, uint32_t row,
                         uint32_t by)
{
    void *at = c->at;
    bool ok = axp__slots_widen(&c->slots, c, hash_of) &&
              axp__array_grow(&at, &c->cap, c->n + 1, sizeof *c->at);
    c->at = at;
    if (!ok) return NULL;
    uint32_t *slot;
    for (uint64_t k = hash(name, row, by);
         *(slot = axp__slots_at(&c->slots, k)); k++) {
        struct waits *w = &c->at[*slot - 1];
        if (w->name == name && w->row == row && w->by == by) return w;
    }
    c->at[c->n] = (struct waits){.name = name, .row = row, .by = by};
    *slot = (uint32_t)++c->n;
    c->slots.n_used++;
    return &c->at[c->n - 1];
}

static bool add(struct counter *c, const struct axp__stream *s,
                const struct axp__record *r)
{
    uint32_t by =
        r->from_row == NOBODY ? NOBODY : axp__stream_find_row(s, r->from_row);
    struct waits *w = get(c, r->name, r->row, by);
    if (!w) return false;
    axp_ns ns = r->time_ns - r->begin_ns;
    w->count++;
    w->total_ns += ns;
    if (ns > w->max_ns) w->max_ns = ns;
    return true;
}

static axp_status count(struct counter *c, struct axp__stream *s)
{
    const struct axp__record *r;
    bool ok = true;
    while (ok && (r = axp__stream_next(s)))
        if (r->kind == AXP__R_SYNC && axp__record_verb(r) == AXP_SYNC_WAITED)
            ok = add(c, s, r);
    if (!ok) return axp__fail(AXP_E_NO_MEMORY, "no memory to count waits");
    return axp__stream_status(s);
}

static int by_total(const void *a, const void *b)
{
    const struct waits *x = a, *y = b;
    if (x->total_ns != y->total_ns) return x->total_ns < y->total_ns ? 1 : -1;
    if (x->name != y->name) return x->name > y->name ? 1 : -1;
    if (x->row != y->row) return x->row > y->row ? 1 : -1;
    return (x->by > y->by) - (x->by < y->by);
}

static bool give(const axp_view *v, const struct axp__stream *s,
                 const struct waits *w, axp_waits_fn fn, void *ctx)
{
    const struct axp__stream_row *row = axp__stream_row(s, w->row);
    const struct axp__stream_row *by =
        w->by == NOBODY ? NULL : axp__stream_row(s, w->by);
    axp_waits out = {.name = axp__view_name(v, w->name),
                     .process_id = row->process_id,
                     .thread_id = row->thread_id,
                     .thread = row->name,
                     .by_thread_id = by ? by->thread_id : 0,
                     .by_thread = by ? by->name : NULL,
                     .count = w->count,
                     .total_ns = w->total_ns,
                     .max_ns = w->max_ns};
    return !fn(&out, ctx);
}

bool axp__view_has_waits(const axp_view *v)
{
    for (size_t i = 0; i < v->n_ops; i++)
        if (v->ops[i].is_wait) return true;
    return false;
}

axp_status axp_view_waits(const axp_view *v, axp_waits_fn fn, void *ctx)
{
    struct counter c = {0};
    struct axp__stream *s;
    if (!v || !fn)
        return axp__fail(AXP_E_INVALID,
                         "axp_view_waits needs a view and a function");
    axp_status status =
        axp__stream_open(v, AXP__STREAM_RAW | AXP__STREAM_BY_ROW, &s);
    if (status) return status;
    status = count(&c, s);
    if (!status && c.n) qsort(c.at, c.n, sizeof *c.at, by_total);
    for (size_t i = 0; !status && i < c.n; i++)
        if (!give(v, s, &c.at[i], fn, ctx)) break;
    axp__stream_close(s);
    free(c.at);
    free(c.slots.at);
    return status;
}
