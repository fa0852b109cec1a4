/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How to go from a frame to its caller, by the tables that compilers leave for
 * exceptions (.eh_frame): a row for each stretch of code, found by libdw and
 * kept as a few numbers.
 *
 *   pc ─► row (kept, by its first pc) ─► CFA = register + offset
 *            └ else libdw               registers that were kept: at CFA + n
 *
 * Cost     a row that is kept is a search; a new one is libdw's. There are as
 *          many as there are places in prologues and between calls that were
 *          met.
 * Input    the tables of any file: what libdw refuses has no row.
 * Threads  one at a time.
 */
#ifndef AXP_SAMPLING_CFI_H
#define AXP_SAMPLING_CFI_H
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampling/sampling_regs.h"

enum axp__cfi_rule {
    AXP__CFI_SAME,      /* the caller's is the callee's */
    AXP__CFI_UNDEFINED, /* nobody knows it; of the return address: the end */
    AXP__CFI_AT,        /* it lies at CFA + offset */
    AXP__CFI_OPS        /* … where an expression says */
};

struct axp__cfi_ops {
    const Dwarf_Op *at;
    size_t n;
};

struct axp__cfi_row {
    uint64_t first, end; /* pcs, as the module counts them */
    bool is_signal;      /* its caller was interrupted, and did not call */
    uint8_t cfa_reg;     /* unless cfa_ops has any */
    int64_t cfa_offset;
    struct axp__cfi_ops cfa_ops;
    struct {
        enum axp__cfi_rule rule;
        int64_t offset;
        struct axp__cfi_ops ops;
    } kept[AXP__REGS_KEPT]; /* by axp__reg_kept */
};

struct axp__cfi;

/* Of a file, whose descriptor is taken over, or of bytes, which stay the
 * caller's. NULL: it has no tables, or there is no libdw. */
struct axp__cfi *axp__cfi_open(int fd);
struct axp__cfi *axp__cfi_of_bytes(char *bytes, size_t n);
void axp__cfi_close(struct axp__cfi *c); /* NULL allowed */
/* NULL: there is none for this place. */
const struct axp__cfi_row *axp__cfi_row(struct axp__cfi *c, uint64_t pc);

#endif
