/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What stands beside the events: what they say of themselves, each different
 * thing once; arrows between them; who ended waits; and what merged blocks stand
 * for. */
#include "emit/emit_html.h"

#include <math.h>
#include <stdlib.h>

#define MOST_ARGS 65535u
#define MOST_FLOWS 2000000u
#define MOST_MOVES 50000000u /* in all; past it flows of merged ones go */

struct entry {
    uint64_t flops, bytes; /* the doubles' bits, so that equal ones compare */
    uint32_t dtype, n_dims, dims[6];
    uint32_t string; /* number + 1; 0: none */
    uint32_t pad;    /* hashed: 0 */
};

struct axp__html_args {
    struct entry *all;
    size_t n, cap;
    uint32_t *slots; /* number + 1 */
    size_t n_slots;
};

void axp__html_tables_fini(struct axp__html_tables *t)
{
    if (t->args) {
        free(t->args->all);
        free(t->args->slots);
    }
    free(t->args);
    free(t->flows);
    free(t->wakers);
}

/* ---- args ------------------------------------------------------------------------ */

static size_t slot_of(const struct axp__html_args *a, const struct entry *e)
{
    size_t mask = a->n_slots - 1;
    size_t i = axp__html_hash(e, sizeof *e) & mask;
    while (a->slots[i] && memcmp(&a->all[a->slots[i] - 1], e, sizeof *e) != 0)
        i = (i + 1) & mask;
    return i;
}

static struct axp__html_args *make_args(struct axp__html_tables *t)
{
    struct axp__html_args *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->n_slots = (size_t)2 * (MOST_ARGS + 1);
    a->slots = calloc(a->n_slots, sizeof *a->slots);
    if (!a->slots) {
        free(a);
        return NULL;
    }
    t->args = a;
    return a;
}

static uint32_t args_id(struct axp__html_tables *t, const struct entry *e)
{
    struct axp__html_args *a = t->args ? t->args : make_args(t);
    if (!a) {
        t->has_failed = true;
        return 0;
    }
    size_t slot = slot_of(a, e);
    if (a->slots[slot]) return a->slots[slot];
    if (a->n == MOST_ARGS) return 0;
    struct entry *wider = axp__html_grow(a->all, a->n, &a->cap, sizeof *wider);
    if (!wider) {
        t->has_failed = true;
        return 0;
    }
    a->all = wider;
    a->all[a->n++] = *e;
    return a->slots[slot] = (uint32_t)a->n;
}

uint32_t axp__html_work(struct axp__html_tables *t,
                        const struct axp__scope_work *work)
{
    struct entry e;
    memset(&e, 0, sizeof e);
    memcpy(&e.flops, &work->flops, sizeof e.flops);
    memcpy(&e.bytes, &work->bytes, sizeof e.bytes);
    e.dtype = work->dtype;
    e.n_dims = work->n_dims < 6 ? work->n_dims : 6;
    memcpy(e.dims, work->dims, e.n_dims * sizeof *e.dims);
    return args_id(t, &e);
}

uint32_t axp__html_text(struct axp__html_tables *t, uint32_t string)
{
    struct entry e;
    if (string == UINT32_MAX) return 0;
    memset(&e, 0, sizeof e);
    e.string = string + 1;
    return args_id(t, &e);
}

static void put_known(struct axp__json *j, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    axp__json_next(j);
    axp__out_f64(j->o, value > 0 ? value : NAN); /* null */
}

static void put_entry(struct axp__json *j, const struct entry *e)
{
    axp__json_next(j);
    axp__json_begin(j, '[');
    put_known(j, e->flops);
    put_known(j, e->bytes);
    axp__json_next(j);
    axp__out_u64(j->o, e->dtype);
    axp__json_next(j);
    axp__json_begin(j, '[');
    for (uint32_t k = 0; k < e->n_dims; k++) {
        axp__json_next(j);
        axp__out_u64(j->o, e->dims[k]);
    }
    axp__json_end(j, ']');
    axp__json_next(j);
    axp__out_i64(j->o, (int64_t)e->string - 1);
    axp__json_end(j, ']');
}

void axp__html_args_put(const struct axp__html_tables *t, struct axp__json *j)
{
    axp__json_begin(j, '[');
    for (size_t i = 0; t->args && i < t->args->n; i++)
        put_entry(j, &t->args->all[i]);
    axp__json_end(j, ']');
}

/* ---- flows -------------------------------------------------------------------------- */

void axp__html_flow(struct axp__html_tables *t, struct axp__html_flow flow)
{
    if (t->n_flows == MOST_FLOWS) return;
    struct axp__html_flow *wider =
        axp__html_grow(t->flows, t->n_flows, &t->flows_cap, sizeof *wider);
    if (!wider) {
        t->has_failed = true;
        return;
    }
    t->flows = wider;
    t->flows[t->n_flows++] = flow;
}

void axp__html_flows_move(struct axp__html_tables *t, uint64_t event)
{
    for (size_t i = t->n_flows; i && t->flows[i - 1].event > event; i--) {
        if (t->n_moved++ > MOST_MOVES) {
            t->n_flows = i - 1;
            return;
        }
        t->flows[i - 1].event = event;
    }
}

/* Those of an id together, by time; what goes out before what comes in. */
static int by_id(const void *a, const void *b)
{
    const struct axp__html_flow *x = a, *y = b;
    if (x->id != y->id) return x->id > y->id ? 1 : -1;
    if (x->time_ns != y->time_ns) return x->time_ns > y->time_ns ? 1 : -1;
    return (int)x->is_in - (int)y->is_in;
}

