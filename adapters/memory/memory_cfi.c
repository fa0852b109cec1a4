/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs .eh_frame's instructions; see memory_cfi.h.
 *
 * Each function has a part of the instructions and says whether it knew one;
 * where they are read past their end the range of bytes is marked as bad, and
 * the row is unknown.
 */
#include "memory_cfi.h"

#include <stddef.h>

#define MOST_REMEMBERED 6u
#define WORD 8

enum how { SAME, SAVED, AT_FP, UNDEFINED, OTHERWISE };

struct rule {
    enum how how;
    int64_t offset; /* from the CFA, of SAVED */
};

struct state {
    enum memory_row_kind kind;
    int64_t offset;
    struct rule fp, back; /* back: the return address */
};

struct run {
    const struct memory_fde *fde;
    uintptr_t place, at;
    struct memory_bytes code;
    struct state now, first; /* first: what the CIE says, for restoring */
    struct state remembered[MOST_REMEMBERED];
    uint32_t n_remembered;
};

/* ---- registers ----------------------------------------------------------- */

static void set_rule(struct run *run, uint64_t reg, struct rule rule)
{
    if (reg == MEMORY_REG_FP) run->now.fp = rule;
    if (reg == MEMORY_REG_BACK) run->now.back = rule;
}

static void set_saved(struct run *run, uint64_t reg, int64_t factored)
{
    int64_t offset;
    bool is_large =
        __builtin_mul_overflow(factored, run->fde->data_align, &offset);
    set_rule(
        run, reg,
        (struct rule){is_large ? OTHERWISE : SAVED, is_large ? 0 : offset});
}

static void restore_rule(struct run *run, uint64_t reg)
{
    bool is_fp = reg == MEMORY_REG_FP;
    set_rule(run, reg, is_fp ? run->first.fp : run->first.back);
}

/* rbp where the frame pointer points to: gcc's, of a realigned stack. */
static void set_expression(struct run *run, uint64_t reg)
{
    static const uint8_t at_rbp[] = {0x76, 0}; /* breg6 0 */
    uint64_t length = memory_bytes_uleb(&run->code);
    const uint8_t *text = memory_bytes_take(&run->code, length);
    bool is_known = MEMORY_HAS_EXPRESSIONS && text && length == sizeof at_rbp &&
                    !memcmp(text, at_rbp, sizeof at_rbp);
    set_rule(run, reg, (struct rule){is_known ? AT_FP : OTHERWISE, 0});
}

static bool run_register(struct run *run, uint8_t op)
{
    struct memory_bytes *code = &run->code;
    uint64_t reg;
    if (op < 0x05 || (op > 0x09 && op < 0x10) || op == 0x12 || op == 0x13 ||
        (op > 0x16 && op != 0x2f))
        return false;
    reg = memory_bytes_uleb(code);
    switch (op) {
    case 0x05: set_saved(run, reg, (int64_t)memory_bytes_uleb(code)); break;
    case 0x06: restore_rule(run, reg); break;
    case 0x07: set_rule(run, reg, (struct rule){UNDEFINED, 0}); break;
    case 0x08: set_rule(run, reg, (struct rule){SAME, 0}); break;
    case 0x10: set_expression(run, reg); break;
    case 0x11: set_saved(run, reg, memory_bytes_sleb(code)); break;
    case 0x2f: set_saved(run, reg, -(int64_t)memory_bytes_uleb(code)); break;
    case 0x16: /* val_expression */
        (void)memory_bytes_take(code, memory_bytes_uleb(code));
        set_rule(run, reg, (struct rule){OTHERWISE, 0});
        break;
    default: /* register, val_offset, val_offset_sf */
        (void)memory_bytes_uleb(code);
        set_rule(run, reg, (struct rule){OTHERWISE, 0});
    }
    return true;
}

/* ---- the CFA ------------------------------------------------------------- */

static void set_base(struct run *run, uint64_t reg)
{
    run->now.kind = reg == MEMORY_REG_SP   ? MEMORY_ROW_SP
                    : reg == MEMORY_REG_FP ? MEMORY_ROW_FP
                                           : MEMORY_ROW_UNKNOWN;
}

