/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The trace file as it is written: what of a profiler goes into it, and its
 * name, by one thread at a time.
 *
 * Place    the drain and finish (record_tape.c says when) write with its pen
 *          (wire_pen.h). Who does has a table of descriptors of its own (os_apart.h), or is a process
 *          of ours.
 * Failure  the first error is kept, and nothing is written after it: what is
 *          in the file stays whole.
 * Names    a file has its first blocks before it has its name: whatever ends
 *          the process, a trace can be read. Where one file takes another's
 *          place, that other one is ours, or it is put back.
 * Limit    where the file would pass it, the oldest half of its timeline gives
 *          way: the newer blocks are copied into a new file, which takes the
 *          name. What went is counted.
 */
#ifndef AXP_RECORD_TRACE_H
#define AXP_RECORD_TRACE_H
#include "record/record_profiler.h"
#include "tally/tally_capture.h"
#include "wire/wire_pen.h"

struct axp__trace {
    struct axp__pen pen;
    uint64_t device, inode;
    uint64_t limit_bytes;  /* 0: none */
    uint64_t n_cut_events; /* that gave way to the limit */
    uint32_t n_names;      /* ids below this are in the file */
    uint32_t n_stacks;     /* the same of stacks */
    uint32_t maps_crc;     /* of what was loaded when they were written */
    bool is_hasty;         /* there is no time to pack */
    void *packer;          /* not there while somebody is inside it */
    const char *path;
    const struct axp__kept_about *about; /* found out when it was safe */
    struct axp__file_head head;
    uint64_t parent_id;
    char spool[64];   /* what a reader may look for */
    char id[33];      /* of file and spool */
    char draft[4200]; /* a name for the time being; "": none */
};

/* What of the process can only be asked while nobody is in the middle of
 * changing it: its environment, as the body of a block. Not in a recording
 * call. */
struct axp__kept_about {
    uint32_t n;
    uint32_t used;
    uint8_t body[1u << 18];
};
struct axp__kept_about *axp__trace_keep_about(void); /* NULL: no memory */
void axp__trace_drop_about(struct axp__kept_about *about);

/* record_trace_name.c for record_trace.c: a new file in the folder of t's path,
 * open (errno, or 0); one beside t's, to take its place; and t's name for it,
 * if it is good, while who has the old one open keeps that. */
int axp__trace_make_draft(struct axp__trace *t);
bool axp__trace_make_fresh(const struct axp__trace *t,
                           struct axp__trace *fresh);
bool axp__trace_take_over(struct axp__trace *t, struct axp__trace *fresh,
                          bool is_good);

/* A file without a name of its own yet, in the folder of t's path, with its
 * first blocks: errno, or 0. */
int axp__trace_draft(struct axp__trace *t, const struct axp__prof *p);
/* It gets t's path, which must be free, or with is_overwriting a file of this
 * user: errno, or 0. */
int axp__trace_name(struct axp__trace *t, bool is_overwriting);
/* Instead of it. */
void axp__trace_drop_draft(struct axp__trace *t);
/* Opens the file again, if it is the one; else it is an error of the trace. */
bool axp__trace_reopen(struct axp__trace *t);
/* Removes it by its path, if it is the one. */
void axp__trace_remove(const struct axp__trace *t);
/* Names and rows that are new. False: nothing (more) can be written. */
bool axp__trace_news(struct axp__trace *t, struct axp__prof *p, bool is_end);
/* Chunks in any order; sorts them. The words must be valid. Returns how many,
 * from the first on, are in the file now: all, unless writing failed. */
AXP_API size_t axp__trace_chunks(struct axp__trace *t,
                                 struct axp__chunk **chunks, size_t n);
/* Blocks of the timeline that lie before `from` give way: the others are
 * copied into a new file, which takes the name. False: nothing has changed. */
AXP_API bool axp__trace_forget(struct axp__trace *t, uint64_t from);
/* What writing needs. Not in a recording call: packers allocate. */
AXP_API bool axp__trace_prepare(struct axp__trace *t);
/* The accumulators, then index and trailer. */
bool axp__trace_finish(struct axp__trace *t, struct axp__prof *p,
                       const struct axp__capture *c);
/* Back to an empty file: after a reset. */
void axp__trace_restart(struct axp__trace *t, struct axp__prof *p);
/* The descriptor alone: who goes on later opens it again. */
void axp__trace_rest(struct axp__trace *t);
/* All but the packer, which a recording call may not free. */
void axp__trace_give_up(struct axp__trace *t);
AXP_API void axp__trace_close(struct axp__trace *t);

/* libaxprof's way to pack; NULL: chunks are written as they are. */
AXP_API void axp__trace_set_packing(const struct axp__packing *packing);

#endif
