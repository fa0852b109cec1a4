/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a name stands for: a type, kept in bits 8 to 15 of the name's flags, in
 * memory, in spools and in files. Only code of axprof's own gives another kind
 * than the first, so that no text a program chooses means anything. Names of
 * one text and several kinds are several names. */
#ifndef AXP_WIRE_KIND_H
#define AXP_WIRE_KIND_H
#include <stdint.h>

enum axp__name_kind {
    AXP__KIND_PLAIN,    /* what a program calls something */
    AXP__KIND_SPECIAL,  /* "(root)", "(other)", "(unnamed)": ids 0, 1, 2 */
    AXP__KIND_FUNCTION, /* an address in a module; read, it gets a name */
    AXP__KIND_WAIT,     /* waiting for another, as an adapter saw it */
    AXP__KIND_PROCESS,  /* the life of a process, seen from outside */
    AXP__KIND_OUTSIDE,  /* a row or counter of who looks from outside */
    AXP__KIND_COST /* a counter of ns that recording took; in no timeline */
};
#define AXP__KIND_SHIFT 8
#define AXP__KIND_FLAGS(kind) ((uint32_t)(kind) << AXP__KIND_SHIFT)

static inline enum axp__name_kind axp__kind_of(uint32_t flags)
{
    return (enum axp__name_kind)(flags >> AXP__KIND_SHIFT & 0xff);
}

#endif
