/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Several captures as one, on one time axis: the processes or ranks of a run.
 *
 * Names      are one table: each capture's ids are mapped to it, those in its
 *            accumulators here, those in its words when they are loaded.
 * Rows       follow each other; each knows its process and rank, and by its
 *            number which part it came from.
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
#include "tally/tally_capture.h"
#include "wire/wire_block.h"

struct axp__join_part {
    struct axp__capture *capture;
    const struct axp__file_head *head; /* of its file: host and clock */
    const char *id; /* of the recording, in the capture; NULL: unknown */
};

/* NULL: no memory. One part is given back as it is. */
struct axp__capture *axp__join(struct axp__join_part *parts, size_t n);
/* Its part of that: the title of all; the first's program, everyone's hosts, the
 * earliest start, the machine of the first who knows his. False: no memory. */
bool axp__join_about(struct axp__capture *to,
                     const struct axp__join_part *parts, size_t n);

#endif
