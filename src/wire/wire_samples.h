/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The body of a SAMPLES block: what threads did at some moments, as somebody
 * saw it who looked from outside. Columns, of which each is compressed by zstd
 * where that pays.
 *
 *   5 times: length, length compressed or 0; then the columns themselves
 *
 *   THREADS  three varints: the id of a process, that of a thread of it, how
 *            many of the samples that follow are its
 *   TIMES    varints: ticks since the sample before of that thread; of its
 *            first, since the head's base ticks
 *   STACKS   ids, 4 bytes each: the lowest bytes of all, then the next, …
 *   KINDS    varints: what was counted (axp_sample_kind)
 *   WEIGHTS  varints: how much of it the sample stands for
 *
 * The head's n is the number of samples. Blocks are in any order in time.
 *
 * Place    put by sampling_rows.c, got by file_samples.c.
 */
#ifndef AXP_WIRE_SAMPLES_H
#define AXP_WIRE_SAMPLES_H
#include "wire/wire_block.h"

enum axp__sample_column {
    AXP__SAMPLE_THREADS,
    AXP__SAMPLE_TIMES,
    AXP__SAMPLE_STACKS,
    AXP__SAMPLE_KINDS,
    AXP__SAMPLE_WEIGHTS,
    AXP__SAMPLE_COLUMNS
};

#define AXP__SAMPLES_A_BLOCK 65536u
/* Samples that a file may claim to hold: so many for each of its bytes, and
 * some for short ones. Where zstd does better a block is left as it is. */
#define AXP__SAMPLES_A_BYTE 4u
#define AXP__SAMPLES_FREE ((uint64_t)1 << 20)

#endif
