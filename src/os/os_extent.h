/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Extents: stretches of a space's file that are mapped, each with an entry in
 * the table at its head (os_space.h), which says where.
 *
 * Place    under os_space.c, which carves pieces from them.
 * Threads  any; nobody waits. Several may add one where one is enough.
 * Failure  NULL or false, and nothing has changed.
 */
#ifndef AXP_OS_EXTENT_H
#define AXP_OS_EXTENT_H
#include <unistd.h>

#include "os/os_space.h"

#define AXP__EXTENT_UNIT 4096u /* of `used` */

static inline uint64_t axp__page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static inline uint64_t axp__round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Memory of the file that is there from now on. Once more does no harm. */
bool axp__extent_make_sure(void *at, uint64_t bytes);
/* The same within the space's limit; false: there is no room. */
bool axp__extent_back(struct axp__space *s, void *memory, uint64_t bytes);
/* Maps what lies so far behind a page that is mapped. */
void *axp__extent_map_behind(uint64_t page_at, uint64_t distance,
                             uint64_t bytes);
/* A new one, backed as far as it is wanted; and one that is not needed any
 * more. */
struct axp__extent *axp__extent_add(struct axp__space *s,
                                    enum axp__extent_kind kind, uint64_t bytes,
                                    uint64_t backed_bytes);
void axp__extent_drop(struct axp__space *s, struct axp__extent *e,
                      uint64_t backed_bytes);
/* The one that this lies in; NULL: none. */
struct axp__extent *axp__extent_of(struct axp__space *s, const void *memory);
/* Says to this process's children where it is; address 0: nowhere. */
void axp__extent_own(struct axp__space *s, const struct axp__extent *e,
                     bool stays, uint64_t address);

#endif
