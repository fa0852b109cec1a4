/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Live memory along the timeline; see emit_live.h. */
#include "emit/emit_live.h"

#include <stdlib.h>

/* ---- places ------------------------------------------------------------------------ */

#define OUR_PIDS 2000000000u            /* past any process's */
#define OF_DEVICES (UINT32_MAX / 4 * 3) /* past any track: file_join.c */

struct sorted { /* a row by what it belongs to; or a process by its id */
    uint32_t major, minor, index;
};

static int by_key(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    if (x->major != y->major) return x->major > y->major ? 1 : -1;
    if (x->minor != y->minor) return x->minor > y->minor ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* A track's own memory, or that of its device. */
static uint32_t place_of(const struct axp__stream_row *r)
{
    return r->device ? OF_DEVICES + r->device : r->track;
}

/* The first row of each row's place, and of its process. */
static void find_firsts(struct axp__live *m, const struct axp__stream *s,
                        struct sorted *keys, uint32_t *of_process)
{
    uint32_t n = (uint32_t)axp__stream_n_rows(s);
    for (uint32_t i = 0; i < n; i++) {
        const struct axp__stream_row *r = axp__stream_row(s, i);
        keys[i] = (struct sorted){r->process, place_of(r), i};
    }
    qsort(keys, n, sizeof *keys, by_key);
    for (uint32_t i = 0, k; i < n; i = k) {
        uint32_t place = 0, first = UINT32_MAX;
        for (k = i; k < n && keys[k].major == keys[i].major; k++) {
            if (k == i || keys[k].minor != keys[k - 1].minor)
                place = keys[k].index;
            m->place_of[keys[k].index] = place;
            if (place < first) first = place;
        }
        for (k = i; k < n && keys[k].major == keys[i].major; k++)
            of_process[keys[k].index] = first;
    }
}

/* Places and processes get numbers in the order of rows; the first rows'
 * entries then hold these. */
static void number_places(struct axp__live *m, const struct axp__stream *s,
                          struct sorted *ids, uint32_t *of_process)
{
    size_t n = axp__stream_n_rows(s);
    for (uint32_t i = 0; i < n; i++) {
        const struct axp__stream_row *r = axp__stream_row(s, i);
        bool is_first = m->place_of[i] == i;
        if (of_process[i] == i) {
            uint32_t pid = (uint32_t)(r->process_id & INT32_MAX);
            ids[m->n_processes] = (struct sorted){pid, 0, m->n_processes};
            of_process[i] = m->n_processes++;
        } else {
            of_process[i] = of_process[of_process[i]];
        }
        if (!is_first) {
            m->place_of[i] = m->place_of[m->place_of[i]];
            continue;
        }
        m->places[m->n_places] = (struct axp__live_place){
            r->process, r->track, r->device, of_process[i], 0};
        m->place_of[i] = m->n_places++;
    }
}

/* Their own, as readers have it; the first of those that have one keeps it. */
static void choose_pids(struct axp__live *m, struct sorted *ids)
{
    qsort(ids, m->n_processes, sizeof *ids, by_key);
    for (uint32_t i = 0; i < m->n_processes; i++) {
        bool is_ours =
            ids[i].major >= OUR_PIDS || (i && ids[i].major == ids[i - 1].major);
        m->pids[ids[i].index] =
            is_ours ? OUR_PIDS + ids[i].index : ids[i].major;
    }
}

static bool make_places(struct axp__live *m, const struct axp__stream *s)
{
    size_t n = axp__stream_n_rows(s);
    struct sorted *keys = calloc(n + 1, sizeof *keys);
    uint32_t *of_process = calloc(n + 1, sizeof *of_process);
    bool ok = keys && of_process;
    if (ok) {
        find_firsts(m, s, keys, of_process);
        number_places(m, s, keys, of_process);
        choose_pids(m, keys);
    }
    free(keys);
    free(of_process);
    return ok;
}

/* What was live before the first event, in a domain of which so much is live
 * now: less what the timeline adds. */
static uint64_t before_all(uint64_t current, uint64_t more, uint64_t less)
{
    uint64_t before = current + less;
    return before > more ? before - more : 0;
}

/* The host's is its process's; a device's is its own. */
static void set_base(struct axp__live *m, const axp_view *v,
                     const uint64_t more[AXP__DEVICES],
                     const uint64_t less[AXP__DEVICES])
{
    const struct axp__capture *c = v->capture;
    bool has_host = false;
    for (uint32_t i = 0; i < m->n_places; i++) {
        struct axp__live_place *p = &m->places[i];
        uint32_t d = p->device;
        const struct axp__cap_domain *domain =
            d ? axp__cap_find_domain(c, d) : NULL;
        if (domain)
            p->bytes = before_all(domain->current_bytes, more[d], less[d]);
        if (d || p->track || has_host) continue;
        has_host = true;
        p->bytes = before_all(c->current_bytes, more[0], less[0]);
    }
}

static bool find_base(struct axp__live *m, const axp_view *v)
{
    struct axp__stream *s;
    const struct axp__record *r;
    uint64_t more[AXP__DEVICES] = {0}, less[AXP__DEVICES] = {0};
    if (axp__stream_open(v, AXP__STREAM_RAW, &s)) return false;
    while ((r = axp__stream_next(s))) {
        if (r->kind != AXP__R_ALLOC && r->kind != AXP__R_FREE) continue;
        uint32_t device = axp__stream_row(s, r->row)->device;
        *(r->kind == AXP__R_ALLOC ? &more[device] : &less[device]) += r->bytes;
    }
    bool ok = !axp__stream_status(s);
    axp__stream_close(s);
    set_base(m, v, more, less);
    return ok;
}

bool axp__live_init(struct axp__live *m, const axp_view *v,
                    const struct axp__stream *s)
{
    size_t n = axp__stream_n_rows(s);
    *m = (struct axp__live){0};
    m->places = calloc(n + 1, sizeof *m->places);
    m->place_of = calloc(n + 1, sizeof *m->place_of);
    m->pids = calloc(n + 1, sizeof *m->pids);
    if (!m->places || !m->place_of || !m->pids) return false;
    if (!make_places(m, s)) return false;
    bool is_cut = axp_view_cut_count(v) > 0;
    return !is_cut || m->n_processes != 1 || find_base(m, v);
}

void axp__live_fini(struct axp__live *m)
{
    free(m->places);
    free(m->place_of);
    free(m->pids);
}

const struct axp__live_place *axp__live_add(struct axp__live *m,
                                            const struct axp__record *r)
{
    struct axp__live_place *p = &m->places[m->place_of[r->row]];
    if (r->kind == AXP__R_FREE) /* never below 0, as the recorder counts */
        p->bytes -= r->bytes < p->bytes ? r->bytes : p->bytes;
    else if (__builtin_add_overflow(p->bytes, r->bytes, &p->bytes))
        p->bytes = UINT64_MAX;
    return p;
}
