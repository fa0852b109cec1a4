/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks of memory that are live while a timeline is read, each with the path
 * of scopes it was allocated in; and where in the address space they were.
 *
 * Place      emit_memory_viz.c. Blocks that were recorded by name and size
 *            alone get an address of their own, used again once it is free.
 * Memory     as much as is live at once, up to AXP__MOST_BLOCKS; blocks past
 *            that are forgotten. Paths are as many as there are places in the
 *            program that allocate.
 */
#ifndef AXP_EMIT_BLOCKS_H
#define AXP_EMIT_BLOCKS_H
#include "model/model_stream.h"

#define AXP__MOST_BLOCKS (1u << 20)

/* ---- paths ------------------------------------------------------------------------ */
struct axp__path { /* 0 is the empty one */
    uint32_t parent, name;
};

struct axp__paths {
    struct axp__path *at;
    uint32_t *slots; /* hash: index */
    uint32_t n, n_slots;
    bool has_failed;
};

void axp__paths_fini(struct axp__paths *p);
/* The path of a name called from a path; 0 without memory. */
uint32_t axp__paths_get(struct axp__paths *p, uint32_t parent, uint32_t name);

/* ---- blocks ----------------------------------------------------------------------- */
struct axp__block_at {
    uint64_t address, bytes;
    uint64_t older; /* made: the address of the one before of that name; 0 */
    uint32_t path, name;
    bool is_live;
};

struct axp__block_map {
    struct axp__block_at *at; /* hash by address, a power of two */
    size_t n, n_slots;
    bool has_failed; /* no memory */
};

void axp__block_map_fini(struct axp__block_map *m);
/* False: not kept. */
bool axp__block_map_add(struct axp__block_map *m, struct axp__block_at block);
/* Takes it out; false: unknown. */
bool axp__block_map_take(struct axp__block_map *m, uint64_t address,
                         struct axp__block_at *out);
/* at[0 … n-1] by address. */
void axp__block_map_sort(struct axp__block_map *m);

/* ---- addresses for blocks that have none ---------------------------------------------- */
#define AXP__MADE_ADDRESSES ((uint64_t)1 << 52) /* past any real one */

struct axp__made_blocks {
    struct axp__block_map map; /* by made address */
    uint64_t *newest;          /* by name: the newest block's address */
    uint64_t next_address;
    struct axp__made_hole {
        uint64_t address, bytes;
    } holes[64]; /* the newest, to be used again */
    uint32_t n_holes;
};

void axp__made_blocks_fini(struct axp__made_blocks *m);
uint64_t axp__made_blocks_add(struct axp__made_blocks *m, uint32_t name,
                              uint32_t path, uint64_t bytes);
/* The newest of a name, taken out; false: none. */
bool axp__made_blocks_take(struct axp__made_blocks *m, uint32_t name,
                           struct axp__block_at *out);

/* ---- where they were ------------------------------------------------------------------- */
#define AXP__BLOCKS_SHIFT 26    /* 64 MiB */
#define AXP__MOST_REGIONS 8192u /* they move for each one that comes between */

struct axp__regions { /* of the address space, sorted, apart */
    struct axp__lookup_region {
        uint64_t from, to; /* in units of 1 << AXP__BLOCKS_SHIFT */
    } * at;
    size_t n, cap;
    bool has_failed;
};

void axp__regions_add(struct axp__regions *r, uint64_t address, uint64_t bytes);

#endif
