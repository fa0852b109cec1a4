/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The spool of a profiler: where its file lies, and what is in it besides
 * the profiler's own memory.
 *
 *   root[AXP__ROOT_PROF]   the profiler's slot
 *   root[AXP__ROOT_NAMES]  the newest block of the log of names
 *
 * Names belong to the process, so each new one is copied into every spool
 * that is open, before any word can use it: after a kill the spool says what
 * its ids mean.
 *
 * Where    /dev/shm if there is room, else beside the trace. A disk may stop a
 *          thread that stores into the mapping while it writes back; memory
 *          does not. Its name is its number: the user has another one in his
 *          namespace than whoever reads it, and the file says whose it is.
 * Limit    the least of what was asked for, a twentieth of the memory that
 *          the cgroup allows (it is charged there), and RLIMIT_FSIZE.
 */
#ifndef AXP_RECORD_SPOOL_H
#define AXP_RECORD_SPOOL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/os_space.h"

enum axp__spool_root {
    AXP__ROOT_PROF,
    AXP__ROOT_NAMES,
    AXP__ROOT_RATE, /* ns = ticks * this / 2^32 */
    AXP__ROOT_COST  /* axp__own_cost_pack */
};

#define AXP__SPOOL_PREFIX "/dev/shm/axprof-"
#define AXP__SPOOL_SUFFIX ".spool"

struct axp__spool_name { /* in the log; followed by text and file */
    uint32_t id;         /* set last; 0: not there yet */
    uint32_t bytes;      /* of all, to the next */
    uint32_t text_len, file_len;
    int32_t line;
    uint32_t flags;
};

#define AXP__SPOOL_NAMES_BYTES 16384u
struct axp__spool_names { /* a block of the log */
    uint64_t older;       /* address */
    uint64_t used;        /* may pass the end: then it is full */
    char bytes[AXP__SPOOL_NAMES_BYTES - 16];
};

/* Creates the file in memory, or beside the trace; its path goes to `path`,
 * which lives as long as the spool. NULL: errno says why. Both are for
 * axp__apart, and leave nothing open. */
struct axp__space *axp__spool_create(const uint8_t id[16], uint64_t limit_bytes,
                                     char *path, size_t size);
struct axp__space *axp__spool_create_beside(const char *trace,
                                            const uint8_t id[16],
                                            uint64_t limit_bytes, char *path,
                                            size_t size);
/* Removes the file, if it is still the one. */
void axp__spool_remove(const struct axp__space *s);
/* Whoever finds the spool alone learns what it belongs to. */
void axp__spool_set_owner(struct axp__space *s, const char *trace);
/* Bytes of chunks that a spool may have; for axp__apart too. */
uint64_t axp__spool_limit(uint64_t asked);

/* From here on new names are logged; those before it are logged now. False:
 * no memory, or too many spools. */
bool axp__spool_open_names(struct axp__space *s);
/* False: a thread is still copying one, after a second; the space must stay. */
bool axp__spool_close_names(struct axp__space *s);
/* A new name, to every open spool. */
void axp__spool_add_name(uint32_t id);

#endif
