/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Walks the stack; see memory_walk.h. */
#include "memory_walk.h"

#include <stdbool.h>
#include <stddef.h>

#include "memory_fde.h"
#include "memory_reach.h"
#include "memory_rows.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define WORD sizeof(uintptr_t)
#define HASH_STEP 0x9e3779b97f4a7c15u
#define HASH_END 0xd6e8feb86659fd93u

/* What frames hold is of any type, and at no place in particular if a register
 * was no pointer. */
typedef uintptr_t word __attribute__((aligned(1), may_alias));

/* Words of other functions' frames: sanitizers would call that a mistake. */
__attribute__((no_sanitize_address, no_sanitize_thread)) static inline uintptr_t
word_at(uintptr_t address)
{
    return *(const word *)address;
}

/* Where a walk is, and what it has. */
struct walk {
    uintptr_t pc, sp, fp;
    struct memory_reach reach;
};

/* Beside the walk, not after it: the next frame does not wait for it. */
static inline uint64_t hash_add(uint64_t hash, uintptr_t pc)
{
    return (hash + pc) * HASH_STEP;
}

static inline uint64_t hash_end(uint64_t hash)
{
    hash = (hash ^ hash >> 32) * HASH_END;
    hash = (hash ^ hash >> 29) * HASH_STEP;
    return hash ^ hash >> 32;
}

/* A return address. */
static inline uintptr_t code_at(uintptr_t address)
{
    return memory_code_plain(word_at(address));
}

static inline bool is_code(uintptr_t pc)
{
    return pc - MEMORY_CODE_LOW < MEMORY_CODE_END - MEMORY_CODE_LOW;
}

/* ---- frame pointers ------------------------------------------------------ */

/* Of code on a signal's stack the caller may be on the thread's own. */
static bool change_stack(struct walk *walk)
{
    uintptr_t low = memory_own.low, high = memory_own.high;
    if (walk->reach.is_own || walk->fp < low || walk->fp >= high ||
        high - walk->fp < 2 * WORD)
        return false;
    walk->reach = (struct memory_reach){high, true};
    return true;
}

/* Does the frame pointer point to a frame, above the stack pointer? */
static bool has_frame(struct walk *walk)
{
    uintptr_t fp = walk->fp;
    if (fp % WORD || fp > UINTPTR_MAX - 2 * WORD) return false;
    return (fp >= walk->sp && memory_reach_has(&walk->reach, fp + 2 * WORD)) ||
           change_stack(walk);
}

/* The caller's stack pointer is there or higher: memory_row_by_fp. */
static __attribute__((noinline)) bool step_frame(struct walk *walk)
{
    if (!has_frame(walk)) return false;
    uintptr_t fp = walk->fp;
    walk->pc = code_at(fp + WORD);
    walk->sp = fp + 2 * WORD;
    walk->fp = word_at(fp);
    return is_code(walk->pc);
}

/* HOT. Whoever needs the walk's address gets that of a copy, here and below, so
 * that it is in registers. */
static void walk_frames(struct memory_stack *out, uint32_t n_max,
                        struct walk walk)
{
    uint64_t hash = 0;
    uint32_t n = 0;
    for (;;) {
        out->frames[n++] = walk.pc;
        hash = hash_add(hash, walk.pc);
        if (n >= n_max) break;
        uintptr_t fp = walk.fp;
        if (LIKELY(fp >= walk.sp && fp < walk.reach.end - WORD &&
                   !(fp % WORD))) {
            walk.pc = code_at(fp + WORD);
            walk.sp = fp + 2 * WORD;
            walk.fp = word_at(fp);
            if (is_code(walk.pc)) continue;
            break;
        }
        struct walk copy = walk;
        if (!step_frame(&copy)) break;
        walk = copy;
    }
    out->n = n;
    out->hash = hash_end(hash);
}

/* ---- unwind rows --------------------------------------------------------- */

/* So many words further up, or down. */
static inline uintptr_t up(uintptr_t address, intptr_t words)
{
    return address + (uintptr_t)words * WORD;
}

/* May the word at an address be read as one of the frame's? */
static bool is_in_frame(struct walk *walk, uintptr_t address)
{
    return address >= walk->sp && address <= UINTPTR_MAX - WORD &&
           memory_reach_has(&walk->reach, address + WORD);
}

/* The return address and the frame pointer, when the CFA is known. */
static bool step_up(struct walk *walk, uintptr_t cfa, memory_row row)
{
    intptr_t fp = memory_row_fp(row);
    uintptr_t back = up(cfa, memory_row_back(row)), slot = up(cfa, fp);
    if (fp == MEMORY_FP_AT_FP) slot = walk->fp;
    if (!is_in_frame(walk, back)) return false;
    if (fp != MEMORY_FP_SAME) {
        if (!is_in_frame(walk, slot)) return false;
        walk->fp = word_at(slot);
    }
    walk->pc = code_at(back);
    walk->sp = cfa;
    return is_code(walk->pc);
}

