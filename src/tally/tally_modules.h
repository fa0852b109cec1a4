/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The objects that a process had loaded, in a capture: what turns the addresses
 * of its stacks into places of files.
 *
 * They are told as texts (os_about.h), when a trace begins and ends and, where
 * stacks are written, whenever they have changed since. A capture has all that
 * were ever told. So what is loaded by dlopen is known, and what was unloaded
 * stays known; an address that lay in one object and later in another belongs
 * to neither, since nobody knows any more which of them was meant.
 *
 * Input    untrusted where it was read from a file.
 */
#ifndef AXP_TALLY_MODULES_H
#define AXP_TALLY_MODULES_H
#include "tally/tally_capture.h"

/* "bias first last build-id path", the numbers in hexadecimal. What is none is
 * passed over. False: no memory. */
bool axp__cap_add_module(struct axp__capture *c, const char *text, size_t len);

#endif
