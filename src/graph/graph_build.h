/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From records to a graph: what the files of the pass share.
 *
 *   graph_build.c  the pass; scopes, samples, steps, spans of devices
 *   graph_sync.c   what threads give each other and wait for
 *   graph_loose.c  threads that were sampled and recorded nothing
 *   graph_lend.c   what the first threads among those waited for
 *   graph_far.c    … of other processes
 *   graph_start.c  when processes began that nobody is known to have started
 */
#ifndef AXP_GRAPH_BUILD_H
#define AXP_GRAPH_BUILD_H
#include "graph/graph_objects.h"
#include "graph/graph_spent.h"
#include "model/model_samples.h"

struct axp__builder {
    axp_graph *g;
    struct axp__stream *stream;
    struct axp__objects objects;
    uint32_t *mains; /* of each process its first thread's row; AXP__NONE */
    uint32_t n_processes;
    size_t n_stream_rows;
    uint64_t *plain; /* a bit a name: a scope of it has begun, and is no wait */
};

/* What a SYNC, flow, async or CROSS record says; time is not before what the row
 * has accounted for. */
void axp__build_sync(struct axp__builder *b, const struct axp__record *r);
void axp__build_flow(struct axp__builder *b, const struct axp__record *r);
/* A wait begins, that only its end will tell more of. */
void axp__build_wait_begin(struct axp__builder *b, uint32_t row, axp_ns time_ns,
                           uint32_t op);
/* … and ends, and nobody said who ended it. */
void axp__build_wait_unknown(struct axp__builder *b, uint32_t row,
                             axp_ns time_ns);
/* Sets what time goes to from now on: the innermost open scope. */
void axp__build_set_op(struct axp__builder *b, struct axp__spent *own);

/* A sample of a row, which begins no later than began_ns. */
void axp__build_sample(struct axp__builder *b, struct axp__record *r,
                       axp_ns began_ns);
/* Once all records have been read. False: no memory. */
bool axp__build_loose(struct axp__builder *b);
/* Once all rows have ended. */
void axp__build_starts(struct axp__builder *b);
/* Of first threads, from that row on. */
void axp__build_lend(struct axp__builder *b, size_t first);

/* A sample as a record of the stream, but for its row. */
struct axp__record axp__loose_record(const axp_view *v,
                                     const struct axp__cap_sample *s);

/* By how much two ends may differ that are one: whoever waits is told late. */
static inline axp_ns axp__graph_late(const axp_graph *g)
{
    const axp_ns least = 1000000;
    axp_ns late = (g->end_ns - g->begin_ns) / 100;
    return late < least ? least : late;
}

/* NULL: no memory. */
static inline struct axp__object *axp__build_object(struct axp__builder *b,
                                                    uint32_t row, uint32_t kind,
                                                    uint64_t id)
{
    struct axp__object *o =
        axp__object_get(&b->objects, b->g->rows[row].is.process, kind, id);
    if (!o) b->g->has_failed = true;
    return o;
}

#endif
