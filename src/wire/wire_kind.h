/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a name stands for, and on which device: a type, kept in the name's
 * flags, in memory, in spools and in files.
 *
 *    31      24 23      16 15       8 7        0
 *   +----------+----------+----------+----------+
 *   |    0     |  device  |   kind   |  flags   |
 *   +----------+----------+----------+----------+
 *
 * Only code of axprof's own gives another kind than the first, so that no text
 * a program chooses means anything. Names of one text and several types are
 * several names: so whatever is counted by name keeps devices apart.
 *
 * Device  0: the host. The name of a device is of a kind of its own and has the
 *         number that it stands for; numbers are a process's own, and are told
 *         by these names where recordings are joined. */
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
    AXP__KIND_COST,    /* a counter of ns that recording took; in no timeline */
    AXP__KIND_DEVICE,  /* what a device is called */
    AXP__KIND_PLACE,   /* where memory was allocated: wire_place.h */
    AXP__KIND_MODULE,  /* an object that was loaded: tally_modules.h */
    AXP__KIND_SHAPE,   /* an operation with one shape: wire_shape.h */
    AXP__KIND_MACHINE, /* what the machine can do: machine_text.c */
    AXP__KIND_WORK     /* a shape and what each call does: wire_shape.h */
};
#define AXP__KIND_SHIFT 8
#define AXP__KIND_FLAGS(kind) ((uint32_t)(kind) << AXP__KIND_SHIFT)

#define AXP__DEVICES 256u      /* numbers; 0 is the host … */
#define AXP__DEVICE_OTHER 255u /* … and this stands for all without one */
#define AXP__DEVICE_OTHER_TEXT "(other devices)"
#define AXP__DEVICE_SHIFT 16
#define AXP__DEVICE_FLAGS(device) ((uint32_t)(device) << AXP__DEVICE_SHIFT)

/* Kind and device: with the text they make a name. */
#define AXP__TYPE_FLAGS (AXP__KIND_FLAGS(0xff) | AXP__DEVICE_FLAGS(0xff))

static inline enum axp__name_kind axp__kind_of(uint32_t flags)
{
    return (enum axp__name_kind)(flags >> AXP__KIND_SHIFT & 0xff);
}

static inline uint32_t axp__device_of(uint32_t flags)
{
    return flags >> AXP__DEVICE_SHIFT & 0xff;
}

#endif
