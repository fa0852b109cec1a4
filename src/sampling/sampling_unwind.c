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
    bool is_below;   /* the stack pointer is higher: by how much is not known */
    bool is_short;   /* of a search: what it looks for may be beyond the copy */
    size_t link;     /* of the chain: what the frame pointer leads to now */
    uint64_t needed; /* bytes of the copy, that no chain replaces */
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

/* Where the frame pointer leads, a function has kept its caller's. */
static bool find_cfa_by_pointer(const struct walk *w,
                                const struct axp__cfi_row *row, uint64_t *out)
{
    for (size_t i = 0; i < AXP__REGS_KEPT; i++) {
        if (axp__reg_kept[i] != AXP__DWARF_FP) continue;
        *out = w->now.reg[AXP__DWARF_FP] - (uint64_t)row->kept[i].offset;
        return row->kept[i].rule == AXP__CFI_AT;
    }
    return false;
}

static bool find_cfa(const struct walk *w, const struct axp__cfi_row *row,
                     uint64_t *out)
{
    if (row->cfa_ops.n) return evaluate(w, row->cfa_ops, 0, false, out);
    if (w->is_below && row->cfa_reg == AXP__DWARF_SP)
        return find_cfa_by_pointer(w, row, out);
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
    w->is_below = false;
    return STEP_DONE;
}

/* aarch64: what the frame pointer leads to is at the lower end of a frame. */
static void set_below(struct walk *w)
{
#if defined(__aarch64__)
    w->is_below = true;
#else
    (void)w;
#endif
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
    set_below(w);
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

/* Kernels written in assembly, as a rule.
 *
 * x86-64: the return address lies somewhere above the stack pointer. It is the
 * first word that is in code, behind an instruction that calls (and, where that
 * says whom, whom it calls has no tables either, or is a link), and from which tables lead to the
 * thread's first function, or far enough where the copy of the stack ends before
 * it; near the stack pointer, or near what it was.
 *
 * aarch64: it is in the register that it came in, as they call nobody; and the
 * frame pointer is their caller's. One that does call has that register point
 * into itself, where there are no tables. */

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

#define FOUND_MOST 4096u /* places of a module that are remembered */

_Static_assert(FOUND_MOST == 1u << (64 - 52), "found_at");

/* What was found out for this place before, if that is known. */
static struct axp__found *found_at(struct axp__mod *mod, uint64_t place)
{
    if (!mod->found) mod->found = calloc(FOUND_MOST, sizeof *mod->found);
    uint64_t slot = place * UINT64_C(0x9e3779b97f4a7c15) >> 52;
    return mod->found ? &mod->found[slot] : NULL;
}

#if defined(__x86_64__)

#define SCAN_MOST 256u /* words */
#define SCAN_NOTHING UINT32_MAX
#define SKIP_MOST 16u
#define OLD_MOST 32u       /* words above what the stack pointer was */
#define STACK_LARGE 16384u /* the longest copy: sampling_tiers.c */
#define CHAIN_MOST 256u
#define KEPT_MOST 8u /* registers that a function keeps on its stack */
#define CALL_MOST 7u /* bytes of an instruction */

/* How long "call what a register or a word of memory says" is, by what comes after
 * its first byte; 0: it is something else. */
static size_t length_of_call(uint8_t how, uint8_t index)
{
    uint8_t mode = how >> 6, place = how & 7;
    size_t more = mode != 3 && place == 4; /* a byte of index and scale … */
    if (mode == 0 && more && (index & 7) == 5) more += 4; /* … of a table */
    if ((how >> 3 & 7) != 2) return 0;
    if (mode == 1) return 3 + more;
    if (mode == 2 || (mode == 0 && place == 5)) return 6 + more;
    return 2 + more;
}

/* "jmp *there(%rip)", behind a landing mark: of a table of links, which may lead to
 * anybody. */
static bool is_link(const struct walk *w, const struct site *at,
                    int32_t distance)
{
    static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa};
    uint8_t code[8];
    uint64_t there = at->offset + (uint64_t)(int64_t)distance;
    if (!axp__mod_read(at->mod, w->of->layout->pid, there, code, sizeof code))
        return false;
    size_t i = memcmp(code, mark, sizeof mark) ? 0 : sizeof mark;
    i += code[i] == 0xf2;
    return code[i] == 0xff && code[i + 1] == 0x25;
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
        if (!axp__cfi_row(at->mod->cfi, to) || is_link(w, at, distance))
            return true;
    }
    for (size_t i = 0; i + 2 <= sizeof code; i++)
        if (code[i] == 0xff &&
            length_of_call(code[i + 1],
                           i + 2 < sizeof code ? code[i + 2] : 0) ==
                sizeof code - i)
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
    return true; /* far enough */
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

