/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows of call frame information; see sampling_cfi.h. */
#include "sampling/sampling_cfi.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/symbol_libdw.h"

#define FRONT 1024u /* of places that were asked for last, a power of 2 */

struct axp__cfi {
    const struct axp__libdw *dw;
    int fd; /* -1: bytes */
    Elf *elf;
    Dwarf_CFI *tables;
    struct axp__cfi_row **row; /* by first pc; they do not overlap */
    size_t n, cap;
    struct {
        uint64_t pc;
        const struct axp__cfi_row *row; /* NULL: there is none */
    } front[FRONT];
};

/* ---- opening ------------------------------------------------------------ */

/* Read, not mapped: whoever cuts the file meanwhile would end us (SIGBUS). */
static struct axp__cfi *begin(int fd, char *bytes, size_t n)
{
    struct axp__cfi *c = calloc(1, sizeof *c);
    if (!c) {
        if (fd >= 0) close(fd);
        return NULL;
    }
    c->fd = fd;
    c->dw = axp__libdw_load();
    if (c->dw) {
        c->dw->elf_version(EV_CURRENT);
        c->elf = bytes ? c->dw->elf_memory(bytes, n)
                       : c->dw->elf_begin(fd, ELF_C_READ, NULL);
    }
    if (c->elf) c->tables = c->dw->dwarf_getcfi_elf(c->elf);
    memset(c->front, 0xff, sizeof c->front); /* no pc */
    if (c->tables) return c;
    axp__cfi_close(c);
    return NULL;
}

struct axp__cfi *axp__cfi_open(int fd)
{
    return begin(fd, NULL, 0);
}

struct axp__cfi *axp__cfi_of_bytes(char *bytes, size_t n)
{
    return begin(-1, bytes, n);
}

void axp__cfi_close(struct axp__cfi *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->n; i++)
        free(c->row[i]);
    free(c->row);
    if (c->tables) c->dw->dwarf_cfi_end(c->tables);
    if (c->elf) c->dw->elf_end(c->elf);
    if (c->fd >= 0) close(c->fd);
    free(c);
}

/* ---- a row -------------------------------------------------------------- */

/* An expression in the tables stays as long as they; a short one that libdw
 * made is in the frame, and goes with it. */
static bool set_cfa(struct axp__cfi_row *row, const Dwarf_Op *ops, size_t n)
{
    if (n == 1 && ops->atom == DW_OP_bregx && ops->number < AXP__DWARF_REGS) {
        row->cfa_reg = (uint8_t)ops->number;
        row->cfa_offset = (int64_t)ops->number2;
        return true;
    }
    if (n == 1 && ops->atom >= DW_OP_breg0 && ops->atom <= DW_OP_breg31) {
        row->cfa_reg = (uint8_t)(ops->atom - DW_OP_breg0);
        row->cfa_offset = (int64_t)ops->number;
        return row->cfa_reg < AXP__DWARF_REGS;
    }
    if (n == 1 && ops->atom == DW_OP_bregx) return false; /* none of ours */
    row->cfa_ops = (struct axp__cfi_ops){ops, n};
    return n;
}

static void set_kept(struct axp__cfi_row *row, size_t i, const Dwarf_Op *mem,
                     const Dwarf_Op *ops, size_t n)
{
    row->kept[i].rule = AXP__CFI_UNDEFINED;
    if (!n) {
        if (!ops) row->kept[i].rule = AXP__CFI_SAME;
    } else if (ops != mem) {
        row->kept[i].rule = AXP__CFI_OPS;
        row->kept[i].ops = (struct axp__cfi_ops){ops, n};
    } else if (ops[0].atom == DW_OP_call_frame_cfa &&
               (n == 1 || (n == 2 && ops[1].atom == DW_OP_plus_uconst))) {
        row->kept[i].rule = AXP__CFI_AT;
        row->kept[i].offset = n == 2 ? (int64_t)ops[1].number : 0;
    }
}

static struct axp__cfi_row *read_row(struct axp__cfi *c, uint64_t pc)
{
    Dwarf_Frame *frame;
    Dwarf_Op *ops, mem[3];
    size_t n;
    struct axp__cfi_row *row = calloc(1, sizeof *row);
    if (!row) return NULL;
    if (c->dw->dwarf_cfi_addrframe(c->tables, pc, &frame)) {
        free(row);
        return NULL;
    }
    bool ok = c->dw->dwarf_frame_info(frame, &row->first, &row->end,
                                      &row->is_signal) >= 0 &&
              row->first <= pc && pc < row->end &&
              !c->dw->dwarf_frame_cfa(frame, &ops, &n) && set_cfa(row, ops, n);
    for (size_t i = 0; ok && i < AXP__REGS_KEPT; i++) {
        ok = !c->dw->dwarf_frame_register(frame, axp__reg_kept[i], mem, &ops,
                                          &n);
        if (ok) set_kept(row, i, mem, ops, n);
    }
    free(frame);
    if (ok) return row;
    free(row);
    return NULL;
}

/* ---- those that are kept ------------------------------------------------ */

/* The first that ends after the pc. */
static size_t place_of(const struct axp__cfi *c, uint64_t pc)
{
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (c->row[mid]->end <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static const struct axp__cfi_row *keep(struct axp__cfi *c,
                                       struct axp__cfi_row *row, size_t at)
{
    if (c->n == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 64;
        struct axp__cfi_row **wider = realloc(c->row, cap * sizeof *wider);
        if (!wider) {
            free(row);
            return NULL;
        }
        c->row = wider;
        c->cap = cap;
    }
    memmove(c->row + at + 1, c->row + at, (c->n - at) * sizeof *c->row);
    c->row[at] = row;
    c->n++;
    return row;
}

const struct axp__cfi_row *axp__cfi_row(struct axp__cfi *c, uint64_t pc)
{
    size_t slot = (pc ^ pc >> 10) & (FRONT - 1);
    if (c->front[slot].pc == pc) return c->front[slot].row;
    size_t at = place_of(c, pc);
    const struct axp__cfi_row *row = NULL;
    if (at < c->n && c->row[at]->first <= pc) {
        row = c->row[at];
    } else {
        struct axp__cfi_row *fresh = read_row(c, pc);
        if (fresh) row = keep(c, fresh, at);
    }
    c->front[slot].pc = pc;
    c->front[slot].row = row;
    return row;
}
