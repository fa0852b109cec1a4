/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What code is where in the processes of a run; see sampling_layout.h. */
#include "sampling/sampling_layout.h"

#include <stdlib.h>
#include <string.h>

#define ENDED_MOST 256u
#define CODE_MOST 65536u /* mappings of one process */

void axp__layouts_init(struct axp__layouts *s)
{
    *s = (struct axp__layouts){0};
    s->last_ended = &s->first_ended;
}

static void free_layout(struct axp__layout *p)
{
    axp__jit_destroy(p->jit);
    free(p->code);
    free(p);
}

void axp__layouts_fini(struct axp__layouts *s)
{
    for (size_t i = 0; i < sizeof s->slot / sizeof *s->slot; i++)
        for (struct axp__layout *p = s->slot[i], *next; p; p = next) {
            next = p->next;
            free_layout(p);
        }
    axp__layouts_init(s);
}

static struct axp__layout **slot_of(struct axp__layouts *s, uint32_t pid)
{
    struct axp__layout **at = &s->slot[pid & 1023];
    while (*at && (*at)->pid != pid)
        at = &(*at)->next;
    return at;
}

struct axp__layout *axp__layouts_get(struct axp__layouts *s, uint32_t pid)
{
    struct axp__layout **at = slot_of(s, pid);
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (*at) (*at)->pid = pid;
    }
    return *at;
}

struct axp__layout *axp__layouts_find(struct axp__layouts *s, uint32_t pid)
{
    return *slot_of(s, pid);
}

/* ---- mappings ----------------------------------------------------------- */

/* The first that ends after an address. */
static size_t place_of(const struct axp__layout *p, uint64_t pc)
{
    size_t low = 0, high = p->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (p->code[mid].end <= pc)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool widen(struct axp__layout *p)
{
    if (p->n + 2 <= p->cap) return true;
    size_t cap = p->cap ? 2 * p->cap : 32;
    struct axp__code *wider = realloc(p->code, cap * sizeof *wider);
    if (!wider) return false;
    p->code = wider;
    p->cap = cap;
    return true;
}

static void insert(struct axp__layout *p, size_t at, struct axp__code code)
{
    memmove(p->code + at + 1, p->code + at, (p->n - at) * sizeof *p->code);
    p->code[at] = code;
    p->n++;
}

/* What another mapping takes the place of is cut, or goes. */
static void make_room(struct axp__layout *p, uint64_t first, uint64_t end)
{
    for (size_t i = place_of(p, first); i < p->n && p->code[i].first < end;) {
        struct axp__code *c = &p->code[i], after = *c;
        after.offset += end - c->first;
        after.first = end;
        bool has_before = c->first<first, has_after = c->end> end;
        if (has_before) c->end = first;
        if (has_before && has_after) {
            insert(p, i + 1, after);
            return;
        }
        if (has_after) *c = after;
        if (has_before || has_after) {
            i++;
            continue;
        }
        p->n--;
        memmove(c, c + 1, (p->n - i) * sizeof *c);
    }
}

bool axp__layout_map(struct axp__layout *p, struct axp__code code)
{
    if (code.end <= code.first) return true;
    if (p->n >= CODE_MOST || !widen(p)) return false;
    make_room(p, code.first, code.end);
    if (!widen(p)) return false;
    insert(p, place_of(p, code.first), code);
    return true;
}

void axp__layout_clear(struct axp__layout *p)
{
    p->n = 0;
    axp__jit_destroy(p->jit);
    p->jit = NULL;
}

const struct axp__code *axp__layout_find(const struct axp__layout *p,
                                         uint64_t pc)
{
    size_t i = place_of(p, pc);
    return i < p->n && p->code[i].first <= pc ? &p->code[i] : NULL;
}

/* ---- coming and going --------------------------------------------------- */

static void forget_oldest(struct axp__layouts *s)
{
    struct axp__layout *p = s->first_ended;
    s->first_ended = p->later;
    if (!p->later) s->last_ended = &s->first_ended;
    s->n_ended--;
    p->later = NULL;
    if (!p->has_ended) return; /* its number is another's now */
    *slot_of(s, p->pid) = p->next;
    free_layout(p);
}

/* A number that is used again stays in the list of those that ended, where it
 * is passed over, so that it can end once more. */
struct axp__layout *axp__layouts_fork(struct axp__layouts *s, uint32_t pid,
                                      const struct axp__layout *from)
{
    struct axp__layout *child = axp__layouts_get(s, pid);
    if (!child || child == from) return child;
    child->has_ended = false;
    axp__jit_destroy(child->jit);
    child->jit = NULL;
    struct axp__code *copy = from ? malloc((from->n + 2) * sizeof *copy) : NULL;
    if (!copy) return child;
    if (from->n) memcpy(copy, from->code, from->n * sizeof *copy);
    free(child->code);
    child->code = copy;
    child->n = from->n;
    child->cap = from->n + 2;
    return child;
}

void axp__layouts_end(struct axp__layouts *s, uint32_t pid)
{
    struct axp__layout *p = *slot_of(s, pid);
    if (!p || p->has_ended) return;
    bool is_listed = p->later || s->last_ended == &p->later;
    p->has_ended = true;
    if (is_listed) return;
    *s->last_ended = p;
    s->last_ended = &p->later;
    if (++s->n_ended > ENDED_MOST) forget_oldest(s);
}
