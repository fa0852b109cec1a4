/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The scopes that are open in a row while its words are read: a stack, from
 * whose middle named scopes may be taken.
 *
 * Place      model_stream.c keeps one for each thread's row.
 * Input      untrusted: past AXP__MOST_OPEN scopes are counted, not kept; a
 *            scope is looked for AXP__MOST_LOOKS deep, so that no words make
 *            a reader slow.
 * Ownership  init with {0}; fini frees.
 */
#ifndef AXP_MODEL_SCOPES_H
#define AXP_MODEL_SCOPES_H
#include "model/model_stream.h"

#define AXP__MOST_OPEN (1u << 20) /* as a recorder keeps */
#define AXP__MOST_LOOKS (1u << 14)

struct axp__scopes {
    struct axp__scope *at;        /* outermost first */
    struct axp__scope_work *work; /* beside them; NULL until there is any */
    uint32_t n, cap;
    uint64_t n_deeper; /* open and not kept */
};

bool axp__scopes_grow(struct axp__scopes *s);
void axp__scopes_fini(struct axp__scopes *s);
/* Takes scope i out; its work, if any, goes to *work. */
void axp__scopes_remove(struct axp__scopes *s, uint32_t i,
                        struct axp__scope_work *work);
/* The newest open scope of that name whose flags hold all of `flags`, or that
 * began then; -1: none. */
int64_t axp__scopes_newest(const struct axp__scopes *s, uint32_t name,
                           unsigned flags);
int64_t axp__scopes_begun(const struct axp__scopes *s, uint32_t name,
                          uint64_t begin);
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
    };
    s->n++;
    return true;
}

#endif
