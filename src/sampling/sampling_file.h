/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The recording that samples become: texts, stacks, samples, and statistics of
 * which there are none.
 *
 *   head, title, STATE ─► modules as they are met ─► STACKS, SAMPLES ─► STATE
 *
 * Killed at any moment: what was written is a recording that can be read.
 * Failure  the first error of writing is kept; all after it is nothing.
 */
#ifndef AXP_SAMPLING_FILE_H
#define AXP_SAMPLING_FILE_H
#include "axprof/axprof.h"
#include "sampling/sampling_module.h"
#include "sampling/sampling_rows.h"

struct axp__sampled;

/* A file that was not there. NULL: axp_last_error. */
struct axp__sampled *axp__sampled_create(const char *path, const char *title);
/* The recording's clock at a moment of CLOCK_MONOTONIC_RAW. */
uint64_t axp__sampled_ticks(const struct axp__sampled *s, uint64_t raw_ns);
bool axp__sampled_put(struct axp__sampled *s, const struct axp__sample *sample);
/* How long a thread ran …, its times those of CLOCK_MONOTONIC_RAW. */
struct axp__thread_states;
void axp__sampled_states(struct axp__sampled *s,
                         const struct axp__thread_states *of);
/* Tells which process a recording is of, whose number begins with these digits
 * (os_apart.h): it knows itself by another number. */
void axp__sampled_recording(struct axp__sampled *s, const char *id,
                            uint32_t pid);
/* Tells of modules that have a place and have not been told of yet. */
void axp__sampled_modules(struct axp__sampled *s, struct axp__mods *mods);
/* Writes what waits, if it is worth a block or must be. */
void axp__sampled_flush(struct axp__sampled *s, bool is_all);
/* Completes and closes it. */
axp_status axp__sampled_close(struct axp__sampled *s);

#endif
