/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Open async spans; see emit_async.h. Linear probing; what follows a removed
 * entry moves up, so that there are no marks to step over. */
#include "emit/emit_async.h"

#include <stdlib.h>

#include "base/base_text.h"

void axp__asyncs_fini(struct axp__asyncs *a)
{
    free(a->at);
    *a = (struct axp__asyncs){0};
}

static size_t home(const struct axp__asyncs *a, const struct axp__async *x)
{
    uint64_t key = axp__mix64(x->id) ^ axp__mix64(~(uint64_t)x->name) ^
                   (uint64_t)x->process * 0x9e3779b97f4a7c15u;
    return axp__mix64(key) & (a->n_slots - 1);
}

/* Its slot, or the free one where it would be. */
static size_t find(const struct axp__asyncs *a, const struct axp__async *x)
{
    size_t i = home(a, x);
    for (; a->at[i].is_open; i = (i + 1) & (a->n_slots - 1))
        if (a->at[i].id == x->id && a->at[i].name == x->name &&
            a->at[i].process == x->process)
            break;
    return i;
}

static bool grow(struct axp__asyncs *a)
{
    struct axp__asyncs wider = {0};
    if (a->n * 2 < a->n_slots) return true;
    if (a->n >= AXP__MOST_ASYNCS) return false;
    wider.n_slots = a->n_slots ? a->n_slots * 2 : 64;
    wider.at = calloc(wider.n_slots, sizeof *wider.at);
    if (!wider.at) {
        a->has_failed = true;
        return false;
    }
    for (size_t i = 0; i < a->n_slots; i++)
        if (a->at[i].is_open) wider.at[find(&wider, &a->at[i])] = a->at[i];
    wider.n = a->n;
    free(a->at);
    wider.has_failed = a->has_failed;
    *a = wider;
    return true;
}

bool axp__asyncs_begin(struct axp__asyncs *a, const struct axp__record *r,
                       uint32_t process, struct axp__async *before)
{
    struct axp__async x = {r->time_ns, r->id, r->name, r->row, process, true};
    if (!grow(a)) return false;
    size_t i = find(a, &x);
    bool was_open = a->at[i].is_open;
    if (was_open) *before = a->at[i];
    a->n += !was_open;
    a->at[i] = x;
    return was_open;
}

uint32_t axp__asyncs_end(struct axp__asyncs *a, const struct axp__record *r,
                         uint32_t process)
{
    struct axp__async x = {0, r->id, r->name, r->row, process, true};
    if (!a->n) return r->row;
    size_t mask = a->n_slots - 1, hole = find(a, &x);
    if (!a->at[hole].is_open) return r->row;
    uint32_t row = a->at[hole].row;
    a->n--;
    for (size_t i = (hole + 1) & mask; a->at[i].is_open; i = (i + 1) & mask) {
        if (((i - home(a, &a->at[i])) & mask) < ((i - hole) & mask)) continue;
        a->at[hole] = a->at[i];
        hole = i;
    }
    a->at[hole].is_open = false;
    return row;
}

static int by_begin(const void *a, const void *b)
{
    const struct axp__async *x = a, *y = b;
    if (x->is_open != y->is_open) return x->is_open ? -1 : 1;
    if (x->begin_ns != y->begin_ns) return x->begin_ns > y->begin_ns ? 1 : -1;
    if (x->name != y->name) return x->name > y->name ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

void axp__asyncs_sort(struct axp__asyncs *a)
{
    if (a->n) qsort(a->at, a->n_slots, sizeof *a->at, by_begin);
}

axp_ns axp__async_end_ns(const struct axp__async *a,
                         const struct axp__stream *s, axp_ns last_ns)
{
    axp_ns end_ns = axp__stream_row(s, a->row)->end_ns;
    if (!axp__stream_is_joined(s)) end_ns = last_ns;
    return end_ns > a->begin_ns ? end_ns : a->begin_ns;
}
