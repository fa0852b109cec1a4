/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A space: memory that outlives the process, in a mapped file (the spool).
 *
 *   file   [ struct axp__space: extents … ][ extent ][ extent ] …
 *                                            mapped where the kernel likes;
 *                                            the table says where
 *
 * Everything that a profiler holds lies in one, pointers and all: whoever
 * reads the file after a kill turns an address into an offset by the table
 * (outside_recover.c). The kernel keeps each store, whatever happens to the
 * process next.
 *
 * Small pieces are carved from extents by an atomic add, and used again through
 * free lists, in powers of two; large ones are extents of their own. An extent
 * is a place in the file, which is a hole at first: every byte is allocated
 * before it is handed out, so that a full /dev/shm is no SIGBUS at a store. Chunks then find no room, and leave some of it to the
 * others; lanes and accumulators lie in anonymous memory instead, so that
 * statistics stay whole, though a kill would lose what lies there.
 *
 * The file is locked (flock) as long as its process has it mapped: whoever
 * finds it without a lock knows that nobody writes to it any more, whatever
 * process ids say where he is.
 *
 * Place      what axp__map is without a file. NULL as space means axp__map.
 * Ownership  the space owns descriptor and mappings; close gives both back.
 * Threads    map and unmap from any thread and from handlers, lock-free.
 * Failure    NULL; errno is left as it was.
 */
#ifndef AXP_OS_SPACE_H
#define AXP_OS_SPACE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base_budget.h"

enum axp__extent_kind {
    AXP__EXTENT_NONE, /* being made */
    AXP__EXTENT_HEAD,
    AXP__EXTENT_SLOT,   /* the profiler */
    AXP__EXTENT_LANES,  /* outlive the space: see close */
    AXP__EXTENT_CHUNKS, /* words */
    AXP__EXTENT_NAMES,
    AXP__EXTENT_OTHER,
    AXP__EXTENT_FREE /* a place in the file that another may have */
};

static inline bool axp__extent_is_mapped(uint32_t kind)
{
    return kind != AXP__EXTENT_NONE && kind != AXP__EXTENT_FREE;
}

struct axp__extent {
    uint64_t address; /* in the process that made it */
    uint64_t offset, bytes;
    uint32_t kind; /* set last */
    uint32_t used; /* in pages of 4 KiB; of extents that are carved */
};

#define AXP__SPACE_EXTENTS 4096u
#define AXP__SPACE_CLASSES 10u /* free lists: 4 KiB … 2 MiB */
#define AXP__SPACE_MAGIC "AXSPOOL"
#define AXP__SPACE_LAYOUT 3u
#define AXP__SPACE_OWNER 1024u

struct axp__space { /* the beginning of the file */
    char magic[8];
    uint32_t layout;  /* of everything in it */
    uint32_t machine; /* which structs; ELF's e_machine */
    uint8_t id[16];   /* the same in the trace */
    uint64_t pid;
    uint64_t is_complete;   /* the rest may be believed */
    uint64_t root[4];       /* addresses that the owner wants known */
    uint64_t end_bytes;     /* of the file, holes and all */
    uint64_t limit_bytes;   /* that may be backed, */
    uint64_t backed_bytes;  /* and that are */
    uint64_t device, inode; /* of the descriptor */
    uint64_t free_list[AXP__SPACE_CLASSES]; /* tag << 48 | address */
    uint32_t carved[8];                     /* by kind: extent + 1, now */
    int32_t fd;
    uint32_t n_extents, n_free_extents;
    uint32_t unused;
    struct axp__extent extent[AXP__SPACE_EXTENTS];
    char owner[AXP__SPACE_OWNER]; /* the trace's path; "": too long */
};

/* Takes the descriptor over, also on failure. id: 16 bytes. */
struct axp__space *axp__space_create(int fd, uint64_t limit_bytes,
                                     const uint8_t *id);
/* Zeroed. space NULL: anonymous memory. */
void *axp__space_map(struct axp__space *s, enum axp__extent_kind kind,
                     size_t bytes);
/* Whether that lies in the file. */
bool axp__space_holds(struct axp__space *s, const void *memory);
/* The same bytes as were asked for. NULL allowed. */
void axp__space_unmap(struct axp__space *s, void *memory, size_t bytes);

/* Where a budget's memory comes from; charging it is the caller's. */
static inline void *axp__budget_map(struct axp__budget *b, size_t bytes)
{
    return axp__space_map(b->space, AXP__EXTENT_OTHER, bytes);
}

static inline void axp__budget_unmap(struct axp__budget *b, void *memory,
                                     size_t bytes)
{
    axp__space_unmap(b->space, memory, bytes);
}

/* Puts the space's memory at a given place, with what is there; page sizes
 * must divide both. */
bool axp__space_move_in(struct axp__space *s, enum axp__extent_kind kind,
                        void *memory, size_t bytes);

/* Everything is unmapped, but lanes and slot stay where they are, as private
 * memory with their content: others may still look at them. */
void axp__space_close(struct axp__space *s);
/* In the child of a fork, or where the file outlives its owner: nothing is
 * shared any more, all but chunks keep their content. */
void axp__space_leave(struct axp__space *s);

/* Whether the descriptor is still ours: programs close what they do not
 * know, and the number becomes their file. */
bool axp__fd_is(int fd, uint64_t device, uint64_t inode);
/* A descriptor out of the way of programs, closed on exec; closes fd. */
int axp__fd_move_up(int fd);
/* Bytes of a file made sure of; false: no room. */
bool axp__fd_allocate(int fd, uint64_t offset, uint64_t bytes);

#endif
