/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code that does nothing but compute, or nothing but move, as fast as a
 * processor can: one table for each architecture, by instruction set.
 *
 * Whether the processor and the kernel have an instruction is asked when it
 * runs (cpuid, getauxval); compilers need not know any of them, so that one
 * build serves all.
 *
 * Compute    enough independent sums that every unit is always busy, of numbers
 *            that are neither 0 nor denormal: some processors are faster with
 *            zeros.
 * Memory     bytes are a multiple of AXP__MOVER_BYTES, addresses of 64.
 */
#ifndef AXP_MACHINE_KERNEL_H
#define AXP_MACHINE_KERNEL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axprof/axprof.h"

#define AXP__MOVER_BYTES 512u

struct axp__kernel {
    axp_dtype dtype;
    const char *isa;
    double flops; /* of a pass; 1 multiply-add = 2 */
    void (*run)(uint64_t passes);
};

struct axp__mover {
    const char *isa;
    bool is_direct; /* its stores pass the caches by: for memory alone */
    void (*read)(const void *from, size_t bytes);
    void (*copy)(void *to, const void *from, size_t bytes);
    /* to = a + 3 b, as doubles; counts as 3 times `bytes` */
    void (*triad)(void *to, const void *a, const void *b, size_t bytes);
};

/* Those that this processor has; at most `cap` are filled in. */
size_t axp__kernels(struct axp__kernel *out, size_t cap);
size_t axp__movers(struct axp__mover *out, size_t cap);
/* So many additions, each of which needs the one before: a cycle each. */
#define AXP__CHAIN_ADDS 64
void axp__kernel_chain(uint64_t passes);

#endif
