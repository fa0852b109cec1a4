/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Live memory along the timeline: what is allocated in each place after each
 * allocation and free. A place is a process, or a track of one.
 *
 * Place      exports that draw memory over time, fed from a stream by time.
 * Processes  are numbered here too, and have an id each: their own, unless
 *            another host's or an earlier program's is the same.
 * Cut        where the timeline has lost its beginning, it is read once to
 *            find what must have been live before it.
 */
#ifndef AXP_EMIT_LIVE_H
#define AXP_EMIT_LIVE_H
#include "model/model_stream.h"

struct axp__live_place {
    uint32_t joined;  /* the stream's number of its process */
    uint32_t track;   /* 0: the process's own memory; the first of … */
    uint32_t device;  /* … this device, which tracks share; 0: the host */
    uint32_t process; /* numbered from 0 in the order of rows */
    uint64_t bytes;
};

struct axp__live {
    struct axp__live_place *places;
    uint32_t *place_of; /* by row of the stream */
    uint32_t *pids;     /* by process */
    uint32_t n_places, n_processes;
};

/* False: no memory. */
bool axp__live_init(struct axp__live *m, const axp_view *v,
                    const struct axp__stream *s);
void axp__live_fini(struct axp__live *m);
/* Counts an ALLOC or FREE; its place, with the bytes live after it. */
const struct axp__live_place *axp__live_add(struct axp__live *m,
                                            const struct axp__record *r);
/* The process that a row belongs to. */
static inline uint32_t axp__live_process(const struct axp__live *m,
                                         uint32_t row)
{
    return m->places[m->place_of[row]].process;
}

/* Its id, which no other process has. */
static inline uint32_t axp__live_pid(const struct axp__live *m, uint32_t row)
{
    return m->pids[axp__live_process(m, row)];
}

#endif
