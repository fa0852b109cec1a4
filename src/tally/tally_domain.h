/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory by domain: the host's and each device's, with a total, a peak and an
 * epoch of their own.
 *
 *   host      struct axp__memory, in the profiler: nothing of it is changed
 *             by the others
 *   devices   a list of the same, made by the first allocation on a device
 *
 * A name belongs to one domain, that of its device (wire_kind.h), so no two of
 * them have a name in common.
 *
 * Place      the recorder's profilers, and a timeline that is folded again.
 * Cost       some 9 KiB a device that allocates, and none for the host.
 * Threads    get and find from any thread; the rest as tally_memory.h says.
 */
#ifndef AXP_TALLY_DOMAIN_H
#define AXP_TALLY_DOMAIN_H
#include "tally/tally_capture.h"
#include "tally/tally_memory.h"

struct axp__domain {
    struct axp__memory memory;
    struct axp__domain *next;
    uint32_t device;
};

/* The memory of a device, made when new; NULL: no memory. */
struct axp__memory *axp__domain_get(struct axp__domain **list,
                                    struct axp__budget *budget,
                                    uint32_t device);
/* The caller knows that nobody else is inside. */
void axp__domains_clear(struct axp__domain **list, struct axp__budget *budget);
/* What is live, and the totals, into a capture that has none of these yet.
 * n_steps: of which names' growth is said; 0: it is not known. False: no
 * memory. */
bool axp__domains_copy(struct axp__capture *c, struct axp__memory *host,
                       struct axp__domain *const *list, uint64_t n_steps);

#endif
