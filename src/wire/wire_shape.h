/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An operation with one shape, as the text of a name of kind SHAPE:
 *
 *   OP:DIM,DIM …    the id of the operation's name and the dims, in base 16
 *
 * A scope that tells its dims begins under such a name: so whatever is counted by
 * name and place is counted by shape too, and shapes are stored, recovered and
 * joined as names are. An operation is what the names of all its shapes stand
 * for. Without dims: those shapes of the operation that found no room.
 *
 *   SHAPE:FLOPS,BYTES,DTYPE    the id of such a name, and what each call does
 *
 * is the text of one of kind WORK, the numbers as the bits of doubles. What a
 * product does follows from its shape, so the timeline need not say it each time:
 * a scope that begins under such a name has done that. A shape has one at most,
 * of the first work that was told with it; a call that does something else begins
 * under the shape's own name, and tells its work.
 *
 * Input    of the getters untrusted.
 */
#ifndef AXP_WIRE_SHAPE_H
#define AXP_WIRE_SHAPE_H
#include "wire/wire_place.h"

#define AXP__SHAPE_DIMS 6u
#define AXP__SHAPE_TEXT ((AXP__SHAPE_DIMS + 1) * 9 + 1)
#define AXP__SHAPE_WORK_TEXT 64u
/* No more FLOPs or bytes are believed: 2^993 and more, and what is no number. */
#define AXP__SHAPE_HUGE ((uint64_t)0x7e0 << 52)

struct axp__shape {
    uint32_t op; /* a name before its own */
    uint32_t n_dims, dims[AXP__SHAPE_DIMS];
};

/* There is room for AXP__SHAPE_TEXT bytes. */
static inline void axp__shape_put(char *to, const struct axp__shape *s)
{
    to = axp__heap_place_put_id(to, s->op);
    *to++ = ':';
    for (uint32_t i = 0; i < s->n_dims; i++) {
        if (i) *to++ = ',';
        to = axp__heap_place_put_id(to, s->dims[i]);
    }
    *to = 0;
}

/* Of the name with that id; false: it is no such text. */
static inline bool axp__shape_get(const char *text, uint32_t id,
                                  struct axp__shape *s)
{
    s->n_dims = 0;
    if (!axp__heap_place_get_id(&text, ':', &s->op) || s->op >= id)
        return false;
    while (*text) {
        const char *comma = text;
        while (*comma && *comma != ',')
            comma++;
        if (s->n_dims == AXP__SHAPE_DIMS || (*comma && !comma[1]) ||
            !axp__heap_place_get_id(&text, *comma, &s->dims[s->n_dims]) ||
            !s->dims[s->n_dims])
            return false;
        s->n_dims++;
    }
    return true;
}

/* The bits of what a call of a shape does. */
struct axp__shape_work {
    uint32_t shape; /* a name before its own */
    uint32_t dtype;
    uint64_t flops, bytes;
};

static inline char *axp__shape_put_bits(char *to, uint64_t bits)
{
    to = axp__heap_place_put_id(to, (uint32_t)(bits >> 32));
    *to++ = '.';
    return axp__heap_place_put_id(to, (uint32_t)bits);
}

static inline bool axp__shape_get_bits(const char **text, char end,
                                       uint64_t *bits)
{
    uint32_t high, low;
    if (!axp__heap_place_get_id(text, '.', &high) ||
        !axp__heap_place_get_id(text, end, &low))
        return false;
    *bits = (uint64_t)high << 32 | low;
    return *bits < AXP__SHAPE_HUGE;
}

/* There is room for AXP__SHAPE_WORK_TEXT bytes. */
static inline void axp__shape_work_put(char *to,
                                       const struct axp__shape_work *w)
{
    to = axp__heap_place_put_id(to, w->shape);
    *to++ = ':';
    to = axp__shape_put_bits(to, w->flops);
    *to++ = ',';
    to = axp__shape_put_bits(to, w->bytes);
    *to++ = ',';
    to = axp__heap_place_put_id(to, w->dtype);
    *to = 0;
}

/* Of the name with that id; false: it is no such text. */
static inline bool axp__shape_work_get(const char *text, uint32_t id,
                                       struct axp__shape_work *w)
{
    return axp__heap_place_get_id(&text, ':', &w->shape) && w->shape < id &&
           axp__shape_get_bits(&text, ',', &w->flops) &&
           axp__shape_get_bits(&text, ',', &w->bytes) &&
           axp__heap_place_get_id(&text, 0, &w->dtype);
}

#endif
