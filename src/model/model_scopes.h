/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The scopes that are open in a row while its words are read: a stack, from
 * whose middle named scopes may be taken.
 *
 *   at      [ begin, name, flags ][ gone ][ … ] … n, the innermost last
 *   newest  name of a named scope ─► its newest place, and from there the
 *           older ones
 *   solid   the topmost place whose name overlaps nothing, and from there
 *           those below
 *
 * A scope that is taken from the middle leaves a gap (its name is
 * AXP__SCOPE_GONE); where gaps are more than the rest, the rest moves up. The
 * last one is never a gap.
 *
 * Place      model_match.c and model_scan.c keep one for each thread's row.
 * Input      untrusted: past AXP__MOST_OPEN scopes are counted, not kept. No
 *            words make a reader slow: a named scope is found by its name,
 *            one that ended elsewhere by its time; where an end is not the
 *            innermost's, as in a timeline with gaps, the stack is searched
 *            as far as the looks last that words bring with them.
 * Ownership  init with {0}; fini frees.
 */
#ifndef AXP_MODEL_SCOPES_H
#define AXP_MODEL_SCOPES_H
#include "model/model_stream.h"

#define AXP__MOST_OPEN (1u << 20) /* as a recorder keeps */
#define AXP__SCOPE_LOOKS_A_WORD 16u
#define AXP__SCOPE_LOOKS_FREE (1u << 22)

struct axp__scopes {
    struct axp__scope *at;        /* outermost first */
    struct axp__scope_work *work; /* beside them; NULL until there is any */
    uint32_t n, cap, n_gone;
    uint32_t n_base;   /* of the caller: so many were open before all words */
    uint32_t solid;    /* 1 + the topmost, or 0 */
    uint64_t n_deeper; /* open and not kept */
    uint64_t n_looks;  /* that are left */
    struct axp__scope_newest *newest; /* NULL: no named scope yet */
};

void axp__scopes_clear(struct axp__scopes *s);
void axp__scopes_fini(struct axp__scopes *s);
/* False: no memory. */
bool axp__scopes_grow(struct axp__scopes *s);
bool axp__scopes_add_named(struct axp__scopes *s);
/* Takes scope i out; its work, if any, goes to *work. */
void axp__scopes_remove(struct axp__scopes *s, uint32_t i,
                        struct axp__scope_work *work);
/* The scope that an END or ABANDON ends: the innermost of its name that is not
 * named. (An earlier recorder abandoned named ones too, where they were
 * innermost.) The newest named one; the one that began then. -1: none. */
struct axp__wire_event;
int64_t axp__scopes_ended(struct axp__scopes *s,
                          const struct axp__wire_event *w);
int64_t axp__scopes_newest_named(const struct axp__scopes *s, uint32_t name);
int64_t axp__scopes_begun(const struct axp__scopes *s, uint32_t name,
                          uint64_t begin);
/* The topmost scope above i whose name is in no bit of `overlaps`, which only
 * ever gains bits; -1: none. */
int64_t axp__scopes_solid_above(struct axp__scopes *s, uint32_t i,
                                const uint64_t *overlaps);
/* Work of the innermost, made on first use; NULL: none is open, or no
 * memory. */
struct axp__scope_work *axp__scopes_work(struct axp__scopes *s);

/* False: no memory. */
static inline bool axp__scopes_push(struct axp__scopes *s, uint32_t name,
                                    unsigned flags, axp_ns begin_ns)
{
    if (axp__unlikely(s->n == s->cap)) {
        if (s->n >= AXP__MOST_OPEN) {
            s->n_deeper++;
            return true;
        }
        if (!axp__scopes_grow(s)) return false;
    }
    s->at[s->n] = (struct axp__scope){
        .begin_ns = begin_ns,
        .name = name,
        .category = s->n ? s->at[s->n - 1].category : 0,
        .flags = (uint8_t)flags,
        .below = s->solid,
    };
    s->solid = ++s->n;
    return axp__likely(!(flags & AXP__R_NAMED)) || axp__scopes_add_named(s);
}

/* The innermost ends, where that is as easy as most; false: it is not. */
static inline bool axp__scopes_pop_fast(struct axp__scopes *s)
{
    const struct axp__scope *top = &s->at[s->n - 1];
    if (axp__unlikely(top->has_work || top->flags & AXP__R_NAMED || s->n_gone))
        return false;
    if (s->solid == s->n) s->solid = top->below;
    s->n--;
    return true;
}

#endif
