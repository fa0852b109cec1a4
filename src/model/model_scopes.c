/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The open scopes of a row; see model_scopes.h. */
#include "model/model_scopes.h"

#include <stdlib.h>
#include <string.h>

bool axp__scopes_grow(struct axp__scopes *s)
{
    uint32_t cap = s->cap ? s->cap * 2 : 64;
    struct axp__scope *at = realloc(s->at, cap * sizeof *at);
    if (!at) return false;
    s->at = at;
    if (s->work) {
        struct axp__scope_work *work = realloc(s->work, cap * sizeof *work);
        if (!work) return false;
        s->work = work;
    }
    s->cap = cap;
    return true;
}

void axp__scopes_fini(struct axp__scopes *s)
{
    free(s->at);
    free(s->work);
    *s = (struct axp__scopes){0};
}

void axp__scopes_remove(struct axp__scopes *s, uint32_t i,
                        struct axp__scope_work *work)
{
    uint32_t above = s->n - i - 1;
    if (s->at[i].has_work) *work = s->work[i];
    s->n--;
    if (!above) return;
    memmove(s->at + i, s->at + i + 1, above * sizeof *s->at);
    if (s->work) memmove(s->work + i, s->work + i + 1, above * sizeof *s->work);
}

int64_t axp__scopes_newest(const struct axp__scopes *s, uint32_t name,
                           unsigned flags)
{
    uint32_t last = s->n > AXP__MOST_LOOKS ? s->n - AXP__MOST_LOOKS : 0;
    for (uint32_t i = s->n; i-- > last;)
        if (s->at[i].name == name && (s->at[i].flags & flags) == flags)
            return i;
    return -1;
}

int64_t axp__scopes_begun(const struct axp__scopes *s, uint32_t name,
                          uint64_t begin)
{
    uint32_t last = s->n > AXP__MOST_LOOKS ? s->n - AXP__MOST_LOOKS : 0;
    for (uint32_t i = s->n; i-- > last;)
        if (s->at[i].name == name && s->at[i].begin_ns == begin) return i;
    return -1;
}

struct axp__scope_work *axp__scopes_work(struct axp__scopes *s)
{
    if (!s->n || s->n_deeper) return NULL;
    if (!s->work && !(s->work = malloc(s->cap * sizeof *s->work))) return NULL;
    if (!s->at[s->n - 1].has_work)
        s->work[s->n - 1] = (struct axp__scope_work){0};
    s->at[s->n - 1].has_work = true;
    return &s->work[s->n - 1];
}
