/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The names under which scopes begin that tell their dims (wire_shape.h).
 *
 * Found in a cache of the thread's by the operation and the dims: four words are
 * compared, in one of four places, since a program has a dozen shapes that it uses
 * in turn, and two of those in one place would be looked up by text each time. At
 * most 16,384 of them in a process; then an operation's further
 * shapes share one without dims, and are counted.
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

/* HOT */
static inline bool axp__shape_is(const struct axp__cached_shape *c, uint32_t op,
                                 const uint64_t dims[3])
{
    return (c->op == op) & (c->dims[0] == dims[0]) & (c->dims[1] == dims[1]) &
           (c->dims[2] == dims[2]);
}

/* The name of that shape; 0: ask axp__shape_name. The dims are read one by one,
 * as the caller has just written them: a load of what two stores wrote waits until
 * both have left the core, 6 ns on a Neoverse V1. HOT */
static inline uint32_t axp__shape_peek(struct axp__thread *t, uint32_t op,
                                       const uint32_t dims[6])
{
    uint64_t d[3];
    for (unsigned i = 0; i < 3; i++)
        d[i] = axp__get(&dims[2 * i]) | (uint64_t)axp__get(&dims[2 * i + 1])
                                            << 32;
    const struct axp__cached_shape *c = axp__shape_slot(t, op, d);
    for (unsigned way = 0; way < AXP__SHAPE_WAYS; way++)
        if (axp__likely(axp__shape_is(&c[way], op, d))) return c[way].name;
    return 0;
}

/* The same, made when new; dims[0] is not 0. */
uint32_t axp__shape_name(struct axp__lane *lane, uint32_t op,
                         const uint32_t dims[6]);
/* The operation that a name stands for: its own, but for a shape's. */
uint32_t axp__shape_op(const void *unused, uint32_t name);

#endif
