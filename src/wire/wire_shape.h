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
 * Input    of the getter untrusted.
 */
#ifndef AXP_WIRE_SHAPE_H
#define AXP_WIRE_SHAPE_H
#include "wire/wire_place.h"

#define AXP__SHAPE_DIMS 6u
#define AXP__SHAPE_TEXT ((AXP__SHAPE_DIMS + 1) * 9 + 1)

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

#endif
