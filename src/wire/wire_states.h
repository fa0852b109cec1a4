/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The body of a STATES block: how long threads ran, wanted to run, and waited,
 * as the scheduler told whoever sampled them. n records of varints, and a name:
 *
 *   process, thread, begin (ticks), end (ticks after begin),
 *   ran, was ready, waited (ns), length of the name; the name
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
#include <string.h>

#include "base/base_bytes.h"

struct axp__thread_states {
    uint64_t process, tid;
    uint64_t begin_ticks, end_ticks;
    uint64_t ran_ns, ready_ns, waited_ns;
    char name[16]; /* as the kernel has it; "": of a process that was started
                    * and has not become a program by exec */
};

#define AXP__STATES_BYTES (8 * AXP__VARINT_MAX + 16)

/* Returns the bytes written; there is room for AXP__STATES_BYTES. */
static inline size_t axp__states_put(uint8_t *out,
                                     const struct axp__thread_states *s)
{
    size_t len = strnlen(s->name, sizeof s->name - 1);
    const uint64_t values[] = {
        s->process, s->tid,      s->begin_ticks, s->end_ticks - s->begin_ticks,
        s->ran_ns,  s->ready_ns, s->waited_ns,   len};
    uint8_t *at = out;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        at = axp__put_varint(at, values[i]);
    memcpy(at, s->name, len);
    return (size_t)(at - out) + len;
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
    uint64_t len = axp__get_varint(b);
    const uint8_t *name = axp__get_bytes(b, len);
    if (len >= sizeof s.name) b->is_bad = true;
    if (!b->is_bad) memcpy(s.name, name, len);
    return s;
}

#endif
