/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The text that stands for a place in the program: what axp_function_begin wants
 * beside a site that is still 0. Names are not looked up here; the reader finds
 * them in the module's symbols. No lock, no allocation: it may run in a signal
 * handler.
 *
 * Place    adapters that know functions by their address.
 */
#ifndef COMMON_PLACE_H
#define COMMON_PLACE_H
#include <stdbool.h>

enum { COMMON_PLACE_MAX = 1024 };

/* MODULE+0xOFFSET, the module's path and "0", with 0 bytes between; "1" of a
 * place that is to be told from others in its function. text has
 * COMMON_PLACE_MAX bytes. */
void common_place(const void *address, bool is_inside, char *text);

#endif
