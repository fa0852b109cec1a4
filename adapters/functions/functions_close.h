/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions of libraries that were closed: their names are forgotten, and that
 * they were muted, since other functions may come to where they were.
 *
 * A site keeps whose it is, by the name of the library's file. When a library is
 * closed, those that are in none of that name any more are marked; the next call
 * there asks for the name again. The number of the old one stays in place until
 * then: a thread may be about to use it.
 *
 * Cost       nothing where the loader took nothing away; else a look at each
 *            function that was ever called, 0.3 us (2 to 3 ms for 10,000, in
 *            dlclose). None in the hooks: a marked site looks as one whose turn it
 *            is to be judged.
 * Late       a function that another thread calls there before dlclose has
 *            returned may have the old name for up to 1024 calls.
 * Threads    any; what two do at once is done twice.
 */
#ifndef FUNCTIONS_CLOSE_H
#define FUNCTIONS_CLOSE_H
#include <stdint.h>

/* What a site keeps of the library that the function is in now; never 0. No lock,
 * no allocation: it may be called in a signal handler. */
uint32_t functions_module(const void *function);

#endif
