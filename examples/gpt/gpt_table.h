/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_table.h: what the profiler recorded, as tables of 80 columns. */
#ifndef GPT_TABLE_H
#define GPT_TABLE_H
#include <stdio.h>

/* Operations by their own time, memory at its peak, steps. Returns 0, or -1
 * with a message on standard error. */
int gpt_table_write(FILE *to);

#endif
