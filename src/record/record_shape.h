/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The names under which scopes begin that tell their dims (wire_shape.h).
 *
 * Found in a cache of the thread's by the operation, the dims and the work: seven
 * words are compared, in one of four places, since a program has a dozen shapes that
 * it uses in turn, and two of those in one place would be looked up by text each
 * time. Where the work is the shape's first the name has it, so that the timeline
 * need not: 16 bytes a call instead of 40, and new pages of a spool are a good part
 * of what a call costs. A shape's other work finds the name without, which lies
 * behind the one that has it. At most 16,384 shapes in a process;
 * then an operation's further ones share one without dims, and are counted.
 *
 * Threads  inside an event: a handler may not look into the cache meanwhile.
 */
#ifndef AXP_RECORD_SHAPE_H
#define AXP_RECORD_SHAPE_H
#include "record/record_lane.h"
#include "record/record_thread.h"

#define AXP__SHAPES_LIMIT 16384u

#define AXP__SHAPE_WAYS 4u

/* Where it belongs in the cache, and in the places after that. The products wait for
 * nothing but the dims. HOT */
static inline struct axp__cached_shape *axp__shape_slot(struct axp__thread *t,
                                                        uint32_t op,
                                                        const uint64_t dims[3])
{
    uint64_t h = (dims[0] + op) * 0x9e3779b97f4a7c15u +
                 dims[1] * 0xbf58476d1ce4e5b9u + dims[2] * 0x94d049bb133111ebu;
    uint64_t set = h >> (64 - AXP__SHAPE_CACHE_BITS) & ~(AXP__SHAPE_WAYS - 1);
    return &t->shapes[set];
}

/* By their bits, so that what is no number is none of them. HOT */
static inline bool axp__shape_does(const struct axp__cached_shape *c,
                                   const struct axp__work *work)
{
    uint64_t a[4];
    __builtin_memcpy(a, &c->flops, 16);
    __builtin_memcpy(a + 2, &work->flops, 16);
    return (a[0] == a[2]) & (a[1] == a[3]) & (c->dtype == work->dtype);
}

/* HOT */
static inline bool axp__shape_is(const struct axp__cached_shape *c, uint32_t op,
                                 const uint64_t dims[3],
                                 const struct axp__work *work)
{
    return ((c->op == op) & (c->dims[0] == dims[0]) & (c->dims[1] == dims[1]) &
            (c->dims[2] == dims[2])) &&
           (!c->has_work || (work && axp__shape_does(c, work)));
}

/* That shape; NULL: ask axp__shape_name. The dims are read one by one, as the
 * caller has just written them: a load of what two stores wrote waits until both
 * have left the core, 6 ns on a Neoverse V1. HOT */
static inline const struct axp__cached_shape *axp__shape_peek(
    struct axp__thread *t, uint32_t op, const uint32_t dims[6],
    const struct axp__work *work)
{
    uint64_t d[3];
    for (unsigned i = 0; i < 3; i++)
        d[i] = axp__get(&dims[2 * i]) | (uint64_t)axp__get(&dims[2 * i + 1])
                                            << 32;
    const struct axp__cached_shape *c = axp__shape_slot(t, op, d);
    for (unsigned way = 0; way < AXP__SHAPE_WAYS; way++)
        if (axp__likely(axp__shape_is(&c[way], op, d, work))) return &c[way];
    return NULL;
}

/* Its name, made when new; dims[0] is not 0. With work, which is as it can be:
 * *has_work says whether the name has it. NULL: it is of no interest. */
uint32_t axp__shape_name(struct axp__lane *lane, uint32_t op,
                         const uint32_t dims[6], const struct axp__work *work,
                         bool *has_work);
/* The operation that a name stands for: its own, but for a shape's. */
uint32_t axp__shape_op(const void *unused, uint32_t name);

#endif
