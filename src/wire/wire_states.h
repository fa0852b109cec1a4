/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The body of a STATES block: how long threads ran, wanted to run, and waited,
 * as the scheduler told whoever sampled them. n records of varints:
 *
 *   process, thread, begin (ticks), end (ticks after begin),
 *   ran, was ready, waited (ns)
 *
 * What was neither is not known: before the first record of the thread. Ready is
 * a thread that was taken off its processor though it wanted to go on, or that
 * has begun and has none yet; one that was woken and has none yet still counts as
 * waiting, since nobody tells when it was woken.
 *
 * Place    put by sampling_states.c, got by file_states.c.
 * Input    of the getter untrusted.
 */
#ifndef AXP_WIRE_STATES_H
#define AXP_WIRE_STATES_H
#include "base/base_bytes.h"

struct axp__thread_states {
    uint64_t process, tid;
    uint64_t begin_ticks, end_ticks;
    uint64_t ran_ns, ready_ns, waited_ns;
};

#define AXP__STATES_BYTES (7 * AXP__VARINT_MAX)

/* Returns the bytes written; there is room for AXP__STATES_BYTES. */
static inline size_t axp__states_put(uint8_t *out,
                                     const struct axp__thread_states *s)
{
    const uint64_t values[] = {
        s->process, s->tid,      s->begin_ticks, s->end_ticks - s->begin_ticks,
        s->ran_ns,  s->ready_ns, s->waited_ns};
    uint8_t *at = out;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        at = axp__put_varint(at, values[i]);
    return (size_t)(at - out);
}

/* is_bad of the bytes: there was none. */
static inline struct axp__thread_states axp__states_get(struct axp__bytes *b)
{
    struct axp__thread_states s = {.process = axp__get_varint(b) & UINT32_MAX};
    s.tid = axp__get_varint(b);
    s.begin_ticks = axp__get_varint(b);
    s.end_ticks = s.begin_ticks + axp__get_varint(b);
    s.ran_ns = axp__get_varint(b);
    s.ready_ns = axp__get_varint(b);
    s.waited_ns = axp__get_varint(b);
    return s;
}

#endif
