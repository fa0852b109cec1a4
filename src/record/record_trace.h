/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The trace file as it is written: blocks appended, one after the other
 * (wire_block.h), by one thread at a time.
 *
 * Place    the drain's and finish's pen (record_tape.c says when).
 * Failure  the first error is kept, and nothing is written after it: what is
 *          in the file stays whole. A file that has been closed behind our
 *          back is such an error, since its number may be the program's by now.
 * Limit    where the file would pass it, the oldest half of its timeline gives
 *          way: the newer blocks are copied into a new file, which takes the
 *          name. What went is counted.
 */
#ifndef AXP_RECORD_TRACE_H
#define AXP_RECORD_TRACE_H
#include "record/record_profiler.h"
#include "tally/tally_capture.h"
#include "wire/wire_block.h"

struct axp__trace {
    int fd;
    int error; /* errno of the first failure */
    uint64_t device, inode;
    uint64_t end;          /* where the next block goes */
    uint64_t limit_bytes;  /* 0: none */
    uint64_t n_cut_events; /* that gave way to the limit */
    uint32_t n_names;      /* ids below this are in the file */
    bool is_hasty;         /* there is no time to pack */
    uint8_t *body;         /* room for one packed block */
    void *packer;
    const char *path;
    struct axp__file_head head;
    char spool[64]; /* what a reader may look for */
    char id[33];    /* of file and spool */
};

/* Creates the file: errno, or 0. is_new: it must not be there yet. */
int axp__trace_create(struct axp__trace *t, const char *path, bool is_new);
/* Header and what is known at the beginning. */
void axp__trace_begin(struct axp__trace *t, struct axp__prof *p);
/* Names and rows that are new. False: nothing (more) can be written. */
bool axp__trace_news(struct axp__trace *t, struct axp__prof *p, bool is_end);
/* Chunks in any order; sorts them. The words must be valid. Returns how many,
 * from the first on, are in the file now: all, unless writing failed. */
AXP_API size_t axp__trace_chunks(struct axp__trace *t,
                                 struct axp__chunk **chunks, size_t n);
/* Blocks of the timeline that lie before `from` give way: the others are
 * copied into a new file, which takes the name. False: nothing has changed. */
AXP_API bool axp__trace_forget(struct axp__trace *t, uint64_t from);
/* What writing needs; for a file that others began. */
AXP_API bool axp__trace_prepare(struct axp__trace *t);
/* The accumulators, then index and trailer. */
bool axp__trace_finish(struct axp__trace *t, struct axp__prof *p,
                       const struct axp__capture *c);
/* Back to an empty file: after a reset. */
void axp__trace_restart(struct axp__trace *t, struct axp__prof *p);
AXP_API void axp__trace_close(struct axp__trace *t);

/* libaxprof's way to pack; NULL: chunks are written as they are. */
AXP_API void axp__trace_set_packing(const struct axp__packing *packing);

#endif
