/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The recordings in a file. A run of several processes is one file, in which
 * their recordings, each whole with header and trailer, stand one after the
 * other: as "cat" would make it.
 *
 *   +----------------------+-----------------+-----------------+
 *   | header … trailer     | header … trailer| header … trailer|
 *   +----------------------+-----------------+-----------------+
 *
 * Each trailer says how long its recording is, so that they are found from the
 * end on, with two reads each. Where that chain is broken (the file was cut, or
 * is damaged) headers are searched for from the beginning. Each header says how
 * many follow it: a file that was cut between two is not taken for a whole one.
 *
 * Place    axp_open, info, check, pack, join: each recording of a file is
 *          opened by itself (file_open.h).
 * Input    untrusted.
 */
#ifndef AXP_FILE_SPANS_H
#define AXP_FILE_SPANS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axprof/axprof.h"

struct axp__span {
    uint64_t at, bytes;
    uint32_t n_missing; /* recordings that should follow it and do not */
};

struct axp__spans {
    struct axp__span *span; /* in the order of the file, at least one */
    size_t n, cap;
};

axp_status axp__spans_find(const char *path, struct axp__spans *out);
void axp__spans_fini(struct axp__spans *s);
/* Writes into each recording of a file of so many bytes, which were written
 * whole, how many follow it. */
bool axp__spans_number(int fd, uint64_t bytes);

#endif
