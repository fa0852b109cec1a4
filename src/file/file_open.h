/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A trace as a capture, whatever state it was left in.
 *
 *   finished           accumulators and timeline from the file
 *   spool beside it    its process died, or goes on: accumulators from the
 *                      spool, the timeline from both
 *   neither            accumulators folded again from the timeline
 *
 * Place      axp_open, `axprof info`, `check`, `pack`.
 * Result     a capture like a live profiler's. What a reader should know of
 *            how it came about is among its warnings.
 */
#ifndef AXP_FILE_OPEN_H
#define AXP_FILE_OPEN_H
#include "file/file_texts.h"

enum axp__origin { AXP__FROM_FILE, AXP__FROM_SPOOL, AXP__FROM_WORDS };

struct axp__opened {
    struct axp__capture *capture; /* the caller's: capture->release */
    const struct axp__file *file; /* the capture's */
    struct axp__about about;      /* in the capture's memory */
    enum axp__origin origin;
    uint64_t n_folded; /* scopes that lost their place, counting again */
    bool is_alive;     /* the process is still there, and records */
    bool is_unbegun;   /* it had not opened its spool when it died, if it did */
    uint32_t epoch;
};

axp_status axp__trace_open(const char *path, struct axp__opened *out);
/* One of several recordings in a file (file_spans.h). */
axp_status axp__trace_open_span(const char *path, const struct axp__span *span,
                                struct axp__opened *out);

/* A live profiler has its timeline, or the older part of it, in its file: adds
 * that to the capture's chunks. Takes the descriptor over. */
axp_status axp__trace_attach(struct axp__capture *c);

#endif
