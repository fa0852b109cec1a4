/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From a frame to its caller, by tables or by the frame pointer; see
 * sampling_walk.h. */
#include "sampling/sampling_walk.h"

#include <dwarf.h>
#include <string.h>

#define OPS_MOST 64u    /* of an expression */
#define VALUES_MOST 16u /* on its stack */

/* ---- memory ------------------------------------------------------------- */

bool axp__walk_load(const struct axp__walk *w, uint64_t address, uint64_t *out)
{
    uint64_t at = address - w->stack, n = w->of->sample->n_stack;
    if (n < 8 || at > n - 8) return false;
    memcpy(out, w->of->sample->stack + at, 8);
    return true;
}

/* aarch64: the upper bits of a return address may be its signature. */
uint64_t axp__walk_plain(uint64_t address)
{
#if defined(__aarch64__)
    return address & ((UINT64_C(1) << 48) - 1);
#else
    return address;
#endif
}

/* ---- expressions -------------------------------------------------------- */

struct values {
    uint64_t at[VALUES_MOST];
    size_t n;
    bool is_bad;
};

static void push(struct values *v, uint64_t x)
{
    if (v->n == VALUES_MOST)
        v->is_bad = true;
    else
        v->at[v->n++] = x;
}

static uint64_t pop(struct values *v)
{
    if (v->n) return v->at[--v->n];
    v->is_bad = true;
    return 0;
}

static void push_register(const struct axp__walk *w, struct values *v,
                          uint64_t reg, uint64_t offset)
{
    if (reg >= AXP__DWARF_REGS)
        v->is_bad = true;
    else
        push(v, w->now.reg[reg] + offset);
}

static void apply_two(struct values *v, uint8_t atom)
{
    uint64_t b = pop(v), a = pop(v);
    switch (atom) {
    case DW_OP_plus: push(v, a + b); break;
    case DW_OP_minus: push(v, a - b); break;
    case DW_OP_and: push(v, a & b); break;
    case DW_OP_or: push(v, a | b); break;
    case DW_OP_shl: push(v, b < 64 ? a << b : 0); break;
    case DW_OP_shr: push(v, b < 64 ? a >> b : 0); break;
    case DW_OP_ge: push(v, (int64_t)a >= (int64_t)b); break;
    case DW_OP_gt: push(v, (int64_t)a > (int64_t)b); break;
    case DW_OP_le: push(v, (int64_t)a <= (int64_t)b); break;
    case DW_OP_lt: push(v, (int64_t)a < (int64_t)b); break;
    case DW_OP_eq: push(v, a == b); break;
    case DW_OP_ne: push(v, a != b); break;
    default: v->is_bad = true;
    }
}

static void apply(const struct axp__walk *w, struct values *v,
                  const Dwarf_Op *op, uint64_t cfa)
{
    uint8_t atom = op->atom;
    uint64_t x;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
        push(v, atom - DW_OP_lit0);
    } else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
        push_register(w, v, atom - DW_OP_breg0, op->number);
    } else if (atom >= DW_OP_const1u && atom <= DW_OP_consts) {
        push(v, op->number);
    } else if (atom == DW_OP_bregx) {
        push_register(w, v, op->number, op->number2);
    } else if (atom == DW_OP_call_frame_cfa) {
        push(v, cfa);
    } else if (atom == DW_OP_plus_uconst) {
        push(v, pop(v) + op->number);
    } else if (atom == DW_OP_dup) {
        x = pop(v);
        push(v, x);
        push(v, x);
    } else if (atom == DW_OP_deref) {
        if (axp__walk_load(w, pop(v), &x))
            push(v, x);
        else
            v->is_bad = true;
    } else {
        apply_two(v, atom);
    }
}

/* The few that compilers write: stacks that were aligned anew, entries of
 * procedure linkage tables, frames of signals. */
static bool evaluate(const struct axp__walk *w, struct axp__cfi_ops ops,
                     uint64_t cfa, bool has_cfa, uint64_t *out)
{
    struct values v = {.n = 0};
    if (has_cfa) push(&v, cfa);
    if (ops.n > OPS_MOST) return false;
    for (size_t i = 0; i < ops.n && !v.is_bad; i++)
        apply(w, &v, &ops.at[i], cfa);
    *out = pop(&v);
    return !v.is_bad;
}

/* ---- to the caller ------------------------------------------------------ */

/* Where the frame pointer leads, a function has kept its caller's. */
static bool find_cfa_by_pointer(const struct axp__walk *w,
                                const struct axp__cfi_row *row, uint64_t *out)
{
    for (size_t i = 0; i < AXP__REGS_KEPT; i++) {
        if (axp__reg_kept[i] != AXP__DWARF_FP) continue;
        *out = w->now.reg[AXP__DWARF_FP] - (uint64_t)row->kept[i].offset;
        return row->kept[i].rule == AXP__CFI_AT;
    }
    return false;
}

static bool find_cfa(const struct axp__walk *w, const struct axp__cfi_row *row,
                     uint64_t *out)
{
    if (row->cfa_ops.n) return evaluate(w, row->cfa_ops, 0, false, out);
    if (w->is_below && row->cfa_reg == AXP__DWARF_SP)
        return find_cfa_by_pointer(w, row, out);
    *out = w->now.reg[row->cfa_reg] + (uint64_t)row->cfa_offset;
    return true;
}

