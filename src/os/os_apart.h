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
#include <string.h>

/* What such a child is called, so that whoever samples the program knows whose
 * time it is. */
#define AXP__APART_NAME "(axprof apart)"

/* Another name while it makes the files of a recording: "(axp0123456789)", with the
 * beginning of the recording's number, so that whoever sees it knows whose that is,
 * by the numbers that processes have where he is.
 * Where work is done in place nobody is called anything. */
#define AXP__APART_DIGITS 10
void axp__apart_tell(const uint8_t *id);
/* The digits, not ended; NULL: it has another name. */
static inline const char *axp__apart_told(const char *name)
{
    bool is = !strncmp(name, "(axp", 4) &&
              strspn(name + 4, "0123456789abcdef") == AXP__APART_DIGITS &&
              !strcmp(name + 4 + AXP__APART_DIGITS, ")");
    return is ? name + 4 : NULL;
}
static inline bool axp__apart_is(const char *name)
{
    return !strcmp(name, AXP__APART_NAME) || axp__apart_told(name);
}

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
