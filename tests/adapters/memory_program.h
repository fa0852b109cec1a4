/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The parts of memory_program: what each does stands in memory_program.c. Each
 * prints its truth and returns the program's status. */
#ifndef MEMORY_PROGRAM_H
#define MEMORY_PROGRAM_H

#include "memory_truth.h"

int run_realloc(int argc, char **argv);
int run_align(int argc, char **argv);
int run_maps(int argc, char **argv);
int run_mapthreads(int argc, char **argv);
int run_oommap(int argc, char **argv);
int run_usable(int argc, char **argv);
int run_threads3000(int argc, char **argv);
int run_foreign(int argc, char **argv);
int run_mixed(int argc, char **argv);
int run_signal(int argc, char **argv);
int run_altstack(int argc, char **argv);
int run_exitthread(int argc, char **argv);
int run_exitbusy(int argc, char **argv);
int run_fork(int argc, char **argv);
int run_dl(int argc, char **argv);
int run_waves(int argc, char **argv);
int run_ages(int argc, char **argv);

#endif
