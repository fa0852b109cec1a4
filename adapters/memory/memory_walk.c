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

static inline bool is_code(uintptr_t pc)
{
    return pc - MEMORY_CODE_LOW < MEMORY_CODE_END - MEMORY_CODE_LOW;
}

/* ---- frame pointers ------------------------------------------------------ */

/* Pointer authentication signs what is above an address; not on x86-64. */
static inline uintptr_t plain(uintptr_t pc)
{
#if defined(__aarch64__)
    return pc & (((uintptr_t)1 << 48) - 1);
#else
    return pc;
#endif
}

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

static __attribute__((noinline)) bool step_frame(struct walk *walk)
{
    if (!has_frame(walk)) return false;
    uintptr_t fp = walk->fp;
    walk->pc = plain(word_at(fp + WORD));
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
            walk.pc = plain(word_at(fp + WORD));
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

#if defined(__x86_64__)
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

/* The return address and rbp, when the CFA is known. */
static bool step_up(struct walk *walk, uintptr_t cfa, memory_row row)
{
    intptr_t rbp = memory_row_rbp(row);
    uintptr_t slot = up(cfa, rbp);
    if (rbp == MEMORY_RBP_AT_RBP) slot = walk->fp;
    if (!is_in_frame(walk, cfa - WORD)) return false;
    if (rbp != MEMORY_RBP_SAME) {
        if (!is_in_frame(walk, slot)) return false;
        walk->fp = word_at(slot);
    }
    walk->pc = word_at(cfa - WORD);
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

/* The registers are in the kernel's ucontext; the stack may be another. */
static bool step_signal(struct walk *walk)
{
    enum { RBP = 120, RSP = 160, RIP = 168 };
    uintptr_t at = walk->sp;
    if (!is_in_frame(walk, at + RIP)) return false;
    walk->pc = word_at(at + RIP);
    walk->sp = word_at(at + RSP);
    walk->fp = word_at(at + RBP);
    walk->reach = memory_reach_of(walk->sp);
    return is_code(walk->pc);
}

/* Nothing is known of the code. What rbp then leads to is believed if it is
 * an object's code, or if no more could be known: a JIT's frames. */
static bool step_unknown(struct walk *walk, enum memory_row_kind kind)
{
    if (!step_frame(walk)) return false;
    return kind == MEMORY_ROW_NOWHERE ||
           memory_row_kind(memory_rows_find(walk->pc, walk->sp)) !=
               MEMORY_ROW_NOWHERE;
}

/* Any row. */
static bool step_row(struct walk *walk, memory_row row)
{
    intptr_t offset = memory_row_offset(row);
    switch (memory_row_kind(row)) {
    case MEMORY_ROW_RSP: return step_up(walk, up(walk->sp, offset), row);
    case MEMORY_ROW_RBP: return step_up(walk, up(walk->fp, offset), row);
    case MEMORY_ROW_AT_RBP: return step_realigned(walk, row);
    case MEMORY_ROW_SIGNAL: return step_signal(walk);
    case MEMORY_ROW_UNKNOWN:
    case MEMORY_ROW_NOWHERE: return step_unknown(walk, memory_row_kind(row));
    default: return false;
    }
}

/* Rows as nearly all are, of frames inside what may be read. False: nothing was
 * done. What is at the return address's place need not be one: then no key
 * fits it. */
static inline bool step_quickly(struct walk *walk, memory_row row)
{
    intptr_t offset = memory_row_offset(row), rbp = memory_row_rbp(row);
    uintptr_t cfa;
    if (LIKELY(memory_row_kind(row) == MEMORY_ROW_RSP)) {
        cfa = up(walk->sp, offset);
        if (cfa > walk->reach.end) return false;
    } else if (LIKELY(memory_row_kind(row) == MEMORY_ROW_RBP)) {
        cfa = up(walk->fp, offset);
        if (cfa > walk->reach.end || cfa <= walk->sp || up(cfa, rbp) < walk->sp)
            return false;
    } else {
        return false;
    }
    walk->pc = word_at(cfa - WORD);
    if (rbp) walk->fp = word_at(up(cfa, rbp));
    walk->sp = cfa;
    return true;
}

/* 0: there can be no code. */
static inline memory_row row_of(const uint64_t *window, uintptr_t pc,
                                uintptr_t sp)
{
    memory_row row = memory_rows_near(window, sp);
    if (LIKELY((uint32_t)row == memory_rows_key(pc))) return row;
    return is_code(pc) ? memory_rows_find(pc, sp) : 0;
}

/* The caller's row; 0: there is none. */
static __attribute__((noinline)) memory_row step_slowly(struct walk *walk,
                                                        memory_row row)
{
    if (!step_row(walk, row)) return 0;
    /* Where a signal came there was no call before it. */
    if (memory_row_kind(row) == MEMORY_ROW_SIGNAL)
        return memory_rows_make(walk->pc);
    return memory_rows_find(walk->pc, walk->sp);
}

/* HOT */
static void walk_rows(struct memory_stack *out, uint32_t n_max,
                      struct walk walk)
{
    const uint64_t *window = memory_rows_window();
    memory_row row = row_of(window, walk.pc, walk.sp);
    uint64_t hash = 0;
    uint32_t n = 0;
    while (LIKELY(row)) {
        out->frames[n++] = walk.pc;
        hash = hash_add(hash, walk.pc);
        if (n >= n_max) break;
        if (LIKELY(step_quickly(&walk, row))) {
            row = row_of(window, walk.pc, walk.sp);
        } else {
            struct walk copy = walk;
            row = step_slowly(&copy, row);
            walk = copy;
        }
    }
    out->n = n;
    out->hash = hash_end(hash);
}
#endif

/* ---- both ---------------------------------------------------------------- */

void memory_walk_from(struct memory_stack *out, enum memory_stacks how,
                      uint32_t n_max, const void *frame)
{
    struct walk walk;
    walk.sp = (uintptr_t)frame + 2 * WORD;
    walk.fp = word_at((uintptr_t)frame);
    walk.pc = plain(word_at((uintptr_t)frame + WORD));
    if (n_max > MEMORY_FRAMES) n_max = MEMORY_FRAMES;
    if (how == MEMORY_STACKS_NONE || !n_max || !is_code(walk.pc)) {
        out->hash = 0;
        out->n = 0;
        return;
    }
    walk.reach = memory_reach_from(walk.sp);
#if defined(__x86_64__)
    if (how == MEMORY_STACKS_UNWIND) {
        walk_rows(out, n_max, walk);
        return;
    }
#endif
    walk_frames(out, n_max, walk);
}