/* The word there as the return address. */
static bool try_word(struct walk *w, uint64_t where)
{
    struct walk caller = *w;
    struct site at;
    uint64_t pc;
    if (!load(w, where, &pc) || !site_of(w, pc, &at) || !is_behind_call(w, &at))
        return false;
    caller.now.reg[AXP__DWARF_PC] = pc;
    caller.now.reg[AXP__DWARF_SP] = where + 8;
    if (!leads_to_first(caller) && !find_pointer(&caller, where)) return false;
    *w = caller;
    return true;
}

/* Words above what a register points to, from the stack pointer on: the first that
 * is one, and how far that was; SCAN_NOTHING: none. */
static uint32_t search(struct walk *w, uint64_t reg, uint32_t most)
{
    uint64_t from = w->now.reg[reg];
    for (uint32_t i = 0; i < most; i++)
        if (try_word(w, from + 8 * (uint64_t)i)) return i;
    return SCAN_NOTHING;
}

/* Code that aligns its stack for a block of its own has what the stack pointer was
 * in a register that whoever it calls keeps; not far above that is the return
 * address. */
static bool is_old_pointer(const struct walk *w, uint64_t reg)
{
    uint64_t sp = w->now.reg[AXP__DWARF_SP], old = w->now.reg[reg];
    return old > sp && old % 8 == 0 && old - sp < STACK_LARGE;
}

static struct axp__found search_all(struct walk *w, uint64_t place)
{
    struct axp__found found = {.place = place, .reg = AXP__DWARF_SP};
    bool is_short = false;
    found.word = search(w, AXP__DWARF_SP, SCAN_MOST);
    for (size_t i = 0; found.word == SCAN_NOTHING && i + 1 < AXP__REGS_KEPT;
         i++) {
        found.reg = axp__reg_kept[i];
        if (!is_old_pointer(w, found.reg)) continue;
        uint64_t end = w->now.reg[found.reg] - w->stack + 8 * OLD_MOST;
        is_short |= end > w->of->sample->n_stack;
        found.word = search(w, found.reg, OLD_MOST);
    }
    w->is_short = is_short && found.word == SCAN_NOTHING;
    return found;
}

/* A place of which nothing was found out is seldom searched for again. */
static bool is_hopeless(struct axp__found *before)
{
    return before->word == SCAN_NOTHING && ++before->n_skipped % SKIP_MOST != 0;
}

static bool step_to_caller(struct walk *w)
{
    struct site here;
    if (!site_of(w, w->now.reg[AXP__DWARF_PC] + 1, &here)) return false;
    struct axp__found *before = found_at(here.mod, here.offset);
    if (before && before->place == here.offset) {
        if (is_hopeless(before)) return false;
        uint64_t from = w->now.reg[before->reg];
        if (try_word(w, from + 8 * (uint64_t)before->word)) return true;
    }
    struct axp__found found = search_all(w, here.offset);
    if (before && !w->is_short) *before = found; /* a longer copy may have it */
    return found.word != SCAN_NOTHING;
}
#else

/* "bl there", or "blr register", signed or not. */
#define BL_MASK 0xfc000000u
#define BL 0x94000000u
#define BLR_MASK 0xfefff000u
#define BLR 0xd63f0000u

