/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The part of a run that axprof run was asked to record, as its environment
 * tells it (record_window.h).
 *
 * Input    untrusted: what cannot be is no part.
 */
#ifndef AXP_FILE_PART_H
#define AXP_FILE_PART_H
#include "file/file_texts.h"
#include "tally/tally_capture.h"

/* What is to be said of it, in the capture's memory. NULL: everything is
 * there, or it is said already, in a file that was packed. */
const char *axp__part_text(const struct axp__about *a, struct axp__capture *c);
/* With which step it began; or when it began and ended, where that was asked for
 * by time and is not known already: the capture has its clocks. */
void axp__part_set(const struct axp__about *a, struct axp__capture *c);

#endif
