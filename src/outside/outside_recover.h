/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a spool holds after its process has died; outside_recover.c. Part of
 * libaxprof: it knows the recorder's structs, and nothing that enters a
 * target needs it. */
#ifndef AXP_OUTSIDE_RECOVER_H
#define AXP_OUTSIDE_RECOVER_H
#include "tally/tally_capture.h"

struct axp__recovered {
    struct axp__capture *capture; /* its chunks are those of the spool */
    uint8_t id[16];               /* of the trace that it belongs to */
    uint32_t epoch;
    bool is_alive; /* its process is still there, and records */
    /* Rows of threads that were merged come first; all others have a lane. */
    size_t n_merged_rows;
    uint64_t *n_chunks; /* of each row, as far as that is known */
    bool is_cut; /* events are in the statistics that no chunk was given to */
};

/* The spool of a trace that is not complete; -1: it has none, or its process
 * has ended well. Only where a recorder puts one, and only a file of the
 * trace's own user with the id that the trace names. */
int axp__spool_open_for(int trace_fd, const char *trace_path);
/* Removes it: what it held is in the trace. */
void axp__spool_unlink_for(int trace_fd, const char *trace_path);

/* Whether its process is still there: it is locked as long as somebody has it
 * mapped who made it (os_space.h). Process ids tell nothing: they are used
 * again, and are others in another namespace. Only of a file whose magic was
 * seen, which is written after it was locked. */
bool axp__spool_is_in_use(int fd);
/* The same, for who asks once. The kernel may let go of the lock some
 * milliseconds after a killed process was waited for: where no process has the
 * id, the lock gets half a second to go. It alone decides. */
bool axp__spool_is_in_use_by(int fd, uint64_t pid);

/* A process that has just begun names its trace, and then fills its spool: it
 * gets half a second for that. */
void axp__spool_wait(int fd);
/* Or its profiler never moved into it: nothing was recorded. */
bool axp__spool_has_begun(int fd);

/* Reads a spool; takes the descriptor over, also on failure. NULL in
 * capture, and the reason in axp_last_error, if it is none. */
axp_status axp__spool_recover(int fd, struct axp__recovered *out);

#endif