/* The instruction before a place. */
static bool read_call(const struct walk *w, const struct site *at,
                      uint32_t *code)
{
    return at->offset >= sizeof *code &&
           axp__mod_read(at->mod, w->of->layout->pid, at->offset - sizeof *code,
                         (uint8_t *)code, sizeof *code);
}

static bool is_behind_call(const struct walk *w, const struct site *at)
{
    uint32_t code;
    return read_call(w, at, &code) &&
           ((code & BL_MASK) == BL || (code & BLR_MASK) == BLR);
}

/* The same, from memory where that can be. */
static bool is_known_behind_call(const struct walk *w, const struct site *at)
{
    struct axp__found *before = found_at(at->mod, at->offset);
    if (before && before->place == at->offset) return before->word;
    bool is_call = is_behind_call(w, at);
    if (before)
        *before = (struct axp__found){.place = at->offset, .word = is_call};
    return is_call;
}

static bool step_to_caller(struct walk *w)
{
    struct walk caller = *w;
    struct site here, at;
    const struct axp__cfi_row *row;
    set_link(&caller.now);
    if (!site_of(w, w->now.reg[AXP__DWARF_PC] + 1, &here) ||
        !site_of(&caller, caller.now.reg[AXP__DWARF_PC], &at) ||
        !is_known_behind_call(w, &at) || !place_of(&caller, false, &row) ||
        !row)
        return false;
    *w = caller;
    w->is_below = true;
    return true;
}

#endif

/* ---- the kernel's chain ------------------------------------------------- */

/* Where the chain has it that the frame of this moment returns to; 0: it ends. */
static uint64_t linked(const struct walk *w)
{
    const struct axp__perf_sample *s = w->of->sample;
    return w->link < s->n_chain ? plain(s->chain[w->link]) : 0;
}

/* Whether its function has kept frame pointer and return address beside each
 * other. */
static bool has_pair(const struct axp__cfi_row *row)
{
    int64_t fp = 0, link = 0;
    for (size_t i = 0; row && i < AXP__REGS_KEPT; i++) {
        if (row->kept[i].rule != AXP__CFI_AT) continue;
        if (is_return_address(i)) link = row->kept[i].offset;
        if (axp__reg_kept[i] == AXP__DWARF_FP) fp = row->kept[i].offset;
    }
    return fp && fp + 8 == link;
}

/* What a function's tables say of a place that nothing is known of: who keeps no
 * pair has the frame pointer of somebody further out, and is passed over. */
static enum axp__leads by_tables(const struct axp__cfi_row *row)
{
    for (size_t i = 0; row && i < AXP__REGS_KEPT; i++)
        if (is_return_address(i) && row->kept[i].rule == AXP__CFI_UNDEFINED)
            return AXP__LEADS_NOWHERE;
    return row && !has_pair(row) ? AXP__LEADS_ASTRAY : AXP__LEADS_UNKNOWN;
}

/* Whether what the chain returns to, which is behind a call, calls a function of its
 * own object, where that of this moment is in another. Who calls through a register,
 * or whom a table of links says, may call anybody. */
static bool calls_another(const struct walk *w, uint64_t next)
{
#if defined(__aarch64__)
    struct site callee, at;
    uint32_t code;
    if (!site_of(w, w->now.reg[AXP__DWARF_PC], &callee) ||
        !site_of(w, next, &at) || !read_call(w, &at, &code))
        return false;
    if ((code & BL_MASK) != BL || at.mod == callee.mod) return false;
    int64_t words = (int64_t)((uint64_t)code << 38) >> 38;
    uint64_t to =
        axp__mod_address(at.mod, at.offset - 4) + (uint64_t)(4 * words);
    return axp__cfi_row(at.mod->cfi, to);
#else
    (void)w;
    (void)next;
    return false;
#endif
}

/* Tables have led from a place to the next; 0: to nowhere. expected: what the
 * chain had for it. */
static enum axp__leads compare(uint64_t next, uint64_t expected)
{
    if (next != expected) return AXP__LEADS_ASTRAY;
    return next ? AXP__LEADS_ON : AXP__LEADS_NOWHERE;
}

