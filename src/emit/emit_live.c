/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Live memory along the timeline; see emit_live.h. */
#include "emit/emit_live.h"

#include <stdlib.h>

/* ---- places ------------------------------------------------------------------------ */

#define OUR_PIDS 2000000000u /* past any process's */

static uint32_t choose_pid(const struct axp__live *m, uint64_t process_id)
{
    uint32_t pid = (uint32_t)(process_id & INT32_MAX); /* as readers have it */
    for (uint32_t i = 0; i < m->n_processes; i++)
        if (m->pids[i] == pid) return OUR_PIDS + m->n_processes;
    return pid;
}

/* The place of a row, made when it is the first of it. */
static uint32_t place_for(struct axp__live *m,
                          const struct axp__stream_row *row)
{
    uint32_t process = m->n_processes;
    for (uint32_t i = 0; i < m->n_places; i++) {
        if (m->places[i].joined != row->process) continue;
        if (m->places[i].track == row->track) return i;
        process = m->places[i].process;
    }
    if (process == m->n_processes) {
        m->pids[process] = choose_pid(m, row->process_id);
        m->n_processes++;
    }
    m->places[m->n_places] =
        (struct axp__live_place){row->process, row->track, process, 0};
    return m->n_places++;
}

/* What was live before the first event: what is live now, less what the
 * timeline adds. */
static bool find_base(struct axp__live *m, const axp_view *v)
{
    struct axp__stream *s;
    const struct axp__record *r;
    uint64_t more = 0, less = 0;
    if (axp__stream_open(v, AXP__STREAM_RAW, &s)) return false;
    while ((r = axp__stream_next(s))) {
        if (r->kind == AXP__R_ALLOC) more += r->bytes;
        if (r->kind == AXP__R_FREE) less += r->bytes;
    }
    bool ok = !axp__stream_status(s);
    axp__stream_close(s);
    for (uint32_t i = 0; i < m->n_places; i++)
        if (!m->places[i].track) {
            uint64_t before = v->capture->current_bytes + less;
            m->places[i].bytes = before > more ? before - more : 0;
            break;
        }
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
    for (uint32_t i = 0; i < n; i++)
        m->place_of[i] = place_for(m, axp__stream_row(s, i));
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
