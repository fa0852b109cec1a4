/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A folder for the recordings of a run that keeps none.
 *
 * It is locked as long as its axprof lives, so that it can be told when one was
 * killed: what is not locked is nobody's. The next run that keeps nothing
 * removes it, and `axprof doctor --clean` does, with the spools of what was
 * recorded there.
 *
 * Place      below cli_files and cli_doctor.
 * Input      untrusted: TMPDIR may be everybody's. Only folders of this user's
 *            are looked into, and no link is followed.
 * Failure    where folders cannot be locked (NFS) none is removed by others.
 */
#ifndef CLI_TEMPORARY_H
#define CLI_TEMPORARY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_temporary {
    char *path; /* NULL: there is none */
    int fd;     /* the lock */
} cli_temporary;

/* Removes what others left first. False: errno says why. */
bool cli_temporary_init(cli_temporary *t);
void cli_temporary_fini(cli_temporary *t); /* with all that is in it */
/* Where they are. */
const char *cli_temporary_parent(void);

/* Calls fn (NULL allowed) with each that was left, and removes it if asked to;
 * returns how many there were. */
typedef void (*cli_temporary_fn)(const char *path, uint64_t bytes);
size_t cli_temporary_left(bool is_removed, cli_temporary_fn fn);

#endif
