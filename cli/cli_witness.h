/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether a signal that was sent to us was sent to our whole process group.
 *
 * Nothing in a signal says so, and it matters: one that was sent to us alone
 * is passed on to the program, one that was sent to the group (by the terminal,
 * timeout, a batch system, "kill %1") has reached it already. So there is a
 * witness, a process of the group that does nothing and blocks every signal:
 * what is pending there went to the group.
 *
 * Cost       a fork, and a process that sleeps. It has no descriptors, and
 *            ends with us, whatever ends us.
 */
#ifndef CLI_WITNESS_H
#define CLI_WITNESS_H
#include <stdint.h>
#include <sys/types.h>

typedef struct cli_witness {
    pid_t pid;      /* 0: there is none */
    uint64_t early; /* what it has seen, and we are still to get */
} cli_witness;

void cli_witness_init(cli_witness *w);
/* Which of the signals that have come to us went to the group; bit n - 1 is
 * signal n. */
uint64_t cli_witness_saw(cli_witness *w, uint64_t came);
void cli_witness_fini(cli_witness *w);

#endif