/* The copy has ended at a frame, whose place is the last of n. */
static enum axp__copy follow(struct walk *w, const struct axp__cfi_row *row,
                             uint64_t *out, size_t cap, size_t *n)
{
    enum axp__copy copy = AXP__COPY_ENOUGH;
    while (*n < cap) {
        enum axp__leads leads =
            axp__chains_know(w->of->chains, out[*n - 1], has_pair(row));
        uint64_t next = linked(w);
        bool is_on = leads == AXP__LEADS_ON || leads == AXP__LEADS_LIKELY;
        if (leads == AXP__LEADS_ASTRAY || (is_on && !next))
            return AXP__COPY_CUT;
        if (leads == AXP__LEADS_UNKNOWN) {
            copy = AXP__COPY_GUESSED;
            leads = by_tables(row);
        }
        if (leads == AXP__LEADS_NOWHERE || leads == AXP__LEADS_ASTRAY || !next)
            break;
        if (leads != AXP__LEADS_ON && calls_another(w, next))
            return AXP__COPY_GUESSED;
        w->now.reg[AXP__DWARF_PC] = next;
        w->link++;
        uint64_t place = place_of(w, false, &row);
        if (!place) return AXP__COPY_CUT;
        out[(*n)++] = place;
    }
    return copy;
}

/* ---- all of them -------------------------------------------------------- */

static enum step step(struct walk *w, const struct axp__cfi_row *row,
                      bool is_innermost)
{
    if (row) return step_by_row(w, row);
    return is_innermost && step_to_caller(w) ? STEP_DONE : step_by_pointer(w);
}

/* Innermost, a function may have called without a frame. */
static bool has_moved(const struct walk *w, const struct frame *was, size_t n)
{
    uint64_t sp = w->now.reg[AXP__DWARF_SP];
    if (sp > was->reg[AXP__DWARF_SP]) return true;
    return sp == was->reg[AXP__DWARF_SP] && n < 3 &&
           w->now.reg[AXP__DWARF_PC] != was->reg[AXP__DWARF_PC];
}

static enum axp__copy walk(struct walk *w, uint64_t *out, size_t cap, size_t *n)
{
    bool is_exact = true;
    while (*n < cap) {
        const struct axp__cfi_row *row;
        const struct frame was = w->now;
        uint64_t place = place_of(w, is_exact, &row), expected = linked(w);
        if (!place) break;
        out[(*n)++] = place;
        enum step how = step(w, row, is_exact);
        if (how == STEP_CUT && !is_exact && expected)
            return follow(w, row, out, cap, n);
        if (how == STEP_CUT) return AXP__COPY_CUT;
        if (how == STEP_LOST)
            return w->is_short ? AXP__COPY_CUT : AXP__COPY_ENOUGH;
        uint64_t next = how == STEP_DONE && has_moved(w, &was, *n)
                            ? w->now.reg[AXP__DWARF_PC]
                            : 0;
        if (w->of->sample->n_chain && !is_exact)
            axp__chains_learn(w->of->chains, place, has_pair(row),
                              compare(next, expected));
        if (is_exact || next != expected)
            w->needed = w->now.reg[AXP__DWARF_SP] - w->stack;
        w->link += w->now.reg[AXP__DWARF_FP] != was.reg[AXP__DWARF_FP];
        if (!next) break;
        is_exact = row && row->is_signal;
    }
    return AXP__COPY_ENOUGH;
}

struct axp__unwound axp__unwind(const struct axp__unwind *u, uint64_t *out,
                                size_t cap)
{
    struct walk w = {.of = u, .link = 1};
    struct axp__unwound of = {0};
    if (u->sample->is_kernel && cap)
        out[of.n++] = axp__mods_kernel(u->mods) + 1;
    if (!u->sample->regs) return of;
    begin(&w);
    of.copy = walk(&w, out, cap, &of.n);
    of.bytes = w.needed;
    return of;
}
