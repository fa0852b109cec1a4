/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Frame by frame; see sampling_unwind.h. */
#include "sampling/sampling_unwind.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/sampling_cfi.h"

#define OPS_MOST 64u                   /* of an expression */
#define VALUES_MOST 16u                /* on its stack */
#define FRAME_MOST ((uint64_t)1 << 24) /* bytes, by the frame pointer */

struct frame {
    uint64_t reg[AXP__DWARF_REGS]; /* DWARF's numbers; the pc among them */
};

struct walk {
    const struct axp__unwind *of;
    uint64_t stack; /* address of the copy */
    struct frame now;
};

/* ---- memory ------------------------------------------------------------- */

static bool load(const struct walk *w, uint64_t address, uint64_t *out)
{
    uint64_t at = address - w->stack, n = w->of->sample->n_stack;
    if (n < 8 || at > n - 8) return false;
    memcpy(out, w->of->sample->stack + at, 8);
    return true;
}

/* aarch64: the upper bits of a return address may be its signature. */
static uint64_t plain(uint64_t address)
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

static void push_register(const struct walk *w, struct values *v, uint64_t reg,
                          uint64_t offset)
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

static void apply(const struct walk *w, struct values *v, const Dwarf_Op *op,
                  uint64_t cfa)
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
        if (load(w, pop(v), &x))
            push(v, x);
        else
            v->is_bad = true;
    } else {
        apply_two(v, atom);
    }
}

/* The few that compilers write: stacks that were aligned anew, entries of
 * procedure linkage tables, frames of signals. */
