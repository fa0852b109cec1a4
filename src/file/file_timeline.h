/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The timeline of a file as chunks of a capture; of axp__file_as_source. */
#ifndef AXP_FILE_TIMELINE_H
#define AXP_FILE_TIMELINE_H
#include "file/file_read.h"

/* Adds to c's chunks, and keeps in the file where their blocks are. False: no
 * memory; then c is as it was. */
bool axp__file_list(struct axp__file *f, struct axp__capture *c,
                    uint32_t epoch);

#endif
