/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the files of axp_bench_file share. */
#ifndef AXP_BENCH_FILE_H
#define AXP_BENCH_FILE_H
#include "tally/tally_capture.h"

/* One line; over its limit, if that is not 0, it counts as missed. */
void bench_show(const char *what, const char *of, double value,
                const char *unit, double limit);
/* A file of 100 M scopes: bench_file_long.c. */
void bench_long(void);
/* What stacks take: bench_file_stacks.c. */
void bench_stacks(void);
/* What the scopes of a timeline alone take: bench_file_scopes.c. */
uint64_t bench_scopes_bytes(const struct axp__capture *c);

#endif