void axp__walk_set_link(struct axp__regs *f)
{
#if defined(__aarch64__)
    f->reg[AXP__DWARF_PC] = f->reg[AXP__DWARF_LINK];
#endif
    f->reg[AXP__DWARF_PC] = axp__walk_plain(f->reg[AXP__DWARF_PC]);
}

static enum axp__walked why_not(const struct axp__walk *w,
                                enum axp__cfi_rule rule, uint64_t cfa)
{
    if (rule == AXP__CFI_UNDEFINED) return AXP__WALK_WAS_LAST;
    return cfa - w->stack > w->of->sample->n_stack ? AXP__WALK_CUT
                                                   : AXP__WALK_LOST;
}

enum axp__walked axp__walk_by_row(struct axp__walk *w,
                                  const struct axp__cfi_row *row)
{
    struct axp__regs caller = w->now;
    uint64_t cfa, at;
    if (!find_cfa(w, row, &cfa)) return AXP__WALK_LOST;
    for (size_t i = 0; i < AXP__REGS_KEPT; i++) {
        uint64_t *reg = &caller.reg[axp__reg_kept[i]];
        switch (row->kept[i].rule) {
        case AXP__CFI_SAME: continue;
        case AXP__CFI_UNDEFINED: break;
        case AXP__CFI_AT:
            if (axp__walk_load(w, cfa + (uint64_t)row->kept[i].offset, reg))
                continue;
            break;
        case AXP__CFI_OPS:
            if (evaluate(w, row->kept[i].ops, cfa, true, &at) &&
                axp__walk_load(w, at, reg))
                continue;
            break;
        }
        if (axp__reg_is_return(i)) return why_not(w, row->kept[i].rule, cfa);
        *reg = 0; /* known no more */
    }
    caller.reg[AXP__DWARF_SP] = cfa;
    axp__walk_set_link(&caller);
    w->now = caller;
    w->is_below = false;
    return AXP__WALK_DONE;
}

/* aarch64: what the frame pointer leads to is at the lower end of a frame. */
static void set_below(struct axp__walk *w)
{
#if defined(__aarch64__)
    w->is_below = true;
#else
    (void)w;
#endif
}

/* Code without tables, made at run time as a rule: the frame pointer leads to
 * the caller's, and behind that is the return address. */
enum axp__walked axp__walk_by_pointer(struct axp__walk *w)
{
    uint64_t fp = w->now.reg[AXP__DWARF_FP], caller, pc;
    if (fp < w->now.reg[AXP__DWARF_SP] ||
        fp - w->now.reg[AXP__DWARF_SP] > AXP__FRAME_MOST || fp % 8)
        return AXP__WALK_LOST;
    if (!axp__walk_load(w, fp, &caller) || !axp__walk_load(w, fp + 8, &pc))
        return AXP__WALK_CUT;
    w->now.reg[AXP__DWARF_FP] = caller;
    w->now.reg[AXP__DWARF_SP] = fp + 16;
    w->now.reg[AXP__DWARF_PC] = axp__walk_plain(pc);
    set_below(w);
    return AXP__WALK_DONE;
}

/* ---- places ------------------------------------------------------------- */

void axp__walk_begin(struct axp__walk *w)
{
    const struct axp__perf_sample *s = w->of->sample;
    for (size_t i = 0; i < AXP__DWARF_REGS; i++)
        w->now.reg[i] = s->regs[axp__reg_place[i]];
    w->stack = w->now.reg[AXP__DWARF_SP];
}

/* Code that the process made; 0: it has no name. */
static uint64_t jit_place(const struct axp__unwind *u, uint64_t pc)
{
    struct axp__jit_code code;
    struct axp__layout *layout = u->layout;
    if (!layout->jit) layout->jit = axp__jit_create(layout->pid);
    if (!layout->jit || !axp__jit_find(layout->jit, pc, &code)) return 0;
    struct axp__mod *mod = axp__mods_get_jit(u->mods, &code);
    if (!mod) return 0;
    axp__mod_prepare(u->mods, mod, layout->pid, 0);
    return mod->bias + (pc - code.first);
}

/* What the place of a frame is called, and its row; a return address belongs
 * to the call before it. */
uint64_t axp__walk_place(const struct axp__walk *w, bool is_exact,
                         const struct axp__cfi_row **row)
{
    uint64_t pc = w->now.reg[AXP__DWARF_PC];
    const struct axp__unwind *u = w->of;
    const struct axp__code *code = axp__layout_find(u->layout, pc - !is_exact);
    *row = NULL;
    if (!code) return 0;
    struct axp__mod *mod = code->mod;
    uint64_t jit =
        axp__mod_is_anonymous(mod) ? jit_place(u, pc - !is_exact) : 0;
    if (jit) return jit + !is_exact;
    axp__mod_prepare(u->mods, mod, u->layout->pid, code->end - code->first);
    uint64_t address =
        axp__mod_address(mod, pc - !is_exact - code->first + code->offset);
    if (mod->cfi) *row = axp__cfi_row(mod->cfi, address);
    return mod->bias + address + !is_exact;
}
