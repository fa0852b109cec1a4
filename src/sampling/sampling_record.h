/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a record in one of the kernel's rings says.
 *
 * Input   the kernel's, whole, as sampling_perf.c asks for it: sample_type, and
 *         sample_id_all. Its lengths are held against its size nevertheless.
 * Result  points into the record. */
#ifndef AXP_SAMPLING_RECORD_H
#define AXP_SAMPLING_RECORD_H
#include "sampling/sampling_perf.h"

/* No clock has a shorter period: what does is no clock's. */
#define AXP__CLOCK_LEAST 10000u

/* Its type, thread and time alone; false: it is too short. */
bool axp__perf_read_time(const struct perf_event_header *h,
                         struct axp__perf_record *out);
/* The rest. False: it says nothing that anybody wants. */
bool axp__perf_read(const struct perf_event_header *h,
                    struct axp__perf_record *out);

#endif