static bool evaluate(const struct walk *w, struct axp__cfi_ops ops,
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

static bool find_cfa(const struct walk *w, const struct axp__cfi_row *row,
                     uint64_t *out)
{
    if (row->cfa_ops.n) return evaluate(w, row->cfa_ops, 0, false, out);
    *out = w->now.reg[row->cfa_reg] + (uint64_t)row->cfa_offset;
    return true;
}

static void set_link(struct frame *f)
{
#if defined(__aarch64__)
    f->reg[AXP__DWARF_PC] = f->reg[AXP__DWARF_LINK];
#endif
    f->reg[AXP__DWARF_PC] = plain(f->reg[AXP__DWARF_PC]);
}

static bool is_return_address(size_t i)
{
#if defined(__aarch64__)
    return axp__reg_kept[i] == AXP__DWARF_LINK;
#else
    return axp__reg_kept[i] == AXP__DWARF_PC;
#endif
}

enum step {
    STEP_DONE,
    STEP_WAS_LAST,
    STEP_CUT, /* the copy of the stack ends */
    STEP_LOST
};

static enum step why_not(const struct walk *w, enum axp__cfi_rule rule,
                         uint64_t cfa)
{
    if (rule == AXP__CFI_UNDEFINED) return STEP_WAS_LAST;
    return cfa - w->stack > w->of->sample->n_stack ? STEP_CUT : STEP_LOST;
}

static enum step step_by_row(struct walk *w, const struct axp__cfi_row *row)
{
    struct frame caller = w->now;
    uint64_t cfa, at;
    if (!find_cfa(w, row, &cfa)) return STEP_LOST;
    for (size_t i = 0; i < AXP__REGS_KEPT; i++) {
        uint64_t *reg = &caller.reg[axp__reg_kept[i]];
        switch (row->kept[i].rule) {
        case AXP__CFI_SAME: continue;
        case AXP__CFI_UNDEFINED: break;
        case AXP__CFI_AT:
            if (load(w, cfa + (uint64_t)row->kept[i].offset, reg)) continue;
            break;
        case AXP__CFI_OPS:
            if (evaluate(w, row->kept[i].ops, cfa, true, &at) &&
                load(w, at, reg))
                continue;
            break;
        }
        if (is_return_address(i)) return why_not(w, row->kept[i].rule, cfa);
        *reg = 0; /* known no more */
    }
    caller.reg[AXP__DWARF_SP] = cfa;
    set_link(&caller);
    w->now = caller;
    return STEP_DONE;
}

/* Code without tables, made at run time as a rule: the frame pointer leads to
 * the caller's, and behind that is the return address. */
static enum step step_by_pointer(struct walk *w)
{
    uint64_t fp = w->now.reg[AXP__DWARF_FP], caller, pc;
    if (fp < w->now.reg[AXP__DWARF_SP] ||
        fp - w->now.reg[AXP__DWARF_SP] > FRAME_MOST || fp % 8)
        return STEP_LOST;
    if (!load(w, fp, &caller) || !load(w, fp + 8, &pc)) return STEP_CUT;
    w->now.reg[AXP__DWARF_FP] = caller;
    w->now.reg[AXP__DWARF_SP] = fp + 16;
    w->now.reg[AXP__DWARF_PC] = plain(pc);
    return STEP_DONE;
}

/* ---- places ------------------------------------------------------------- */

static void begin(struct walk *w)
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
static uint64_t place_of(const struct walk *w, bool is_exact,
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

/* ---- code of a file that has no tables ---------------------------------- */

/* Kernels written in assembly, as a rule: the return address lies somewhere
 * above the stack pointer. It is the first word that is in code, behind an
 * instruction that calls (and, where that says whom, whom it calls has no
 * tables either), and from which tables lead to the thread's first function, or
 * far enough where the copy of the stack ends before it. */

#define SCAN_MOST 256u /* words */
#define CHAIN_MOST 256u
#define KEPT_MOST 8u   /* registers that a function keeps on its stack */
#define FOUND_MOST 64u /* places of a module that are remembered */

struct site { /* of a call */
    struct axp__mod *mod;
    uint64_t offset; /* in its file, of what comes after it */
};

static bool site_of(const struct walk *w, uint64_t pc, struct site *out)
{
    const struct axp__unwind *u = w->of;
    const struct axp__code *code = axp__layout_find(u->layout, pc - 1);
    if (!code || code->mod->path[0] != '/') return false;
    axp__mod_prepare(u->mods, code->mod, u->layout->pid,
                     code->end - code->first);
    *out = (struct site){code->mod, pc - code->first + code->offset};
    return code->mod->cfi;
}

#define CALL_MOST 7u /* bytes of an instruction */

/* x86-64: how long "call what a register or a word of memory says" is, by its
 * second byte; 0: it is something else. */
static size_t length_of_call(uint8_t how)
{
    uint8_t mode = how >> 6, place = how & 7;
    size_t more = mode != 3 && place == 4; /* a byte of index and scale */
    if ((how >> 3 & 7) != 2) return 0;
    if (mode == 1) return 3 + more;
    if (mode == 2 || (mode == 0 && place == 5)) return 6 + more;
    return 2 + more;
}

/* That, or "call there". */
static bool is_behind_call(const struct walk *w, const struct site *at)
{
    uint8_t code[CALL_MOST];
    int32_t distance;
    if (at->offset < sizeof code ||
        !axp__mod_read(at->mod, w->of->layout->pid, at->offset - sizeof code,
                       code, sizeof code))
        return false;
    memcpy(&distance, code + 3, sizeof distance);
    if (code[2] == 0xe8) {
        uint64_t to =
            axp__mod_address(at->mod, at->offset) + (uint64_t)(int64_t)distance;
        if (!axp__cfi_row(at->mod->cfi, to)) return true;
    }
    for (size_t i = 0; i + 2 <= sizeof code; i++)
        if (code[i] == 0xff && length_of_call(code[i + 1]) == sizeof code - i)
            return true;
    return false;
}

static bool leads_to_first(struct walk w)
{
    for (size_t n = 0; n < CHAIN_MOST; n++) {
        const struct axp__cfi_row *row;
        uint64_t sp = w.now.reg[AXP__DWARF_SP];
        if (!place_of(&w, false, &row) || !row || row->is_signal) return false;
        enum step step = step_by_row(&w, row);
        if (step != STEP_DONE)
            return step == STEP_WAS_LAST || (step == STEP_CUT && n >= 2);
        if (w.now.reg[AXP__DWARF_SP] <= sp) return false;
    }
    return false;
}

/* The frame pointer that the caller may need is kept near the return address,
 * below it. */
static bool find_pointer(struct walk *caller, uint64_t where)
{
    for (uint64_t i = 1; i <= KEPT_MOST; i++) {
        uint64_t fp;
        if (!load(caller, where - 8 * i, &fp)) return false;
        if (fp <= where || fp - where > FRAME_MOST) continue;
        caller->now.reg[AXP__DWARF_FP] = fp;
        if (leads_to_first(*caller)) return true;
    }
    return false;
}

/* The word so far above the stack pointer as the return address. */
static bool try_word(struct walk *w, uint32_t i)
{
    struct walk caller = *w;
    struct site at;
    uint64_t pc, where = w->now.reg[AXP__DWARF_SP] + 8 * (uint64_t)i;
    if (!load(w, where, &pc) || !site_of(w, pc, &at) || !is_behind_call(w, &at))
        return false;
    caller.now.reg[AXP__DWARF_PC] = pc;
    caller.now.reg[AXP__DWARF_SP] = where + 8;
    if (!leads_to_first(caller) && !find_pointer(&caller, where)) return false;
    *w = caller;
    return true;
}

/* Where it was found for this place before, if that is known. */
static struct axp__found *found_at(struct axp__mod *mod, uint64_t place)
{
    if (!mod->found) mod->found = calloc(FOUND_MOST, sizeof *mod->found);
    return mod->found ? &mod->found[place % FOUND_MOST] : NULL;
}

static bool step_by_search(struct walk *w)
{
#if defined(__x86_64__)
    struct site here;
    if (!site_of(w, w->now.reg[AXP__DWARF_PC] + 1, &here)) return false;
    struct axp__found *before = found_at(here.mod, here.offset);
    if (before && before->place == here.offset && try_word(w, before->word))
        return true;
    for (uint32_t i = 0; i < SCAN_MOST; i++) {
        if (!try_word(w, i)) continue;
        if (before) *before = (struct axp__found){here.offset, i};
        return true;
    }
#else
    (void)found_at;
    (void)try_word;
    (void)w;
#endif
    return false;
}

/* ---- all of them -------------------------------------------------------- */

static enum step step(struct walk *w, const struct axp__cfi_row *row,
                      bool is_innermost)
{
    if (row) return step_by_row(w, row);
    return is_innermost && step_by_search(w) ? STEP_DONE : step_by_pointer(w);
}

/* How it ended. */
static enum step walk(struct walk *w, uint64_t *out, size_t cap, size_t *n)
{
    bool is_exact = true;
    while (*n < cap) {
        const struct axp__cfi_row *row;
        uint64_t sp = w->now.reg[AXP__DWARF_SP], pc = w->now.reg[AXP__DWARF_PC];
        uint64_t place = place_of(w, is_exact, &row);
        if (!place) return STEP_LOST;
        out[(*n)++] = place;
        enum step how = step(w, row, is_exact);
        if (how != STEP_DONE) return how;
        bool has_moved = w->now.reg[AXP__DWARF_SP] > sp ||
                         (w->now.reg[AXP__DWARF_SP] == sp &&
                          w->now.reg[AXP__DWARF_PC] != pc && *n < 3);
        if (!has_moved || !w->now.reg[AXP__DWARF_PC]) return STEP_WAS_LAST;
        is_exact = row && row->is_signal;
    }
    return STEP_DONE;
}

struct axp__unwound axp__unwind(const struct axp__unwind *u, uint64_t *out,
                                size_t cap)
{
    struct walk w = {.of = u};
    struct axp__unwound of = {0};
    if (u->sample->is_kernel && cap)
        out[of.n++] = axp__mods_kernel(u->mods) + 1;
    if (!u->sample->regs) return of;
    begin(&w);
    of.is_cut = walk(&w, out, cap, &of.n) == STEP_CUT;
    of.bytes = w.now.reg[AXP__DWARF_SP] - w.stack;
    return of;
}
