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
 * is a place in the file, which is a hole at first.
 *
 * No descriptor is kept: the program could close it, and its number would be
 * the program's file. The file has its full length from the beginning, with
 * nothing in it; what is mapped is mapped by way of what is mapped already
 * (an anchor every few megabytes), or where that is refused by opening the
 * file again, apart (os_apart.h). Every byte is made sure of before it is
 * used: a full /dev/shm is no SIGBUS at a store. Chunks then find no room, and
 * leave some of it to the others; lanes and accumulators lie in anonymous
 * memory instead, so that statistics stay whole, though a kill would lose what
 * lies there.
 *
 * The file is locked (flock) as long as its process has it mapped: whoever
 * finds it without a lock knows that nobody writes to it any more, whatever
 * process ids say where he is.
 *
 * Place      what axp__map is without a file. NULL as space means axp__map.
 * Ownership  the space owns the mappings; close gives them back, but for `own`.
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
    uint32_t used; /* in pages of 4 KiB; of those that are filled in parts */
};

#define AXP__SPACE_EXTENTS 4096u
#define AXP__SPACE_CLASSES 10u /* free lists: 4 KiB … 2 MiB */
#define AXP__SPACE_MAGIC "AXSPOOL"
#define AXP__SPACE_LAYOUT 17u
#if defined(__x86_64__)
#define AXP__SPACE_MACHINE 62u /* EM_X86_64 */
#elif defined(__aarch64__)
#define AXP__SPACE_MACHINE 183u /* EM_AARCH64 */
#else
#define AXP__SPACE_MACHINE 0u
#endif
#define AXP__SPACE_OWNER 1024u
#define AXP__SPACE_ANCHORS 256u

/* What a space has mapped, and a copy of it where one was asked for. In memory
 * of this process alone: all that the child of a fork may look at, since the
 * space itself goes on changing under the parent's hands. */
struct axp__mapped {
    uint64_t address, bytes; /* address 0: nothing */
    uint64_t stays;          /* as long as the space is open */
    void *copy;
};

struct axp__space_own {
    uint32_t n;
    uint32_t is_by_path; /* the file is opened again for each extent */
    struct axp__mapped at[AXP__SPACE_EXTENTS]; /* as the table of extents */
};

struct axp__space { /* the beginning of the file */
    char magic[8];
    uint32_t layout;  /* of everything in it */
    uint32_t machine; /* which structs; ELF's e_machine */
    uint8_t id[16];   /* the same in the trace */
    uint64_t pid;
    uint64_t pid_namespace; /* in which that is its number; 0: not known */
    uint64_t is_complete;   /* the rest may be believed */
    uint64_t root[4];       /* addresses that the owner wants known */
    uint64_t end_bytes;     /* of the places in it, holes and all */
    uint64_t length_bytes;  /* of the file */
    uint64_t limit_bytes;   /* that may be backed, */
    uint64_t backed_bytes;  /* and that are */
    uint64_t free_list[AXP__SPACE_CLASSES]; /* tag << 48 | address */
    uint32_t carved[8];                     /* by kind: extent + 1, now */
    uint64_t device, inode;                 /* of the file */
    uint64_t path;       /* the process's own: where the file is */
    uint64_t step_bytes; /* from anchor to anchor */
    uint64_t anchor[AXP__SPACE_ANCHORS]; /* addresses of pages; 0: not yet */
    char owner[AXP__SPACE_OWNER];        /* the trace's path; "": too long */
    uint32_t n_extents, n_free_extents;
    struct axp__space_own *own; /* this process's; of no use to others */
    /* A page's worth at a time is made sure of. */
    struct axp__extent extent[AXP__SPACE_EXTENTS]
        __attribute__((aligned(4096)));
};

/* In an empty file, whose path lives as long as the space; the descriptor is
 * not needed afterwards. id: 16 bytes. NULL: errno says why. */
struct axp__space *axp__space_create(int fd, const char *path,
                                     uint64_t limit_bytes, const uint8_t *id);
/* Zeroed. space NULL: anonymous memory. Of CHUNKS nothing is made sure of
 * yet. */
void *axp__space_map(struct axp__space *s, enum axp__extent_kind kind,
                     size_t bytes);
/* A part of CHUNKS is made sure of, once more if need be; false: no room. Then,
 * once those before it are, readers are told that it is there. */
bool axp__space_fill(struct axp__space *s, void *memory, size_t bytes);
void axp__space_show(struct axp__space *s, const void *memory, size_t bytes);
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

/* Puts the space's memory at a given place, with the first `used` bytes that
 * are there; page sizes must divide the others. */
bool axp__space_move_in(struct axp__space *s, enum axp__extent_kind kind,
                        void *memory, size_t bytes, size_t used);

/* Everything is unmapped, but lanes and slot stay where they are, as private
 * memory with their content: others may still look at them. `own` stays, for
 * whoever has told children of it, until it is released. */
void axp__space_close(struct axp__space *s);
/* Where the file outlives its owner: nothing is shared any more, all but
 * chunks keep their content. */
void axp__space_leave(struct axp__space *s);

/* Copies of what stays, or of all, as it is now; and away with them again.
 * All: in the child, where nobody else unmaps. */
void axp__space_copy(struct axp__space_own *own, bool is_all);
void axp__space_drop_copies(struct axp__space_own *own);
/* In the child of a fork: private pages take the place of all that is mapped,
 * the copies where there are some. Releases `own`. */
void axp__space_forget(struct axp__space_own *own);
void axp__space_release(struct axp__space_own *own); /* NULL allowed */

#endif
