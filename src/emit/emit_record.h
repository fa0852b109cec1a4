/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What exports that list events say of a record: its type, value and id. */
#ifndef AXP_EMIT_RECORD_H
#define AXP_EMIT_RECORD_H
#include "model/model_stream.h"

/* "start" … "step" */
const char *axp__word_event(unsigned type);

/* A counter's value, a block's bytes, a step's number; false: none. */
static inline bool axp__record_value(const struct axp__record *r, double *out)
{
    if (r->kind == AXP__R_COUNTER)
        *out = r->value;
    else if (r->kind == AXP__R_ALLOC || r->kind == AXP__R_FREE)
        *out = (double)r->bytes;
    else if (r->kind == AXP__R_STEP)
        *out = (double)r->id;
    else
        return false;
    return true;
}

/* Of an async span; the address of a block; false: none. */
static inline bool axp__record_id(const struct axp__record *r, uint64_t *out)
{
    bool is_block = r->kind == AXP__R_ALLOC || r->kind == AXP__R_FREE;
    bool is_async =
        r->kind == AXP__R_ASYNC_BEGIN || r->kind == AXP__R_ASYNC_END;
    *out = r->id;
    return is_async || (is_block && r->id);
}

#endif