/* gcc's way to realign a stack: rbp points to the caller's rbp, and somewhere
 * below it is the CFA. */
static bool step_realigned(struct walk *walk, memory_row row)
{
    uintptr_t at = up(walk->fp, memory_row_offset(row));
    return is_in_frame(walk, at) && step_up(walk, word_at(at), row);
}

/* A function that has saved nothing, where a signal came. */
static bool step_link(struct walk *walk, memory_row row)
{
    walk->pc = memory_row_link(row);
    walk->sp = up(walk->sp, memory_row_link_offset(row));
    return is_code(walk->pc);
}

/* Frames that step_unknown goes over. A leaf that called has a wrong table. */
static bool is_unknown(enum memory_row_kind kind)
{
    return kind == MEMORY_ROW_LEAF || kind == MEMORY_ROW_UNKNOWN ||
           kind == MEMORY_ROW_NOWHERE;
}

/* Nothing is known of the code. What fp then leads to is believed if it is
 * an object's code, or if no more could be known: a JIT's frames. */
static bool step_unknown(struct walk *walk, enum memory_row_kind kind)
{
    if (!step_frame(walk)) return false;
    return kind == MEMORY_ROW_NOWHERE ||
           memory_row_kind(memory_rows_find(walk->pc, walk->sp, walk->fp)) !=
               MEMORY_ROW_NOWHERE;
}

/* Any row but a signal's. */
static bool step_row(struct walk *walk, memory_row row)
{
    intptr_t offset = memory_row_offset(row);
    switch (memory_row_kind(row)) {
    case MEMORY_ROW_SP: return step_up(walk, up(walk->sp, offset), row);
    case MEMORY_ROW_FP:
    case MEMORY_ROW_RECORD: return step_up(walk, up(walk->fp, offset), row);
    case MEMORY_ROW_AT_FP: return step_realigned(walk, row);
    case MEMORY_ROW_LINK: return step_link(walk, row);
    default:
        return is_unknown(memory_row_kind(row)) &&
               step_unknown(walk, memory_row_kind(row));
    }
}

/* Is it where the kernel has handlers return to? Where that has no row, it is
 * known by what the kernel has saved twice. */
static bool is_signal(struct walk *walk, enum memory_row_kind kind)
{
    uintptr_t at = walk->sp, fp = walk->fp;
    if (MEMORY_SIGNAL_RECORD == 0 || !is_unknown(kind))
        return kind == MEMORY_ROW_SIGNAL;
    return fp >= at + MEMORY_SIGNAL_RECORD && is_in_frame(walk, fp) &&
           is_in_frame(walk, fp + WORD) &&
           word_at(fp) == word_at(at + MEMORY_SIGNAL_FP) &&
           word_at(fp + WORD) == word_at(at + MEMORY_SIGNAL_LINK);
}

/* The registers are in the kernel's ucontext; the stack may be another. The row
 * of where the signal came: there was no call before it. */
static memory_row step_signal(struct walk *walk)
{
    uintptr_t at = walk->sp;
    if (!is_in_frame(walk, at + MEMORY_SIGNAL_PC)) return 0;
    walk->pc = word_at(at + MEMORY_SIGNAL_PC);
    walk->sp = word_at(at + MEMORY_SIGNAL_SP);
    walk->fp = word_at(at + MEMORY_SIGNAL_FP);
    walk->reach = memory_reach_of(walk->sp);
    if (!is_code(walk->pc)) return 0;
    memory_row row = memory_rows_make(walk->pc);
    if (MEMORY_SIGNAL_LINK > 0 && memory_row_kind(row) == MEMORY_ROW_LEAF)
        row = memory_row_link_make(memory_row_offset(row),
                                   code_at(at + MEMORY_SIGNAL_LINK));
    return row;
}

/* No word that is read depends on the row: the walk does not wait for it. */
static inline bool step_record(struct walk *walk, uintptr_t cfa)
{
    uintptr_t fp = walk->fp;
    if (fp < walk->sp || fp >= walk->reach.end || cfa > walk->reach.end)
        return false;
    walk->pc = code_at(fp + WORD);
    walk->fp = word_at(fp);
    walk->sp = cfa;
    return true;
}

/* Rows as nearly all are, of frames inside what may be read. False: nothing was
 * done. What is at the return address's place need not be one: then no key
 * fits it. */
