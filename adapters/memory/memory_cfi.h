/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The unwind row of a place in the program, as the object that it is in tells:
 * the instructions of its .eh_frame entry are run up to the place. Only what a
 * walk needs is followed: CFA, return address and frame pointer.
 *
 * Place    called by memory_rows for an address it has not seen.
 * Input    the objects' tables; see memory_fde.h.
 * Threads  any, in signal handlers too: no state, no lock, no allocation.
 * Failure  a row that says so: MEMORY_ROW_UNKNOWN.
 * Not here expressions, except those that x86-64's programs have: of a stack
 *          that was realigned (gcc), of a linkage table, of the kernel's signal
 *          frame.
 */
#ifndef MEMORY_CFI_H
#define MEMORY_CFI_H
#include "memory_fde.h"
#include "memory_row.h"

memory_row memory_cfi_row(uintptr_t place);

/* The same, of an entry that was found. */
memory_row memory_cfi_run(const struct memory_fde *fde, uintptr_t place);

#endif
