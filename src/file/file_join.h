/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Several captures as one, on one time axis: the processes or ranks of a run.
 *
 * Names      are one table: each capture's ids are mapped to it, those in its
 *            accumulators here, those in its words when they are loaded.
 * Rows       follow each other; each knows its process and rank, and by its
 *            number which part it came from.
 * Ids        of a process in another namespace of process ids become those of
 *            whoever looked on, as far as he knew them. Where he did not, two
 *            processes of one number in two namespaces stay two.
 * Time       on one host the ticks are the same. Other hosts' are shifted, and
 *            where their clock runs at another rate stretched, by the pairs
 *            of ticks and real time that every file begins with: as far as
 *            the hosts' clocks agree, which a warning says.
 * Memory     current and peak are sums: peaks of different processes may have
 *            been at different times, which a warning says too.
 * Ownership  the captures are taken over, also on failure.
 */
#ifndef AXP_FILE_JOIN_H
#define AXP_FILE_JOIN_H
#include "file/file_texts.h"
#include "tally/tally_capture.h"
#include "wire/wire_block.h"

struct axp__join_part {
    struct axp__capture *capture;
    const struct axp__file_head *head; /* of its file: host and clock */
    const char *id; /* of the recording, in the capture; NULL: unknown */
    struct axp__about about; /* likewise */
};

/* Whether ticks of one are those of the other. */
bool axp__is_same_host(const struct axp__file_head *a,
                       const struct axp__file_head *b);
/* NULL: no memory. One part is given back as it is. */
struct axp__capture *axp__join(struct axp__join_part *parts, size_t n);
/* Its part of that: ids of a process that was in another namespace of them become
 * those of whoever looked on (file_join_ids.c). False: no memory. */
bool axp__join_ids(const struct axp__join_part *parts, size_t n);
/* Another: the title of all; the first's program, everyone's hosts, the
 * earliest start, the machine of the first who knows his. False: no memory. */
bool axp__join_about(struct axp__capture *to,
                     const struct axp__join_part *parts, size_t n);

#endif
