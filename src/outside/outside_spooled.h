/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A spool as it lies in its file: what an address of its process held.
 *
 * Place    under outside_recover.c, which knows what the structs mean.
 * Input    untrusted, and perhaps still being written to: extents are read
 *          into memory of our own as they are first needed, and what no
 *          extent holds is not there.
 * Memory   as much as the file has blocks, however long it claims to be: holes
 *          are not read.
 */
#ifndef AXP_OUTSIDE_SPOOLED_H
#define AXP_OUTSIDE_SPOOLED_H
#include "axprof/axprof.h"
#include "os/os_space.h"
#include "tally/tally_capture.h"
#include "tally/tally_stacks.h"

struct axp__spooled {
    struct axp__cap_source source; /* first: it is found by it */
    int fd;
    uint64_t bytes;        /* of the file, that were taken */
    uint64_t n_backed;     /* of these, that are not holes */
    uint64_t n_bytes_left; /* that may still be read */
    struct axp__space *head;
    char **extent; /* as read, mapped; NULL: not yet */
    struct axp__cap_name *names;
    uint32_t n_names;
    uint32_t epoch;
    uint64_t n_recorded; /* steps */
    uint64_t heap_now;   /* tally_heap.h … */
    uint32_t when_shift; /* … too */
    uint64_t n_left;     /* records that may still be followed */
    struct axp__capture *c;
    uint64_t *n_chunks; /* by row: see struct axp__recovered … */
    size_t n_merged_rows;
    bool is_cut; /* … from where the others come too */
};

/* Takes no descriptor over. */
axp_status axp__spooled_open(int fd, struct axp__spooled *m);
/* What lay at an address, at a multiple of 8; NULL: nothing that we have. */
const void *axp__spooled_at(struct axp__spooled *m, const void *pointer,
                            size_t bytes);
/* Into the capture; false: no memory. */
bool axp__spooled_chunks(struct axp__spooled *m); /* of m->epoch */
bool axp__spooled_names(struct axp__spooled *m);
struct axp__cap_name axp__spooled_name(const struct axp__capture *c,
                                       uint32_t id);
/* outside_stacks.c; what is not sound is left out. */
bool axp__spooled_stacks(struct axp__spooled *m, const struct axp__stacks *s);
void axp__spooled_free_extents(struct axp__spooled *m);

#endif