/* Of a linkage table: rsp + 8, and 8 more from an instruction of a slot on. */
static bool set_linkage(struct run *run, const uint8_t *text, uint64_t length)
{
    /* breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus */
    static const uint8_t head[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a};
    static const uint8_t tail[] = {0x2a, 0x33, 0x24, 0x22};
    if (length != sizeof head + 1 + sizeof tail ||
        memcmp(text, head, sizeof head) ||
        memcmp(text + sizeof head + 1, tail, sizeof tail))
        return false;
    uint8_t from = text[sizeof head] - 0x30;
    run->now.kind = MEMORY_ROW_SP;
    run->now.offset = 8 + ((run->place & 15) >= from ? 8 : 0);
    return true;
}

/* Of a signal frame: the kernel's ucontext is at rsp, its rsp 160 bytes in. */
static bool is_signal_frame(const struct memory_fde *fde, const uint8_t *text,
                            uint64_t length)
{
    static const uint8_t known[] = {0x77, 0xa0, 0x01, 0x06};
    return fde->is_signal && length == sizeof known &&
           !memcmp(text, known, sizeof known);
}

static void set_base_expression(struct run *run)
{
    uint64_t length = memory_bytes_uleb(&run->code);
    const uint8_t *text = memory_bytes_take(&run->code, length);
    run->now.kind = MEMORY_ROW_UNKNOWN;
    if (!MEMORY_HAS_EXPRESSIONS || !text || length < 3) return;
    if (is_signal_frame(run->fde, text, length)) {
        run->now.kind = MEMORY_ROW_SIGNAL;
    } else if (!set_linkage(run, text, length) && text[0] == 0x76) {
        /* breg6 n, deref: a realigned stack's */
        struct memory_bytes b = {text + 1, text + length, false};
        run->now.offset = memory_bytes_sleb(&b);
        if (memory_bytes_u8(&b) == 0x06 && b.at == b.end)
            run->now.kind = MEMORY_ROW_AT_FP;
    }
}

static int64_t factored(const struct run *run, int64_t value)
{
    return (int64_t)((uint64_t)value * (uint64_t)run->fde->data_align);
}

static bool run_base(struct run *run, uint8_t op)
{
    struct memory_bytes *code = &run->code;
    switch (op) {
    case 0x0c: /* def_cfa */
        set_base(run, memory_bytes_uleb(code));
        run->now.offset = (int64_t)memory_bytes_uleb(code);
        return true;
    case 0x12: /* def_cfa_sf */
        set_base(run, memory_bytes_uleb(code));
        run->now.offset = factored(run, memory_bytes_sleb(code));
        return true;
    case 0x0d: set_base(run, memory_bytes_uleb(code)); return true;
    case 0x0e: run->now.offset = (int64_t)memory_bytes_uleb(code); return true;
    case 0x13:
        run->now.offset = factored(run, memory_bytes_sleb(code));
        return true;
    case 0x0f: set_base_expression(run); return true;
    default: return false;
    }
}

/* ---- the program --------------------------------------------------------- */

/* Not set_loc, which nobody writes. */
static bool run_place(struct run *run, uint8_t op)
{
    struct memory_bytes *code = &run->code;
    uint64_t step = 0;
    switch (op) {
    case 0x02: step = memory_bytes_u8(code); break;
    case 0x03: step = memory_bytes_u16(code); break;
    case 0x04: step = memory_bytes_u32(code); break;
    default: return false;
    }
    run->at += step * run->fde->code_align;
    return true;
}

static bool run_other(struct run *run, uint8_t op)
{
    switch (op) {
    case 0x00: return true;
    case 0x0a:
        if (run->n_remembered == MOST_REMEMBERED) return false;
        run->remembered[run->n_remembered++] = run->now;
        return true;
    case 0x0b:
        if (!run->n_remembered) return false;
        run->now = run->remembered[--run->n_remembered];
        return true;
    case 0x2c: /* the return address is signed, or is not any more */
    case 0x2d: return MEMORY_IS_SIGNED;
    case 0x2e: (void)memory_bytes_uleb(&run->code); return true;
    default: return false;
    }
}

