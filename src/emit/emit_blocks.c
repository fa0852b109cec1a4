/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Live blocks along a timeline; see emit_blocks.h. */
#include "emit/emit_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_text.h"
#include "wire/wire_word.h"

/* ---- paths ------------------------------------------------------------------------ */

#define MOST_PATHS (1u << 20)

void axp__paths_fini(struct axp__paths *p)
{
    free(p->at);
    free(p->slots);
    *p = (struct axp__paths){0};
}

static uint32_t find_path(const struct axp__paths *p, uint32_t parent,
                          uint32_t name)
{
    uint64_t key = (uint64_t)parent << 32 | name;
    uint32_t i = (uint32_t)axp__mix64(key) & (p->n_slots - 1);
    while (p->slots[i] && (p->at[p->slots[i]].parent != parent ||
                           p->at[p->slots[i]].name != name))
        i = (i + 1) & (p->n_slots - 1);
    return i;
}

static bool grow_paths(struct axp__paths *p)
{
    if (p->n && p->n * 2 < p->n_slots) return true;
    uint32_t n_slots = p->n_slots ? p->n_slots * 2 : 256;
    if (p->n >= MOST_PATHS) return false;
    struct axp__path *at = realloc(p->at, n_slots / 2 * sizeof *at);
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (at) p->at = at;
    if (!at || !slots) {
        free(slots);
        p->has_failed = true;
        return false;
    }
    free(p->slots);
    p->slots = slots;
    p->n_slots = n_slots;
    if (!p->n) p->at[p->n++] = (struct axp__path){0, 0};
    for (uint32_t i = 1; i < p->n; i++)
        p->slots[find_path(p, p->at[i].parent, p->at[i].name)] = i;
    return true;
}

uint32_t axp__paths_get(struct axp__paths *p, uint32_t parent, uint32_t name)
{
    if (!grow_paths(p)) return 0;
    uint32_t i = find_path(p, parent, name);
    if (!p->slots[i]) {
        p->at[p->n] = (struct axp__path){parent, name};
        p->slots[i] = p->n++;
    }
    return p->slots[i];
}

/* ---- blocks by address ---------------------------------------------------------------- */

void axp__block_map_fini(struct axp__block_map *m)
{
    free(m->at);
    *m = (struct axp__block_map){0};
}

static size_t home(const struct axp__block_map *m, uint64_t address)
{
    return axp__mix64(address) & (m->n_slots - 1);
}

static size_t find_block(const struct axp__block_map *m, uint64_t address)
{
    size_t i = home(m, address);
    while (m->at[i].is_live && m->at[i].address != address)
        i = (i + 1) & (m->n_slots - 1);
    return i;
}

static bool grow_blocks(struct axp__block_map *m)
{
    struct axp__block_map wider = {.n_slots = m->n_slots ? m->n_slots * 2 : 256,
                                   .n = m->n};
    if (m->n * 2 < m->n_slots) return true;
    if (m->n >= AXP__MOST_BLOCKS) return false;
    wider.at = calloc(wider.n_slots, sizeof *wider.at);
    if (!wider.at) {
        m->has_failed = true;
        return false;
    }
    for (size_t i = 0; i < m->n_slots; i++)
        if (m->at[i].is_live)
            wider.at[find_block(&wider, m->at[i].address)] = m->at[i];
    free(m->at);
    wider.has_failed = m->has_failed;
    *m = wider;
    return true;
}

bool axp__block_map_add(struct axp__block_map *m, struct axp__block_at block)
{
    if (!grow_blocks(m)) return false;
    size_t i = find_block(m, block.address);
    m->n += !m->at[i].is_live;
    block.is_live = true;
    m->at[i] = block;
    return true;
}

bool axp__block_map_take(struct axp__block_map *m, uint64_t address,
                         struct axp__block_at *out)
{
    if (!m->n) return false;
    size_t mask = m->n_slots - 1, hole = find_block(m, address);
    if (!m->at[hole].is_live) return false;
    *out = m->at[hole];
    m->n--;
    /* what follows moves up, so that it is still found */
    for (size_t i = (hole + 1) & mask; m->at[i].is_live; i = (i + 1) & mask) {
        if (((i - home(m, m->at[i].address)) & mask) < ((i - hole) & mask))
            continue;
        m->at[hole] = m->at[i];
        hole = i;
    }
    m->at[hole].is_live = false;
    return true;
}

