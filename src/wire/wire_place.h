/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where memory was allocated, as the text of a name of kind PLACE:
 *
 *   STACK:LABEL:SCOPE,SCOPE …    ids in base 16, scopes innermost first
 *
 * A place is a stack (wire_stack.h), the scopes that were open on the thread,
 * and what the program calls the block, if it told; 0 is none. So whatever is
 * counted by name can be counted by place, and places are stored, recovered and
 * joined as names are: where ids change, the text is made anew.
 *
 * Scopes   the innermost AXP__PLACE_SCOPES; of deeper ones the rest is left out.
 * Input    of the getter untrusted.
 */
#ifndef AXP_WIRE_PLACE_H
#define AXP_WIRE_PLACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AXP__PLACE_SCOPES 64u
#define AXP__PLACE_TEXT ((AXP__PLACE_SCOPES + 2) * 9 + 1)

struct axp__heap_place_parts {
    uint32_t stack, label;
    uint32_t n_scopes;
    uint32_t scope[AXP__PLACE_SCOPES];
};

static inline char *axp__heap_place_put_id(char *to, uint32_t id)
{
    int shift = 28;
    while (shift && !(id >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[id >> shift & 15];
    return to;
}

/* There is room for AXP__PLACE_TEXT bytes. */
static inline void axp__heap_place_put(char *to,
                                       const struct axp__heap_place_parts *p)
{
    to = axp__heap_place_put_id(to, p->stack);
    *to++ = ':';
    to = axp__heap_place_put_id(to, p->label);
    *to++ = ':';
    for (uint32_t i = 0; i < p->n_scopes; i++) {
        if (i) *to++ = ',';
        to = axp__heap_place_put_id(to, p->scope[i]);
    }
    *to = 0;
}

/* Up to the character `end`, past which *text goes on. */
static inline bool axp__heap_place_get_id(const char **text, char end,
                                          uint32_t *id)
{
    const char *at = *text;
    uint64_t v = 0;
    for (; *at != end; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                    : 16;
        v = v << 4 | digit;
        if (digit == 16 || v > UINT32_MAX) return false;
    }
    if (at == *text) return false;
    *text = at + (end != 0);
    *id = (uint32_t)v;
    return true;
}

/* False: it is no such text. */
static inline bool axp__heap_place_get(const char *text,
                                       struct axp__heap_place_parts *p)
{
    p->n_scopes = 0;
    if (!axp__heap_place_get_id(&text, ':', &p->stack) ||
        !axp__heap_place_get_id(&text, ':', &p->label))
        return false;
    while (*text) {
        const char *comma = text;
        while (*comma && *comma != ',')
            comma++;
        if (p->n_scopes == AXP__PLACE_SCOPES || (*comma && !comma[1]) ||
            !axp__heap_place_get_id(&text, *comma, &p->scope[p->n_scopes]))
            return false;
        p->n_scopes++;
    }
    return true;
}

#endif