static bool run_one(struct run *run)
{
    uint8_t op = memory_bytes_u8(&run->code), low = op & 0x3f;
    switch (op >> 6) {
    case 1: run->at += low * run->fde->code_align; return true;
    case 2:
        set_saved(run, low, (int64_t)memory_bytes_uleb(&run->code));
        return true;
    case 3: restore_rule(run, low); return true;
    default:
        return run_base(run, op) || run_place(run, op) ||
               run_register(run, op) || run_other(run, op);
    }
}

/* Up to the end, or to what only holds after the place. */
static bool run_program(struct run *run, struct memory_bytes code)
{
    run->code = code;
    while (run->code.at < run->code.end && run->at <= run->place)
        if (!run_one(run) || run->code.is_bad) return false;
    return true;
}

/* ---- the row ------------------------------------------------------------- */

/* In words, as rows have it. False: none could say where it is. */
static bool place_of(const struct rule *rule, int64_t *place)
{
    bool is_below = rule->offset < 0 && rule->offset % WORD == 0;
    *place = rule->how == SAVED   ? rule->offset / WORD
             : rule->how == AT_FP ? MEMORY_FP_AT_FP
                                  : MEMORY_FP_SAME;
    return rule->how == SAVED ? is_below : rule->how != OTHERWISE;
}

/* Does all lie in the frame, as far as that is known without registers? */
static bool is_inside(enum memory_row_kind kind, int64_t offset, int64_t back,
                      int64_t fp)
{
    int64_t low = back < fp ? back : fp;
    switch (kind) {
    case MEMORY_ROW_SP: return back < 0 && fp <= 0 && offset >= -low;
    case MEMORY_ROW_LEAF: return fp == MEMORY_FP_SAME;
    case MEMORY_ROW_FP: return back < 0 && fp <= 0;
    default: return back < 0;
    }
}

static memory_row row_of(const struct state *state)
{
    enum memory_row_kind kind = state->kind;
    int64_t offset = state->offset / WORD, back, fp;
    if (kind == MEMORY_ROW_SIGNAL) return memory_row_only(MEMORY_ROW_SIGNAL);
    if (state->back.how == UNDEFINED) return memory_row_only(MEMORY_ROW_END);
    if (kind == MEMORY_ROW_SP && state->back.how == SAME)
        kind = MEMORY_ROW_LEAF;
    if (kind == MEMORY_ROW_UNKNOWN || state->offset % WORD ||
        !place_of(&state->back, &back) || !place_of(&state->fp, &fp) ||
        !is_inside(kind, offset, back, fp))
        return memory_row_only(MEMORY_ROW_UNKNOWN);
    return memory_row_make(kind, offset, back, fp);
}

memory_row memory_cfi_run(const struct memory_fde *fde, uintptr_t place)
{
    struct run run;
    run.fde = fde;
    run.place = place;
    run.at = fde->start;
    run.n_remembered = 0;
    run.now = (struct state){MEMORY_ROW_UNKNOWN, 0, {SAME, 0}, {SAME, 0}};
    run.first = run.now;
    if (!run_program(&run, fde->common))
        return memory_row_only(MEMORY_ROW_UNKNOWN);
    run.first = run.now;
    if (!run_program(&run, fde->own))
        return memory_row_only(MEMORY_ROW_UNKNOWN);
    return row_of(&run.now);
}

memory_row memory_cfi_row(uintptr_t place)
{
    struct memory_fde fde;
    switch (memory_fde_find(place, &fde)) {
    case MEMORY_FDE_FOUND: return memory_cfi_run(&fde, place);
    case MEMORY_FDE_MISSING: return memory_row_only(MEMORY_ROW_UNKNOWN);
    default: return memory_row_only(MEMORY_ROW_NOWHERE);
    }
}