static int by_address(const void *a, const void *b)
{
    const struct axp__block_at *x = a, *y = b;
    if (x->is_live != y->is_live) return x->is_live ? -1 : 1;
    return (x->address > y->address) - (x->address < y->address);
}

void axp__block_map_sort(struct axp__block_map *m)
{
    if (m->n_slots) qsort(m->at, m->n_slots, sizeof *m->at, by_address);
}

/* ---- addresses for blocks that have none ---------------------------------------------- */

void axp__made_blocks_fini(struct axp__made_blocks *m)
{
    axp__block_map_fini(&m->map);
    free(m->newest);
    *m = (struct axp__made_blocks){0};
}

static uint64_t new_address(struct axp__made_blocks *m, uint64_t bytes)
{
    for (uint32_t i = m->n_holes; i--;)
        if (m->holes[i].bytes == bytes) {
            uint64_t address = m->holes[i].address;
            m->holes[i] = m->holes[--m->n_holes];
            return address;
        }
    if (!m->next_address) m->next_address = AXP__MADE_ADDRESSES;
    uint64_t address = m->next_address;
    m->next_address += bytes ? (bytes + 511) & ~(uint64_t)511 : 512;
    if (m->next_address >> 53) m->next_address = AXP__MADE_ADDRESSES;
    return address;
}

uint64_t axp__made_blocks_add(struct axp__made_blocks *m, uint32_t name,
                              uint32_t path, uint64_t bytes)
{
    uint64_t address = new_address(m, bytes);
    if (!m->newest) m->newest = calloc(AXP__MAX_NAMES, sizeof *m->newest);
    if (!m->newest) {
        m->map.has_failed = true;
        return address;
    }
    uint64_t *newest = &m->newest[name & (AXP__MAX_NAMES - 1)];
    struct axp__block_at block = {.address = address,
                                  .bytes = bytes,
                                  .older = *newest,
                                  .path = path,
                                  .name = name};
    if (axp__block_map_add(&m->map, block)) *newest = address;
    return address;
}

bool axp__made_blocks_take(struct axp__made_blocks *m, uint32_t name,
                           struct axp__block_at *out)
{
    uint64_t *newest =
        m->newest ? &m->newest[name & (AXP__MAX_NAMES - 1)] : NULL;
    if (!newest || !*newest || !axp__block_map_take(&m->map, *newest, out))
        return false;
    *newest = out->older;
    if (m->n_holes == sizeof m->holes / sizeof *m->holes)
        memmove(m->holes, m->holes + 1, --m->n_holes * sizeof *m->holes);
    m->holes[m->n_holes++] = (struct axp__made_hole){out->address, out->bytes};
    return true;
}

/* ---- where they were ------------------------------------------------------------------- */

void axp__regions_add(struct axp__regions *r, uint64_t address, uint64_t bytes)
{
    uint64_t last =
        bytes && address + bytes - 1 >= address ? address + bytes - 1 : address;
    uint64_t from = address >> AXP__BLOCKS_SHIFT;
    uint64_t to = (last >> AXP__BLOCKS_SHIFT) + 1;
    size_t low = 0, high = r->n;
    while (low < high) { /* the first that ends at `from` or later */
        size_t mid = (low + high) / 2;
        if (r->at[mid].to < from)
            low = mid + 1;
        else
            high = mid;
    }
    size_t end = low;
    while (end < r->n && r->at[end].from <= to)
        end++;
    if (end == low) { /* apart from all */
        if (r->n == AXP__MOST_REGIONS) return;
        if (r->n == r->cap) {
            size_t cap = r->cap ? r->cap * 2 : 16;
            struct axp__lookup_region *wider =
                realloc(r->at, cap * sizeof *wider);
            if (!wider) {
                r->has_failed = true;
                return;
            }
            r->at = wider;
            r->cap = cap;
        }
        memmove(r->at + low + 1, r->at + low, (r->n - low) * sizeof *r->at);
        r->at[low] = (struct axp__lookup_region){from, to};
        r->n++;
        return;
    }
    if (r->at[low].from < from) from = r->at[low].from;
    if (r->at[end - 1].to > to) to = r->at[end - 1].to;
    r->at[low] = (struct axp__lookup_region){from, to};
    memmove(r->at + low + 1, r->at + end, (r->n - end) * sizeof *r->at);
    r->n -= end - low - 1;
}
