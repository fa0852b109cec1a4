/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The function behind a wrapper: that of the library that the calling object would
 * have called without us.
 *
 * Under Python each extension brings its own libraries, loaded so that nobody else
 * sees them (RTLD_LOCAL), and there may be several of a kind: where RTLD_NEXT does
 * not look. So it is looked for among the libraries of the object that calls, then
 * behind us, then in all that is loaded. A library that was found stays loaded.
 *
 * Cost     11 to 260 us: whoever asks keeps the answer.
 */
#ifndef COMMON_FIND_H
#define COMMON_FIND_H
#include <stdbool.h>
#include <stdint.h>

/* from: an address in the object that calls. NULL: there is none. */
void *common_find(const char *symbol, const void *from);
/* The same in the library that another function is in. */
void *common_find_beside(const char *symbol, const void *function);
/* Where the object lies that an address is in; false: in none. */
bool common_find_range(const void *from, uintptr_t *first, uintptr_t *end);

#endif
