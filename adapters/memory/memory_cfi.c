/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs .eh_frame's instructions; see memory_cfi.h.
 *
 * Each function has a part of the instructions and says whether it knew one;
 * where they are read past their end the range of bytes is marked as bad, and
 * the row is unknown.
 */
#include "memory_cfi.h"

#include <stddef.h>

enum { RBP = 6, RSP = 7, RETURN = 16 }; /* x86-64's numbers for registers */
#define MOST_REMEMBERED 6u
#define MOST_OFFSET (1 << 19) /* words: what a row can hold */

enum how { SAME, SAVED, AT_RBP, UNDEFINED, OTHERWISE };

struct rule {
    enum how how;
    int64_t offset; /* from the CFA, of SAVED */
};

struct state {
    enum memory_row_kind kind;
    int64_t offset;
    struct rule rbp, back; /* back: the return address */
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
    if (reg == RBP) run->now.rbp = rule;
    if (reg == RETURN) run->now.back = rule;
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
    set_rule(run, reg, reg == RBP ? run->first.rbp : run->first.back);
}

/* rbp where the frame pointer points to: gcc's, of a realigned stack. */
static void set_expression(struct run *run, uint64_t reg)
{
    static const uint8_t at_rbp[] = {0x76, 0}; /* breg6 0 */
    uint64_t length = memory_bytes_uleb(&run->code);
    const uint8_t *text = memory_bytes_take(&run->code, length);
    bool is_known =
        text && length == sizeof at_rbp && !memcmp(text, at_rbp, sizeof at_rbp);
    set_rule(run, reg, (struct rule){is_known ? AT_RBP : OTHERWISE, 0});
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
    run->now.kind = reg == RSP   ? MEMORY_ROW_RSP
                    : reg == RBP ? MEMORY_ROW_RBP
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
    run->now.kind = MEMORY_ROW_RSP;
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
    if (!text || length < 3) return;
    if (is_signal_frame(run->fde, text, length)) {
        run->now.kind = MEMORY_ROW_SIGNAL;
    } else if (!set_linkage(run, text, length) && text[0] == 0x76) {
        /* breg6 n, deref: a realigned stack's */
        struct memory_bytes b = {text + 1, text + length, false};
        run->now.offset = memory_bytes_sleb(&b);
        if (memory_bytes_u8(&b) == 0x06 && b.at == b.end)
            run->now.kind = MEMORY_ROW_AT_RBP;
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

/* Can a row say where rbp is, and does it lie in the frame as far as that is
 * known without registers? */
static bool place_rbp(const struct state *state, int8_t *place)
{
    const struct rule *rbp = &state->rbp;
    bool is_lower =
        state->kind == MEMORY_ROW_RSP && rbp->offset < -state->offset;
    *place = MEMORY_RBP_SAME;
    if (rbp->how == AT_RBP) *place = MEMORY_RBP_AT_RBP;
    if (rbp->how != SAVED) return rbp->how != OTHERWISE;
    if (rbp->offset % 8 || rbp->offset >= 0 || rbp->offset < -8 * 128)
        return false;
    *place = (int8_t)(rbp->offset / 8);
    return !is_lower;
}

static bool place_cfa(const struct state *state, int32_t *place)
{
    int64_t least = state->kind == MEMORY_ROW_RSP ? 1 : -MOST_OFFSET;
    *place = (int32_t)(state->offset / 8);
    return state->offset % 8 == 0 && state->offset / 8 >= least &&
           state->offset / 8 < MOST_OFFSET;
}

static memory_row row_of(const struct state *state)
{
    int8_t rbp;
    int32_t cfa;
    if (state->kind == MEMORY_ROW_SIGNAL)
        return memory_row_make(MEMORY_ROW_SIGNAL, 0, 0);
    if (state->back.how == UNDEFINED)
        return memory_row_make(MEMORY_ROW_END, 0, 0);
    bool is_usual = state->kind != MEMORY_ROW_UNKNOWN &&
                    state->back.how == SAVED && state->back.offset == -8;
    if (!is_usual || !place_rbp(state, &rbp) || !place_cfa(state, &cfa))
        return memory_row_make(MEMORY_ROW_UNKNOWN, 0, 0);
    return memory_row_make(state->kind, cfa, rbp);
}

memory_row memory_cfi_run(const struct memory_fde *fde, uintptr_t place)
{
    struct run run;
    run.fde = fde;
    run.place = place;
    run.at = fde->start;
    run.n_remembered = 0;
    run.now = (struct state){MEMORY_ROW_UNKNOWN, 0, {SAME, 0}, {OTHERWISE, 0}};
    run.first = run.now;
    if (!run_program(&run, fde->common))
        return memory_row_make(MEMORY_ROW_UNKNOWN, 0, 0);
    run.first = run.now;
    if (!run_program(&run, fde->own))
        return memory_row_make(MEMORY_ROW_UNKNOWN, 0, 0);
    return row_of(&run.now);
}

memory_row memory_cfi_row(uintptr_t place)
{
    struct memory_fde fde;
    switch (memory_fde_find(place, &fde)) {
    case MEMORY_FDE_FOUND: return memory_cfi_run(&fde, place);
    case MEMORY_FDE_MISSING: return memory_row_make(MEMORY_ROW_UNKNOWN, 0, 0);
    default: return memory_row_make(MEMORY_ROW_NOWHERE, 0, 0);
    }
}
