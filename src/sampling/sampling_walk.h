/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One step of a walk up a stack: from a frame to its caller, by the tables of its
 * code, or by the frame pointer; and what the place of a frame is called.
 *
 * Who takes the steps: sampling_unwind.c. For code that has no tables a search
 * comes first: sampling_search.c.
 *
 * Input    any program's: what lies outside of the copy of its stack is not read. */
#ifndef AXP_SAMPLING_WALK_H
#define AXP_SAMPLING_WALK_H
#include "sampling/sampling_cfi.h"
#include "sampling/sampling_regs.h"
#include "sampling/sampling_unwind.h"

#define AXP__FRAME_MOST ((uint64_t)1 << 24) /* bytes, by the frame pointer */

struct axp__regs {
    uint64_t reg[AXP__DWARF_REGS]; /* DWARF's numbers; the pc among them */
};

struct axp__walk {
    const struct axp__unwind *of;
    uint64_t stack; /* address of the copy */
    struct axp__regs now;
    bool is_below;   /* the stack pointer is higher: by how much is not known */
    bool is_short;   /* of a search: what it looks for may be beyond the copy */
    size_t link;     /* of the chain: what the frame pointer leads to now */
    uint64_t needed; /* bytes of the copy, that no chain replaces */
};

enum axp__walked {
    AXP__WALK_DONE,
    AXP__WALK_WAS_LAST,
    AXP__WALK_CUT, /* the copy of the stack ends */
    AXP__WALK_LOST
};

/* At the sample's own registers. */
void axp__walk_begin(struct axp__walk *w);
/* A word of the copy; false: it is not in it. */
bool axp__walk_load(const struct axp__walk *w, uint64_t address, uint64_t *out);
/* Without what aarch64 may sign a return address with. */
uint64_t axp__walk_plain(uint64_t address);
/* aarch64: the pc is where the link register leads. */
void axp__walk_set_link(struct axp__regs *f);
/* What the place of the frame is called, in the space of the modules, 0: nothing
 * is known there; and its row, NULL: no tables. Other than of the innermost frame
 * (is_exact) it is what a call returns to, and belongs to that call. */
uint64_t axp__walk_place(const struct axp__walk *w, bool is_exact,
                         const struct axp__cfi_row **row);
enum axp__walked axp__walk_by_row(struct axp__walk *w,
                                  const struct axp__cfi_row *row);
enum axp__walked axp__walk_by_pointer(struct axp__walk *w);

#endif
