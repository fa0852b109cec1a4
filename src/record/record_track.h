/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tracks: rows with explicit times; record_track.c. */
#ifndef AXP_RECORD_TRACK_H
#define AXP_RECORD_TRACK_H
#include "record/record_lane.h"

struct axp_track {
    struct axp__prof *p;
    axp_profiler *handle; /* tells whether p is still the same */
    uint32_t id;          /* in the profiler, from 1 */
    uint32_t name;
    uint32_t device;         /* number: record_device.h; 0: the host */
    uint64_t process_id;     /* 0: this one */
    struct axp__lane *lanes; /* one a thread that feeds it */
    struct axp_track *next;
};

/* In the child of a fork. */
void axp__track_forget_lanes(struct axp__prof *p);

#endif
