/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A folder for a run that keeps no recording:
 *
 *   $TMPDIR/axprof-run-Kx72ab/no-file.axp.parts/   its parts (cli_parts.h)
 *
 * The folder of parts is locked as long as its axprof lives, so that it can be
 * told when one was killed. The next run that keeps nothing removes it, and
 * `axprof doctor --clean` does, with the spools of what was recorded there.
 * Nothing else in the folder is touched: a user may have put it there.
 *
 * Place      below cli_files and cli_doctor.
 * Input      untrusted: TMPDIR may be everybody's. Only folders of this user's
 *            are looked into, and no link is followed.
 */
#ifndef CLI_TEMPORARY_H
#define CLI_TEMPORARY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_TEMPORARY_STEM "no-file"

/* For a recording that is worth beginning. */
#define CLI_TEMPORARY_LEAST ((uint64_t)1 << 20)

/* Whether the disk of a folder has so much left. A file system that has no blocks
 * at all (/proc, /sys) is no disk, and not full. */
bool cli_temporary_has_room(const char *folder, uint64_t bytes);

/* Makes one where that is possible: in TMPDIR, /tmp or /dev/shm, and where there is
 * room, if there is any. NULL: nowhere, errno says why. Removes what others left
 * first. Caller frees. */
char *cli_temporary_make(void);

/* Calls fn (NULL allowed) with each that was left, and removes it if asked to;
 * returns how many there were. */
typedef void (*cli_temporary_fn)(const char *path, uint64_t bytes);
size_t cli_temporary_left(bool is_removed, cli_temporary_fn fn);

#endif
