/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From a unit down to an address; see symbol_chain.h. */
#include "symbol/symbol_chain.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define MOST_AROUND 16 /* namespaces, classes, functions around a function */
#define MOST_RANGES 64 /* of a function: hot and cold parts */

struct code { /* of a function: one range of its addresses */
    Dwarf_Addr begin, end;
    Dwarf_Die function;
};

struct axp__unit_code {
    struct axp__unit_code *next;
    const void *unit; /* where its entry is */
    struct code *at;  /* by begin */
    size_t n, cap;
    bool has_failed; /* no memory */
};

/* ---- each entry once ---------------------------------------------------------------- */

/* Entries are in the order of their beginnings: what leads back, to one that was
 * seen, is a mistake, or made to be gone through without end. */
struct walk {
    const struct axp__libdw *dw;
    const void *last; /* the furthest that was seen */
};

static bool go_on(struct walk *w, const Dwarf_Die *to)
{
    if ((uintptr_t)to->addr <= (uintptr_t)w->last) return false;
    w->last = to->addr;
    return true;
}

static bool go_in(struct walk *w, Dwarf_Die *die, Dwarf_Die *out)
{
    return !w->dw->dwarf_child(die, out) && go_on(w, out);
}

static bool go_by(struct walk *w, Dwarf_Die *die)
{
    return !w->dw->dwarf_siblingof(die, die) && go_on(w, die);
}

/* ---- all functions of a unit ------------------------------------------------------ */

/* Also of functions: what runs a loop of OpenMP is in the one that has the loop. */
static bool is_around(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_module || tag == DW_TAG_subprogram ||
           tag == DW_TAG_lexical_block;
}

static bool widen(struct axp__unit_code *u)
{
    size_t cap = u->cap ? 2 * u->cap : 64;
    if (u->n < u->cap) return true;
    struct code *at = realloc(u->at, cap * sizeof *at);
    if (!at) return false;
    u->at = at;
    u->cap = cap;
    return true;
}

static void add_function(struct axp__unit_code *u, const struct axp__libdw *dw,
                         Dwarf_Die *die)
{
    Dwarf_Addr base, begin, end;
    ptrdiff_t offset = 0;
    for (int i = 0; i < MOST_RANGES; i++) {
        offset = dw->dwarf_ranges(die, offset, &base, &begin, &end);
        if (offset <= 0) return;
        if (!widen(u)) {
            u->has_failed = true;
            return;
        }
        if (begin < end) u->at[u->n++] = (struct code){begin, end, *die};
    }
}

static void add_all(struct axp__unit_code *u, struct walk *w, Dwarf_Die *die,
                    int depth)
{
    Dwarf_Die child;
    if (!go_in(w, die, &child)) return;
    do {
        int tag = w->dw->dwarf_tag(&child);
        if (tag == DW_TAG_subprogram) add_function(u, w->dw, &child);
        if (is_around(tag) && depth < MOST_AROUND)
            add_all(u, w, &child, depth + 1);
    } while (!u->has_failed && go_by(w, &child));
}

static int by_begin(const void *a, const void *b)
{
    const struct code *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* NULL: no memory. */
static const struct axp__unit_code *code_of(struct axp__code_index *x,
                                            const struct axp__libdw *dw,
                                            Dwarf_Die *unit)
{
    struct axp__unit_code *u = x->units;
    while (u && u->unit != unit->addr)
        u = u->next;
    if (u) return u->has_failed ? NULL : u;
    u = calloc(1, sizeof *u);
    if (!u) return NULL;
    u->unit = unit->addr;
    u->next = x->units;
    x->units = u;
    add_all(u, &(struct walk){dw, unit->addr}, unit, 0);
    if (u->n) qsort(u->at, u->n, sizeof *u->at, by_begin);
    return u->has_failed ? NULL : u;
}

static bool find_function(const struct axp__unit_code *u, Dwarf_Addr address,
                          Dwarf_Die *out)
{
    size_t low = 0, high = u->n;
    while (low < high) { /* the first that begins after it */
        size_t mid = (low + high) / 2;
        if (u->at[mid].begin <= address)
            low = mid + 1;
        else
            high = mid;
    }
    if (!low || address >= u->at[low - 1].end) return false;
    *out = u->at[low - 1].function;
    return true;
}

void axp__code_index_fini(struct axp__code_index *x)
{
    for (struct axp__unit_code *u = x->units, *next; u; u = next) {
        next = u->next;
        free(u->at);
        free(u);
    }
    x->units = NULL;
}

/* ---- in a function ------------------------------------------------------------------ */

static bool has_range(const struct walk *w, Dwarf_Die *die)
{
    Dwarf_Attribute attr;
    return w->dw->dwarf_attr(die, DW_AT_low_pc, &attr) ||
           w->dw->dwarf_attr(die, DW_AT_ranges, &attr);
}

static bool is_code(int tag)
{
    return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
           tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* What has the address, of all that is directly in it, or in a block that does not
 * say where it is. */
static bool find_in(struct walk *w, Dwarf_Die *die, Dwarf_Addr address,
                    int depth, Dwarf_Die *out)
{
    Dwarf_Die child;
    if (!go_in(w, die, &child)) return false;
    do {
        int tag = w->dw->dwarf_tag(&child);
        if (!is_code(tag)) continue;
        if (w->dw->dwarf_haspc(&child, address) == 1) {
            *out = child;
            return true;
        }
        if (depth < MOST_AROUND && tag == DW_TAG_lexical_block &&
            !has_range(w, &child) &&
            find_in(w, &child, address, depth + 1, out))
            return true;
    } while (go_by(w, &child));
    return false;
}

size_t axp__code_chain(struct axp__code_index *x, const struct axp__libdw *dw,
                       Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die *out,
                       size_t cap)
{
    const struct axp__unit_code *u = code_of(x, dw, unit);
    if (!u || !cap || !find_function(u, address, out)) return 0;
    struct walk w = {dw, out[0].addr};
    size_t n = 1;
    while (n < cap && find_in(&w, &out[n - 1], address, 0, &out[n]))
        n++;
    return n;
}
