/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The parts of a run: one recording a process, in a folder beside the file that
 * the run becomes.
 *
 *   train-4711.axp.parts/            while it runs, or after a kill
 *       4711.axp                     the program
 *       4720.axp, 4720-2.axp         what it started, and that after an exec
 *       outside-4711.axp             what the parent saw, of program 4711
 *   train-4711.axp                   when it has ended: all of them
 *
 * The folder is locked as long as its axprof lives: what is not locked is
 * nobody's any more, whatever process ids say. Whoever reads a recording reads
 * its parts too (cli_trace.c); `axprof pack` joins them.
 *
 * Input      untrusted: a folder may hold anything. Only names as above are
 *            taken for parts, and only such files are removed.
 * Failure    where folders cannot be locked (some network file systems) one is
 *            taken for in use.
 */
#ifndef CLI_PARTS_H
#define CLI_PARTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the folder, too: where processes are counted (cli_processes.h). */
#define CLI_PARTS_COUNT "processes"
#define CLI_PARTS_RING "samples" /* that processes take of themselves */
#define CLI_PARTS_UNRECORDED "unrecorded" /* cli_unrecorded.h */

typedef struct cli_parts {
    char **paths; /* the program's first, what was seen from outside last */
    size_t n;
} cli_parts;

/* The folder of a recording, the recording of a folder or of a part (NULL: it
 * is none); caller frees. */
char *cli_parts_folder(const char *recording);
char *cli_parts_recording(const char *path);
bool cli_parts_is_folder(const char *path); /* any folder */
/* Makes and locks one; the descriptor, or -1 (errno). */
int cli_parts_make(const char *folder);
/* Locks one that was left; -1: in use (EWOULDBLOCK), or no such folder. */
int cli_parts_lock(const char *folder);
/* What is in it now; nothing if there is no such folder. */
void cli_parts_list(const char *folder, cli_parts *out);
void cli_parts_fini(cli_parts *p);
uint64_t cli_parts_bytes(const char *folder);
/* Removes parts and folder, and spools of the parts. What else is in it stays,
 * and so does the folder then. Whose spool is in use goes on with it unnamed, and
 * nobody will read what it records. */
typedef enum cli_parts_spools {
    CLI_SPOOLS_STAY,
    CLI_SPOOLS_UNUSED,
    CLI_SPOOLS_ALL
} cli_parts_spools;
void cli_parts_remove(const char *folder, cli_parts_spools spools);
/* Removes the folder if no part came into it. */
void cli_parts_remove_empty(const char *folder);

#endif
