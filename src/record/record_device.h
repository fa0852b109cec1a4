/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Devices of the process: what a number of wire_kind.h stands for.
 *
 * A device gets its number when the first track of it is made, and keeps it as
 * long as the process lives. There are 254; further ones share the last number,
 * "(other devices)". What stands for names that are none, or that found no
 * room, is made with the device, so that even these are never the host's.
 *
 * Threads  get by the process's mutex; the others from any thread, for numbers
 *          that a track has.
 */
#ifndef AXP_RECORD_DEVICE_H
#define AXP_RECORD_DEVICE_H
#include "record/record_lane.h"

/* The number of a device of that name, made when new; 0: names are full, or no
 * memory. *is_shared: it has none of its own. */
uint32_t axp__device_get(const char *text, bool *is_shared);
/* A name on a device; NULL and "" are counted, and those that find no room. */
uint32_t axp__device_name(struct axp__prof *p, uint32_t device,
                          const char *name);

#endif
