/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From the registers of a thread and a copy of its stack to the places that it
 * will return to.
 *
 *   pc ─► mapping ─► module ─► row ─► CFA ─► return address ─► …
 *                               │            └ beyond the copy: by the kernel's
 *                               │              chain, if it leads on from here
 *                               └ none: by a search (innermost, x86-64), by
 *                                 the frame pointer
 *
 * Place    the parent of axprof run, for each sample; nothing runs in the
 *          process itself.
 * Input    registers and stack of any program: whatever lies outside of the
 *          copy is not read, and the stack pointer must rise from frame to
 *          frame, so that it ends.
 */
#ifndef AXP_SAMPLING_UNWIND_H
#define AXP_SAMPLING_UNWIND_H
#include "sampling/sampling_chain.h"
#include "sampling/sampling_layout.h"

struct axp__unwind {
    struct axp__mods *mods;
    struct axp__layout *layout;
    const struct axp__perf_sample *sample;
    struct axp__chains *chains; /* what is known, and is learned by the way */
};

struct axp__unwound {
    size_t n;       /* frames */
    uint64_t bytes; /* of the stack, that they take where no chain leads on */
    enum axp__copy copy;
};

/* Addresses in the space of the modules, innermost first. */
struct axp__unwound axp__unwind(const struct axp__unwind *u, uint64_t *out,
                                size_t cap);

#endif
