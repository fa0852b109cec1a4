/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stacks of a file, and the modules that their addresses are in; into a
 * capture, and out of it.
 *
 * Input    untrusted: ids are bounded by the file's length, stacks are whole
 *          or not there, blocks that are damaged are passed over.
 * Memory   as much as the blocks have bytes, and a pointer for each id.
 */
#ifndef AXP_FILE_STACKS_H
#define AXP_FILE_STACKS_H
#include "file/file_texts.h"
#include "wire/wire_pen.h"

/* What c has already, from a spool, stays. False: no memory. */
bool axp__file_stacks(struct axp__file *f, const struct axp__about *about,
                      struct axp__capture *c);
bool axp__file_stacks_write(struct axp__pen *pen, const struct axp__capture *c);

/* Whether a block's body is the stacks that it claims. */
bool axp__file_stacks_check(const struct axp__block *b, const uint8_t *body);
/* How many c has. */
uint64_t axp__file_stacks_count(const struct axp__capture *c);

#endif
