/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The open scopes of a row; see model_scopes.h. */
#include "model/model_scopes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire_decode.h"

/* ---- named scopes by name ----------------------------------------------------- */

/* A table with open addressing, at most half full. A name stays in it until
 * the next rebuild. */
struct entry {
    uint32_t name_1; /* 1 + name; 0: empty */
    uint32_t place;  /* 1 + the newest; 0: none is open */
};

struct axp__scope_newest {
    uint32_t n_used, cap;
    struct entry at[];
};

static struct entry *find(struct axp__scope_newest *t, uint32_t name)
{
    uint32_t i = name * 2654435761u & (t->cap - 1);
    while (t->at[i].name_1 && t->at[i].name_1 != name + 1)
        i = (i + 1) & (t->cap - 1);
    return &t->at[i];
}

static bool widen(struct axp__scopes *s)
{
    struct axp__scope_newest *old = s->newest, *t;
    uint32_t cap = old ? old->cap * 2 : 64;
    t = calloc(1, sizeof *t + cap * sizeof *t->at);
    if (!t) return false;
    t->cap = cap;
    for (uint32_t i = 0; old && i < old->cap; i++)
        if (old->at[i].place) {
            *find(t, old->at[i].name_1 - 1) = old->at[i];
            t->n_used++;
        }
    free(old);
    s->newest = t;
    return true;
}

/* Place i is the newest of its name. */
static void link_named(struct axp__scopes *s, uint32_t i)
{
    assert(s->newest); /* widened before */
    struct entry *e = find(s->newest, s->at[i].name);
    if (!e->name_1) s->newest->n_used++;
    e->name_1 = s->at[i].name + 1;
    s->at[i].older = e->place;
    e->place = i + 1;
}

bool axp__scopes_add_named(struct axp__scopes *s)
{
    if ((!s->newest || s->newest->n_used >= s->newest->cap / 2) && !widen(s))
        return false;
    link_named(s, s->n - 1);
    return true;
}

/* The newest of a name is most often the one that ends, and gaps that it was
 * before go with it: what a table names is never one. */
static void unlink_named(struct axp__scopes *s, uint32_t i)
{
    assert(s->newest); /* it was added */
    struct entry *e = find(s->newest, s->at[i].name);
    if (e->place != i + 1) return;
    do
        e->place = s->at[e->place - 1].older;
    while (e->place && s->at[e->place - 1].name == AXP__SCOPE_GONE);
}

int64_t axp__scopes_newest_named(const struct axp__scopes *s, uint32_t name)
{
    return s->newest ? (int64_t)find(s->newest, name)->place - 1 : -1;
}

/* ---- memory --------------------------------------------------------------------- */

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

void axp__scopes_clear(struct axp__scopes *s)
{
    s->n = s->n_gone = s->n_base = s->solid = 0;
    s->n_deeper = 0;
    s->n_looks = AXP__SCOPE_LOOKS_FREE;
    free(s->newest);
    s->newest = NULL;
}

void axp__scopes_fini(struct axp__scopes *s)
{
    free(s->at);
    free(s->work);
    free(s->newest);
    *s = (struct axp__scopes){0};
}

/* ---- taking out ------------------------------------------------------------------- */

/* Closes the gaps, and links everything anew. */
static void compact(struct axp__scopes *s)
{
    uint32_t n = 0, n_base = 0;
    if (s->newest)
        memset(s->newest->at, 0, s->newest->cap * sizeof *s->newest->at);
    if (s->newest) s->newest->n_used = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->at[i].name == AXP__SCOPE_GONE) continue;
        if (i < s->n_base) n_base++;
        s->at[n] = s->at[i];
        if (s->work) s->work[n] = s->work[i];
        s->at[n].below = n;
        if (s->at[n].flags & AXP__R_NAMED) link_named(s, n);
        n++;
    }
    s->n = s->solid = n;
    s->n_base = n_base;
    s->n_gone = 0;
}

/* Takes the innermost out, and gaps below it. */
static void pop(struct axp__scopes *s)
{
    if (s->at[s->n - 1].flags & AXP__R_NAMED) unlink_named(s, s->n - 1);
    do {
        uint32_t top = s->n--;
        if (s->solid == top) s->solid = s->at[top - 1].below;
        s->n_gone -= s->at[top - 1].name == AXP__SCOPE_GONE;
    } while (s->n && s->at[s->n - 1].name == AXP__SCOPE_GONE);
    if (s->n_base > s->n) s->n_base = s->n;
}

void axp__scopes_remove(struct axp__scopes *s, uint32_t i,
                        struct axp__scope_work *work)
{
    if (s->at[i].has_work) *work = s->work[i];
    if (i + 1 == s->n) {
        pop(s);
        return;
    }
    if (s->at[i].flags & AXP__R_NAMED) unlink_named(s, i);
    s->at[i].name = AXP__SCOPE_GONE;
    s->n_gone++;
    if (s->n_gone > 64 && s->n_gone > s->n / 2) compact(s);
}

/* ---- finding ----------------------------------------------------------------------- */

int64_t axp__scopes_ended(struct axp__scopes *s,
                          const struct axp__wire_event *w)
{
    const struct axp__scope *top = s->n ? &s->at[s->n - 1] : NULL;
    if (axp__likely(
            top && top->name == w->name &&
            (!(top->flags & AXP__R_NAMED) || w->kind == AXP__W_ABANDON)))
        return (int64_t)s->n - 1;
    s->n_looks += AXP__SCOPE_LOOKS_A_WORD;
    for (uint32_t i = s->n; i-- && s->n_looks; s->n_looks--)
        if (s->at[i].name == w->name && !(s->at[i].flags & AXP__R_NAMED))
            return i;
    return -1;
}

/* Places are in the order of their beginnings. Many may have the same, if the
 * clock is coarse: then some are looked at. */
int64_t axp__scopes_begun(const struct axp__scopes *s, uint32_t name,
                          uint64_t begin)
{
    enum { MOST = 256 };
    uint32_t low = 0, high = s->n;
    while (low < high) { /* the first that began later */
        uint32_t mid = low + (high - low) / 2;
        if (s->at[mid].begin_ns <= begin)
            low = mid + 1;
        else
            high = mid;
    }
    for (uint32_t i = low; i-- && low - i <= MOST;) {
        if (s->at[i].begin_ns != begin) break;
        if (s->at[i].name == name) return i;
    }
    return -1;
}

int64_t axp__scopes_solid_above(struct axp__scopes *s, uint32_t i,
                                const uint64_t *overlaps)
{
    while (s->solid > i + 1) {
        const struct axp__scope *top = &s->at[s->solid - 1];
        if (top->name != AXP__SCOPE_GONE &&
            !(overlaps[top->name >> 6] >> (top->name & 63) & 1))
            return (int64_t)s->solid - 1;
        s->solid = top->below;
    }
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
