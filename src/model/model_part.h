/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The first part of a view's timeline, as a view: for who shows timelines, and
 * must not take an hour for one that is a thousand times as long as anybody
 * looks at. Chunks say how many events they have, so that nothing is read to
 * choose it. What is open where it ends, ends there.
 *
 * Place   the HTML page; tables are of the whole view.
 */
#ifndef AXP_MODEL_PART_H
#define AXP_MODEL_PART_H
#include "model/model_view.h"

struct axp__part {
    const axp_view *view; /* the whole one, where it is short enough */
    uint64_t n_unread;    /* events after it; 0: it is all */
    axp_ns end_ns;        /* where it ends, if it is not all */
    axp_view copy;
    struct axp__capture capture;
};

/* At most so many events, or a chunk more; false: no memory. */
bool axp__part_begin(struct axp__part *part, const axp_view *v, uint64_t most);
void axp__part_end(struct axp__part *part);

#endif
