/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callers of code without tables; see sampling_search.h. */
#include "sampling/sampling_search.h"

#include <stdlib.h>
#include <string.h>

struct site { /* of a call */
    struct axp__mod *mod;
    uint64_t offset; /* in its file, of what comes after it */
};

static bool site_of(const struct axp__walk *w, uint64_t pc, struct site *out)
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
static bool is_link(const struct axp__walk *w, const struct site *at,
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
static bool is_behind_call(const struct axp__walk *w, const struct site *at)
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

static bool leads_to_first(struct axp__walk w)
{
    for (size_t n = 0; n < CHAIN_MOST; n++) {
        const struct axp__cfi_row *row;
        uint64_t sp = w.now.reg[AXP__DWARF_SP];
        if (!axp__walk_place(&w, false, &row) || !row || row->is_signal)
            return false;
        enum axp__walked step = axp__walk_by_row(&w, row);
        if (step != AXP__WALK_DONE)
            return step == AXP__WALK_WAS_LAST ||
                   (step == AXP__WALK_CUT && n >= 2);
        if (w.now.reg[AXP__DWARF_SP] <= sp) return false;
    }
    return true; /* far enough */
}

/* The frame pointer that the caller may need is kept near the return address,
 * below it. */
static bool find_pointer(struct axp__walk *caller, uint64_t where)
{
    for (uint64_t i = 1; i <= KEPT_MOST; i++) {
        uint64_t fp;
        if (!axp__walk_load(caller, where - 8 * i, &fp)) return false;
        if (fp <= where || fp - where > AXP__FRAME_MOST) continue;
        caller->now.reg[AXP__DWARF_FP] = fp;
        if (leads_to_first(*caller)) return true;
    }
    return false;
}

/* The word there as the return address. */
static bool try_word(struct axp__walk *w, uint64_t where)
{
    struct axp__walk caller = *w;
    struct site at;
    uint64_t pc;
    if (!axp__walk_load(w, where, &pc) || !site_of(w, pc, &at) ||
        !is_behind_call(w, &at))
        return false;
    caller.now.reg[AXP__DWARF_PC] = pc;
    caller.now.reg[AXP__DWARF_SP] = where + 8;
    if (!leads_to_first(caller) && !find_pointer(&caller, where)) return false;
    *w = caller;
    return true;
}

/* Words above what a register points to, from the stack pointer on: the first that
 * is one, and how far that was; SCAN_NOTHING: none. */
static uint32_t search(struct axp__walk *w, uint64_t reg, uint32_t most)
{
    uint64_t from = w->now.reg[reg];
    for (uint32_t i = 0; i < most; i++)
        if (try_word(w, from + 8 * (uint64_t)i)) return i;
    return SCAN_NOTHING;
}

/* Code that aligns its stack for a block of its own has what the stack pointer was
 * in a register that whoever it calls keeps; not far above that is the return
 * address. */
static bool is_old_pointer(const struct axp__walk *w, uint64_t reg)
{
    uint64_t sp = w->now.reg[AXP__DWARF_SP], old = w->now.reg[reg];
    return old > sp && old % 8 == 0 && old - sp < STACK_LARGE;
}

static struct axp__found search_all(struct axp__walk *w, uint64_t place)
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

bool axp__search_caller(struct axp__walk *w)
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
static bool read_call(const struct axp__walk *w, const struct site *at,
                      uint32_t *code)
{
    return at->offset >= sizeof *code &&
           axp__mod_read(at->mod, w->of->layout->pid, at->offset - sizeof *code,
                         (uint8_t *)code, sizeof *code);
}

static bool is_behind_call(const struct axp__walk *w, const struct site *at)
{
    uint32_t code;
    return read_call(w, at, &code) &&
           ((code & BL_MASK) == BL || (code & BLR_MASK) == BLR);
}

/* The same, from memory where that can be. */
static bool is_known_behind_call(const struct axp__walk *w,
                                 const struct site *at)
{
    struct axp__found *before = found_at(at->mod, at->offset);
    if (before && before->place == at->offset) return before->word;
    bool is_call = is_behind_call(w, at);
    if (before)
        *before = (struct axp__found){.place = at->offset, .word = is_call};
    return is_call;
}

bool axp__search_caller(struct axp__walk *w)
{
    struct axp__walk caller = *w;
    struct site here, at;
    const struct axp__cfi_row *row;
    axp__walk_set_link(&caller.now);
    if (!site_of(w, w->now.reg[AXP__DWARF_PC] + 1, &here) ||
        !site_of(&caller, caller.now.reg[AXP__DWARF_PC], &at) ||
        !is_known_behind_call(w, &at) ||
        !axp__walk_place(&caller, false, &row) || !row)
        return false;
    *w = caller;
    w->is_below = true;
    return true;
}

#endif

/* ---- whom a call calls -------------------------------------------------- */

bool axp__search_calls_another(const struct axp__walk *w, uint64_t next)
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
