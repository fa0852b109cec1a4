/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small reads of a file that follow each other, served from one that is larger.
 *
 * A recording of 3,000 short threads has 3,000 blocks of 160 bytes, and each pass
 * over it reads the head and the body of each.
 *
 * Threads   one at a time; another's read meanwhile is not served.
 * Age       what was read stays as it was then: it lies before the end that the
 *           file had when it was opened.
 */
#ifndef AXP_FILE_AHEAD_H
#define AXP_FILE_AHEAD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct axp__read_ahead;

struct axp__read_ahead *axp__read_ahead_create(
    void); /* NULL: no memory; nothing is served */
void axp__read_ahead_destroy(struct axp__read_ahead *a); /* NULL allowed */

/* n bytes of fd from `at` on, of a file that ends at `end`. False: not served, the
 * caller reads for himself. */
bool axp__read_ahead_read(struct axp__read_ahead *a, int fd, uint64_t at,
                          uint64_t end, void *bytes, size_t n);

#endif
