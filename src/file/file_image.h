/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The accumulators of a STATE block back into a capture: what tally_image.c
 * wrote.
 *
 * Input    untrusted. Counts are held against the bytes that are left before
 *          anything is allocated, memory in all against the length of the
 *          body; every index that a view follows is checked here: parents,
 *          rows, ops of pages and nodes, enumerations.
 * Result   a capture with everything but title, chunks and names of ids.
 */
#ifndef AXP_FILE_IMAGE_H
#define AXP_FILE_IMAGE_H
#include "base/base_bytes.h"
#include "tally/tally_capture.h"

enum axp__image_result {
    AXP__IMAGE_OK,
    AXP__IMAGE_DAMAGED,
    AXP__IMAGE_NO_MEMORY
};

/* Fills c, whose memory it draws on. */
enum axp__image_result axp__image_read(struct axp__capture *c,
                                       struct axp__bytes body);

#endif
