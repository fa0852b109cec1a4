/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples on their way into a recording; sampling_rows.c.
 *
 *   sample ─► stack interned ─────┐
 *          └► waits with others ──┴─► STACKS, SAMPLES
 *
 * Memory   64 Ki samples, and as many stacks as there are, up to a limit: then
 *          samples say "(no room)".
 * Failure  of writing is the pen's.
 */
#ifndef AXP_SAMPLING_ROWS_H
#define AXP_SAMPLING_ROWS_H
#include "wire/wire_pen.h"

struct axp__sample {
    uint64_t ticks; /* of the recording's clock, in any order */
    uint64_t pid, tid;
    uint64_t weight;
    uint32_t kind;
    const uint64_t *frames; /* where it was, then return addresses */
    size_t n_frames;        /* 0: not known */
};

struct axp__sampler;
struct axp__sampler *axp__sampler_create(void);    /* NULL: no memory */
void axp__sampler_destroy(struct axp__sampler *s); /* NULL allowed */
/* False: no memory, or writing failed. */
bool axp__sampler_put(struct axp__sampler *s, struct axp__pen *pen,
                      const struct axp__sample *sample);
/* What waits is in the trace; its stacks before it. */
bool axp__sampler_flush(struct axp__sampler *s, struct axp__pen *pen);
/* How many wait. */
size_t axp__sampler_waiting(const struct axp__sampler *s);

#endif