struct arrow {
    uint64_t from, to;
};

static int by_from(const void *a, const void *b)
{
    const struct arrow *x = a, *y = b;
    if (x->from != y->from) return x->from > y->from ? 1 : -1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Each IN goes with the last OUT of its id. */
static size_t pair_flows(struct axp__html_tables *t, struct arrow *arrows)
{
    size_t n = 0;
    const struct axp__html_flow *out = NULL;
    qsort(t->flows, t->n_flows, sizeof *t->flows, by_id);
    for (size_t i = 0; i < t->n_flows; i++) {
        const struct axp__html_flow *f = &t->flows[i];
        if (!f->is_in)
            out = f;
        else if (out && out->id == f->id && out->event != f->event)
            arrows[n++] = (struct arrow){out->event, f->event};
    }
    if (n) qsort(arrows, n, sizeof *arrows, by_from);
    return n;
}

static void write_arrows(struct axp__html_job *job, const struct arrow *arrows,
                         size_t n, uint64_t *column)
{
    struct axp__html_packer *p = job->events.packer;
    bool ok = axp__html_pack_begin(p, (uint32_t)n, 2);
    for (size_t i = 0; i < n; i++)
        column[i] = arrows[i].from - (i ? arrows[i - 1].from : 0);
    if (ok) axp__html_pack_u64(p, column);
    for (size_t i = 0; i < n; i++) {
        int64_t d = (int64_t)(arrows[i].to - (i ? arrows[i - 1].to : 0));
        column[i] = d < 0 ? (uint64_t)(-d) * 2 - 1 : (uint64_t)d * 2;
    }
    if (ok) axp__html_pack_u64(p, column);
    if (!ok)
        axp__html_fail(job, AXP_E_NO_MEMORY);
    else
        axp__html_write_table(job, &(struct axp__html_table){.kind = "flows",
                                                             .n_columns = 2,
                                                             .n = (uint32_t)n});
}

void axp__html_flows_write(struct axp__html_job *job)
{
    struct axp__html_tables *t = &job->tables;
    if (!t->n_flows) return;
    struct arrow *arrows = malloc(t->n_flows * sizeof *arrows);
    uint64_t *column = malloc(t->n_flows * sizeof *column);
    if (!arrows || !column)
        axp__html_fail(job, AXP_E_NO_MEMORY);
    else {
        size_t n = pair_flows(t, arrows);
        if (n) write_arrows(job, arrows, n, column);
    }
    free(arrows);
    free(column);
}

/* ---- who ended waits ------------------------------------------------------------------ */

void axp__html_waker(struct axp__html_tables *t, struct axp__html_waker waker)
{
    if (t->n_wakers == MOST_FLOWS) return;
    struct axp__html_waker *wider =
        axp__html_grow(t->wakers, t->n_wakers, &t->wakers_cap, sizeof *wider);
    if (!wider) {
        t->has_failed = true;
        return;
    }
    t->wakers = wider;
    t->wakers[t->n_wakers++] = waker;
}

void axp__html_wakers_forget(struct axp__html_tables *t, uint64_t event)
{
    while (t->n_wakers && t->wakers[t->n_wakers - 1].event >= event)
        t->n_wakers--;
}

void axp__html_wakers_write(struct axp__html_job *job)
{
    const struct axp__html_tables *t = &job->tables;
    struct axp__html_packer *p = job->events.packer;
    size_t n = t->n_wakers;
    if (!n) return;
    uint64_t *columns = malloc(3 * n * sizeof *columns);
    bool ok = columns && axp__html_pack_begin(p, (uint32_t)n, 3);
    for (size_t i = 0; ok && i < n; i++) {
        columns[i] = t->wakers[i].event - (i ? t->wakers[i - 1].event : 0);
        columns[n + i] = t->wakers[i].thread;
        columns[2 * n + i] = t->wakers[i].before_ns;
    }
    for (size_t k = 0; ok && k < 3; k++)
        axp__html_pack_u64(p, columns + k * n);
    if (!ok)
        axp__html_fail(job, AXP_E_NO_MEMORY);
    else
        axp__html_write_table(job, &(struct axp__html_table){.kind = "wakers",
                                                             .n_columns = 3,
                                                             .n = (uint32_t)n});
    free(columns);
}

/* ---- merged blocks -------------------------------------------------------------------- */

void axp__html_blocks_write(struct axp__html_job *job)
{
    const struct axp__html_events *e = &job->events;
    size_t n = e->n_blocks;
    if (!n) return;
    uint64_t *columns = malloc(3 * n * sizeof *columns);
    bool ok = columns && axp__html_pack_begin(e->packer, (uint32_t)n, 3);
    for (size_t i = 0; ok && i < n; i++) {
        columns[i] = e->blocks[i].event;
        columns[n + i] = e->blocks[i].count;
        columns[2 * n + i] = e->blocks[i].sum_ns;
    }
    for (size_t k = 0; ok && k < 3; k++)
        axp__html_pack_u64(e->packer, columns + k * n);
    if (!ok)
        axp__html_fail(job, AXP_E_NO_MEMORY);
    else
        axp__html_write_table(job, &(struct axp__html_table){.kind = "merged",
                                                             .n_columns = 3,
                                                             .n = (uint32_t)n});
    free(columns);
}
