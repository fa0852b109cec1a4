/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What it takes a program to begin with adapters in it: the loader's time and the
 * kernel's, of which samples see little, and what is seen looks like the program's
 * own. So programs that do nothing are run with them and without.
 *
 * Cost     some 15 ms, once a run, and none where few programs have begun.
 * Failure  nothing is said where there is no such program to run. */
#ifndef CLI_START_H
#define CLI_START_H
#include <stdint.h>

/* Processor time of one beginning; 0: not known. preload: as in LD_PRELOAD. */
uint64_t cli_start_ns(const char *preload);

#endif