static inline bool step_quickly(struct walk *walk, memory_row row)
{
    if (MEMORY_HAS_RECORDS && LIKELY(memory_row_kind(row) == MEMORY_ROW_RECORD))
        return step_record(walk, up(walk->fp, memory_row_offset(row)));
    intptr_t offset = memory_row_offset(row), fp = memory_row_fp(row);
    uintptr_t cfa;
    if (LIKELY(memory_row_kind(row) == MEMORY_ROW_SP)) {
        cfa = up(walk->sp, offset);
        if (cfa > walk->reach.end) return false;
    } else if (LIKELY(memory_row_kind(row) == MEMORY_ROW_FP)) {
        cfa = up(walk->fp, offset);
        if (cfa > walk->reach.end || cfa <= walk->sp ||
            up(cfa, memory_row_low(row)) < walk->sp)
            return false;
    } else {
        return false;
    }
    walk->pc = code_at(up(cfa, memory_row_back(row)));
    if (fp) walk->fp = word_at(up(cfa, fp));
    walk->sp = cfa;
    return true;
}

/* 0: there can be no code. */
static inline memory_row row_of(const uint64_t *window, const struct walk *walk)
{
    memory_row row;
    if (MEMORY_HAS_RECORDS) {
        row = memory_rows_known(walk->pc);
        if (LIKELY(row)) return row;
    } else {
        row = memory_rows_near(window, walk->sp);
        if (LIKELY((uint32_t)row == memory_rows_key(walk->pc))) return row;
    }
    return is_code(walk->pc) ? memory_rows_find(walk->pc, walk->sp, walk->fp)
                             : 0;
}

/* The caller's row; 0: there is none. */
static __attribute__((noinline)) memory_row step_slowly(struct walk *walk,
                                                        memory_row row)
{
    enum memory_row_kind kind = memory_row_kind(row);
    if (is_signal(walk, kind)) return step_signal(walk);
    if (!step_row(walk, row)) return 0;
    row = memory_rows_find(walk->pc, walk->sp, walk->fp);
    bool is_exact = !MEMORY_HAS_RECORDS || !is_unknown(kind);
    return is_exact ? row : memory_row_by_fp(row);
}

/* HOT */
static void walk_rows(struct memory_stack *out, uint32_t n_max,
                      struct walk walk)
{
    const uint64_t *window = MEMORY_HAS_RECORDS ? NULL : memory_rows_window();
    memory_row row = row_of(window, &walk);
    uint64_t hash = 0;
    uint32_t n = 0;
    while (LIKELY(row)) {
        out->frames[n++] = walk.pc;
        hash = hash_add(hash, walk.pc);
        if (n >= n_max) break;
        if (LIKELY(step_quickly(&walk, row))) {
            row = row_of(window, &walk);
        } else if (memory_row_kind(row) == MEMORY_ROW_END) {
            break;
        } else {
            struct walk copy = walk;
            row = step_slowly(&copy, row);
            walk = copy;
        }
    }
    out->n = n;
    out->hash = hash_end(hash);
}

/* HOT. The stack pointer of who called the function whose frame pointer this
 * is, and which has made a call that returns to pc. */
static inline uintptr_t sp_above(uintptr_t frame, uintptr_t pc)
{
    if (MEMORY_HAS_RECORDS) {
        memory_row row = memory_rows_known(pc);
        if (memory_row_kind(row) != MEMORY_ROW_RECORD)
            row = memory_rows_find(pc, 0, frame);
        if (LIKELY(memory_row_kind(row) == MEMORY_ROW_RECORD))
            return up(frame, memory_row_offset(row));
    }
    return frame + 2 * WORD;
}

/* ---- both ---------------------------------------------------------------- */

void memory_walk_from(struct memory_stack *out, enum memory_stacks how,
                      uint32_t n_max, const void *frame)
{
    uintptr_t own = (uintptr_t)__builtin_return_address(0);
    uintptr_t at = (uintptr_t)frame;
    struct walk walk;
    walk.pc = code_at(at + WORD);
    walk.fp = word_at(at);
    walk.sp = at + 2 * WORD;
    if (n_max > MEMORY_FRAMES) n_max = MEMORY_FRAMES;
    if (how == MEMORY_STACKS_NONE || !n_max || !is_code(walk.pc)) {
        out->hash = 0;
        out->n = 0;
        return;
    }
    walk.reach = memory_reach_from(walk.sp);
    if (how == MEMORY_STACKS_UNWIND) {
        walk.sp = sp_above(at, memory_code_plain(own));
        walk_rows(out, n_max, walk);
    } else {
        walk_frames(out, n_max, walk);
    }
}
