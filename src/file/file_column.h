/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What packing and unpacking agree on: docs/trace-format.md, "PACK".
 *
 *   body     7 times: length, length packed or 0; then the columns themselves;
 *            what is left is REFS, which has no length of its own
 *
 *   SHAPE       varints: number of symbols, templates, contexts; wide symbols,
 *               or 2 more and then the number of refs
 *               for each chunk   seq (less the one before), base (zigzag, less
 *                                the one before), words, events, symbols
 *               for each context widths of both windows, their beginnings in
 *                                units of 2^(width - 3), or of 1
 *               for each template words, literals, context of its time, of
 *                                its end's
 *   TEMPLATES   their words, the time of heads 0
 *   SYMBOLS     one byte each, or the low bytes and then the high ones
 *   FLAGS       one bit a time: second window
 *   TIMES       the bits of the windows, low bits first
 *   EXCEPTIONS  8 bytes each
 *   LITERALS    8 bytes each
 *   REFS        ids of stacks: the lowest bytes of all, then the next, … 4 times
 *               as long as there are refs, or compressed
 *
 * Ids of stacks are not literals: 8 bytes each in between of sizes and addresses
 * took 4.5 bytes after zstd, and their bytes apart 2.1 where there are 100,000
 * stacks (bench/bench_file_stacks.c).
 */
#ifndef AXP_FILE_COLUMN_H
#define AXP_FILE_COLUMN_H
#include <stdbool.h>
#include <stddef.h>

#include "wire/wire_word.h"

enum axp__pack_column {
    AXP__COL_SHAPE,
    AXP__COL_TEMPLATES,
    AXP__COL_SYMBOLS,
    AXP__COL_FLAGS,
    AXP__COL_TIMES,
    AXP__COL_EXCEPTIONS,
    AXP__COL_LITERALS,
    AXP__N_COLUMNS
};

/* The first symbols are no templates. */
enum axp__pack_symbol {
    AXP__SYM_END,     /* END of the scope begun last */
    AXP__SYM_STOP,    /* STOP likewise */
    AXP__SYM_RECORD,  /* head and payload are literals */
    AXP__SYM_TIME,    /* a TIME word; its base is a literal, it has no time */
    AXP__SYM_TEMPLATE /* the first template */
};

#define AXP__PACK_TEMPLATES 4096u
#define AXP__TEMPLATE_WORDS 16u /* of one, at most */
#define AXP__PACK_CONTEXTS 256u
#define AXP__CTX_TIME 0u /* of what has none of its own */
#define AXP__CTX_END 1u
#define AXP__WINDOW_BITS 32u /* of a window, at most */
#define AXP__LAST_SLOTS 3u   /* payload words that are stored as differences */

/* Beside "wide" in the shape. */
#define AXP__SHAPE_WIDE 1u
#define AXP__SHAPE_REFS 2u

#define AXP__HEAD_MASK (((uint64_t)1 << AXP__TIME_SHIFT) - 1)

/* Which scopes are open, as far as a pack knows: a ring instead of a stack.
 * Ends of what was begun before the pack step back over its beginning, and
 * what is deeper than it is long is forgotten; a name tells whether an entry
 * is the right one. */
#define AXP__OPEN_SCOPES 256u
#define AXP__NO_NAME UINT32_MAX
struct axp__open_scope {
    uint32_t name, template;
};

struct axp__open_scopes {
    uint32_t depth;
    struct axp__open_scope at[AXP__OPEN_SCOPES];
};

static inline void axp__scopes_init(struct axp__open_scopes *s)
{
    s->depth = 0;
    for (uint32_t i = 0; i < AXP__OPEN_SCOPES; i++)
        s->at[i].name = AXP__NO_NAME;
}

static inline void axp__scope_push(struct axp__open_scopes *s, uint32_t name,
                                   uint32_t template)
{
    s->at[s->depth++ % AXP__OPEN_SCOPES] =
        (struct axp__open_scope){name, template};
}

static inline const struct axp__open_scope *axp__scope_top(
    const struct axp__open_scopes *s)
{
    return &s->at[(s->depth - 1) % AXP__OPEN_SCOPES];
}

static inline bool axp__is_begin(enum axp__word_kind kind)
{
    return kind == AXP__W_BEGIN || kind == AXP__W_START;
}

static inline bool axp__is_end(enum axp__word_kind kind)
{
    return kind == AXP__W_END || kind == AXP__W_STOP || kind == AXP__W_ABANDON;
}

#endif
