/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Work with descriptors that the program never sees.
 *
 * A number in the program's table can be closed by the program at any time
 * and then be another file, between our look at it and our write. So nothing
 * of ours is ever in it: what opens, writes, maps or locks a file runs in a
 * child that shares our memory and has a table of its own, which ends with it.
 * Mappings that it makes stay; what it writes to memory is there.
 *
 * Cost     some 100 µs. No allocator, and the calling thread cannot be
 *          cancelled or interrupted meanwhile: also for the first event of a
 *          process, in a handler that interrupted malloc.
 * Signals  are blocked: a limit on files is an error there, and no SIGXFSZ.
 * Failure  false and errno: there is no such child, and nothing was done. EPERM:
 *          children would be in another namespace of processes, whose first
 *          one must not be ours.
 *          Where memory is not shared with it (emulators make it a fork) the
 *          work is done in place; nobody else has that way.
 */
#ifndef AXP_OS_APART_H
#define AXP_OS_APART_H
#include <stdbool.h>
#include <stdint.h>

/* What such a child is called, so that whoever samples the program knows whose
 * time it is. */
#define AXP__APART_NAME "(axprof apart)"

/* fn closes what it opens, and leaves the program's own descriptors alone:
 * they are closed where it runs. */
bool axp__apart(void (*fn)(void *), void *arg);

/* False: under an emulator, where it is done in place, and where children are in
 * another namespace. */
bool axp__apart_is_possible(void);

/* Between the two nothing ends or interrupts the calling thread: others may
 * wait for it. */
struct axp__still {
    uint64_t signals;
    int cancel;
};
void axp__still_begin(struct axp__still *s);
void axp__still_end(const struct axp__still *s);

/* The calling thread gets a table of its own, empty, for ever. */
bool axp__apart_stay(void);

#endif
