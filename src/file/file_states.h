/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* STATES blocks of a file: what threads did, by the scheduler (wire_states.h).
 *
 * Input  untrusted: a block that is not what it claims is passed over, and
 *        counted as damage.
 */
#ifndef AXP_FILE_STATES_H
#define AXP_FILE_STATES_H
#include "file/file_texts.h"
#include "wire/wire_pen.h"

/* Into the capture. False: no memory. */
bool axp__file_states(struct axp__file *f, struct axp__capture *c);
bool axp__file_states_write(struct axp__pen *pen, const struct axp__capture *c);
/* Whether a block's body is what it claims. */
bool axp__file_states_check(const struct axp__block *b, const uint8_t *body);

#endif
