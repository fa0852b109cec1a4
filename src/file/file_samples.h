/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The samples of a file: listed when it is opened, read when they are asked
 * for, and copied as they are where it is packed.
 *
 * Input    untrusted: a block has no more samples than it may, all blocks
 *          together no more than the file's length allows; what is damaged is
 *          passed over.
 */
#ifndef AXP_FILE_SAMPLES_H
#define AXP_FILE_SAMPLES_H
#include "file/file_read.h"
#include "wire/wire_pen.h"

/* Lists them as c's; the file must be one of its sources. False: no memory. */
bool axp__file_samples(struct axp__file *f, struct axp__capture *c);
bool axp__file_samples_write(struct axp__pen *pen,
                             const struct axp__capture *c);
/* The samples of a block, head->n of them; false: it is damaged. out NULL: only
 * that. */
bool axp__file_samples_read(const struct axp__block *head, const uint8_t *body,
                            struct axp__cap_sample *out);
uint64_t axp__file_samples_count(const struct axp__capture *c);

#endif
