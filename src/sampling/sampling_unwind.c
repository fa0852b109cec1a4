/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Frame by frame; see sampling_unwind.h. */
#include "sampling/sampling_unwind.h"

#include "sampling/sampling_search.h"
#include "sampling/sampling_walk.h"

/* ---- the kernel's chain ------------------------------------------------- */

/* Where the chain has it that the frame of this moment returns to; 0: it ends. */
static uint64_t linked(const struct axp__walk *w)
{
    const struct axp__perf_sample *s = w->of->sample;
    return w->link < s->n_chain ? axp__walk_plain(s->chain[w->link]) : 0;
}

/* Whether its function has kept frame pointer and return address beside each
 * other. */
static bool has_pair(const struct axp__cfi_row *row)
{
    int64_t fp = 0, link = 0;
    for (size_t i = 0; row && i < AXP__REGS_KEPT; i++) {
        if (row->kept[i].rule != AXP__CFI_AT) continue;
        if (axp__reg_is_return(i)) link = row->kept[i].offset;
        if (axp__reg_kept[i] == AXP__DWARF_FP) fp = row->kept[i].offset;
    }
    return fp && fp + 8 == link;
}

/* What a function's tables say of a place that nothing is known of: who keeps no
 * pair has the frame pointer of somebody further out, and is passed over. */
static enum axp__leads by_tables(const struct axp__cfi_row *row)
{
    for (size_t i = 0; row && i < AXP__REGS_KEPT; i++)
        if (axp__reg_is_return(i) && row->kept[i].rule == AXP__CFI_UNDEFINED)
            return AXP__LEADS_NOWHERE;
    return row && !has_pair(row) ? AXP__LEADS_ASTRAY : AXP__LEADS_UNKNOWN;
}

/* Tables have led from a place to the next; 0: to nowhere. expected: what the
 * chain had for it. */
static enum axp__leads compare(uint64_t next, uint64_t expected)
{
    if (next != expected) return AXP__LEADS_ASTRAY;
    return next ? AXP__LEADS_ON : AXP__LEADS_NOWHERE;
}

/* The copy has ended at a frame, whose place is the last of n. */
static enum axp__copy follow(struct axp__walk *w,
                             const struct axp__cfi_row *row, uint64_t *out,
                             size_t cap, size_t *n)
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
        if (leads != AXP__LEADS_ON && axp__search_calls_another(w, next))
            return AXP__COPY_GUESSED;
        w->now.reg[AXP__DWARF_PC] = next;
        w->link++;
        uint64_t place = axp__walk_place(w, false, &row);
        if (!place) return AXP__COPY_CUT;
        out[(*n)++] = place;
    }
    return copy;
}

/* ---- all of them -------------------------------------------------------- */

static enum axp__walked step(struct axp__walk *w,
                             const struct axp__cfi_row *row, bool is_innermost)
{
    if (row) return axp__walk_by_row(w, row);
    return is_innermost && axp__search_caller(w) ? AXP__WALK_DONE
                                                 : axp__walk_by_pointer(w);
}

/* Innermost, a function may have called without a frame. */
static bool has_moved(const struct axp__walk *w, const struct axp__regs *was,
                      size_t n)
{
    uint64_t sp = w->now.reg[AXP__DWARF_SP];
    if (sp > was->reg[AXP__DWARF_SP]) return true;
    return sp == was->reg[AXP__DWARF_SP] && n < 3 &&
           w->now.reg[AXP__DWARF_PC] != was->reg[AXP__DWARF_PC];
}

static enum axp__copy walk(struct axp__walk *w, uint64_t *out, size_t cap,
                           size_t *n)
{
    bool is_exact = true;
    while (*n < cap) {
        const struct axp__cfi_row *row;
        const struct axp__regs was = w->now;
        uint64_t place = axp__walk_place(w, is_exact, &row),
                 expected = linked(w);
        if (!place) break;
        out[(*n)++] = place;
        enum axp__walked how = step(w, row, is_exact);
        if (how == AXP__WALK_CUT && !is_exact && expected)
            return follow(w, row, out, cap, n);
        if (how == AXP__WALK_CUT) return AXP__COPY_CUT;
        if (how == AXP__WALK_LOST)
            return w->is_short ? AXP__COPY_CUT : AXP__COPY_ENOUGH;
        uint64_t next = how == AXP__WALK_DONE && has_moved(w, &was, *n)
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
    struct axp__walk w = {.of = u, .link = 1};
    struct axp__unwound of = {0};
    if (u->sample->is_kernel && cap)
        out[of.n++] = axp__mods_kernel(u->mods) + 1;
    if (!u->sample->regs) return of;
    axp__walk_begin(&w);
    of.copy = walk(&w, out, cap, &of.n);
    of.bytes = w.needed;
    return of;
}
