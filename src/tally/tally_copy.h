/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A lane of a capture out of a tally, wherever that lies: in this process,
 * while its thread goes on; in the spool of another; in a fold.
 *
 * Records are copied one by one, each between two equal, even versions of its
 * op: the node is the unit of consistency, since a whole thread at 14 ns a
 * scope never holds still.
 *
 * Input    a source may give NULL for any ref, and any record may say
 *          anything: what lies behind is left out.
 * Not here open scopes: whoever calls knows what may change them. He copies
 *          each by axp__copy_frame.
 */
#ifndef AXP_TALLY_COPY_H
#define AXP_TALLY_COPY_H
#include "tally/tally_capture.h"
#include "tally/tally_step.h"

struct axp__copy_source {
    /* The record of a ref; NULL: it is not there. */
    const void *(*at)(const struct axp__copy_source *s, axp__ref ref,
                      size_t bytes);
    const void *ctx; /* of at */
    const struct axp__lists *first;
    uint64_t *n_left;     /* records that lists may still have; NULL: any */
    uint64_t most_pages;  /* of histograms */
    uint64_t heap_now;    /* of the heap that its places are of … */
    uint64_t start_ticks; /* … since when, and … */
    uint32_t when_shift;  /* … how its times are stored (tally_heap.h) */
    uint32_t most_tries;  /* to find a record that nobody changes meanwhile */
};

/* That of a tally in this process. is_changing: its owner goes on. */
AXP_API struct axp__copy_source axp__copy_from(const struct axp__tally *t,
                                               bool is_changing);

/* How many there are of each now, and room for them; what is added later is
 * left out. False: no memory. */
AXP_API bool axp__copy_size(struct axp__capture *c, struct axp__cap_lane *to,
                            const struct axp__copy_source *s);
/* After it, and again if something changed. refs: one for each node, those of
 * the source. A call is seen with its extremes if nodes come before ops. */
AXP_API void axp__copy_nodes(struct axp__cap_lane *to, axp__ref *refs,
                             const struct axp__copy_source *s);
AXP_API void axp__copy_ops(struct axp__cap_lane *to, uint32_t n_pages,
                           const struct axp__copy_source *s);
AXP_API void axp__copy_small(struct axp__cap_lane *to,
                             const struct axp__copy_source *s);

/* An open scope of a node, by its place among a lane's. */
static inline void axp__copy_frame(struct axp__cap_frame *to,
                                   const struct axp__frame *f, int32_t node)
{
    to->node = node;
    to->flags = axp__frame_flags(f);
    to->begin_ticks = axp__get(&f->begin_ticks);
    to->charged_ticks = to->flags & AXP__F_MOVED ? axp__get(&f->charged_ticks)
                                                 : to->begin_ticks;
    to->child_ticks = axp__frame_child_ticks(f);
}

#endif
