/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a loaded object says about how one of its functions is left: its entry
 * in .eh_frame (an FDE, with the CIE that it shares with others).
 *
 * Place    memory_cfi runs the two programs that are found here.
 * Input    the objects' own tables. They are mapped for as long as the object
 *          is, whose code is on the caller's stack. Every read is inside the
 *          object's mapping, so that tables that are cut off or odd find
 *          nothing; they are not suspected of worse.
 * Threads  any, in signal handlers too: _dl_find_object takes no lock.
 * Not here .debug_frame, code that registers its frames itself (JIT), hash
 *          tables other than the one that every linker writes.
 */
#ifndef MEMORY_FDE_H
#define MEMORY_FDE_H
#include <stdbool.h>
#include <stdint.h>

#include "memory_bytes.h"

struct memory_fde {
    uintptr_t start; /* of the function */
    uint64_t code_align;
    int64_t data_align;
    bool is_signal;             /* a trampoline that the kernel returns to */
    bool has_more;              /* data for others precedes its program */
    struct memory_bytes common; /* the CIE's program, to be run first */
    struct memory_bytes own;
};

enum memory_fde_found {
    MEMORY_FDE_FOUND,
    MEMORY_FDE_MISSING, /* the object has none for it, or odd ones */
    MEMORY_FDE_NOWHERE, /* no object's code at all */
};

/* Can the C library be asked for objects, as glibc can since 2.35? If not, all
 * is nowhere. */
bool memory_fde_can_find(void);

/* Of an address inside an instruction of the function. */
enum memory_fde_found memory_fde_find(uintptr_t place, struct memory_fde *fde);

/* The same, in a given .eh_frame_hdr: all that is read is from low to high. */
enum memory_fde_found memory_fde_search(uintptr_t place, const uint8_t *header,
                                        const uint8_t *low, const uint8_t *high,
                                        struct memory_fde *fde);

#endif
