/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program knows of its own allocations, to judge what a profiler found.
 *
 * Every counted allocation is made in a function whose name begins with truth_
 * and which is never inlined, so that a reader of a report adds up what has such
 * a frame and leaves out what libc allocates for itself. The rules of counting,
 * which a profiler has to share:
 *
 *   - sizes are those asked for; a block of 0 bytes is a block;
 *   - what fails counts nothing, and free(NULL) is no free;
 *   - realloc of a block is a free and an allocation at once: the peak never
 *     holds both. Of NULL it is malloc, and to 0 bytes it is free where it
 *     returns NULL;
 *   - after fork, blocks of the parent stay the parent's: what a child frees of
 *     them counts nowhere, and its own are added to its parent's.
 *
 * Place: memory_program, memory_program_cpp and memory_names print it with
 * truth_print; memory_library adds to its program's. Threads: any; peak_bytes
 * is known only where the program's calls do not overlap, and null elsewhere.
 * Failure: a check that fails says where and ends the program with status 1. */
#ifndef MEMORY_TRUTH_H
#define MEMORY_TRUTH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define APART __attribute__((noinline))
#define REQUIRE(condition)                                                     \
    ((condition) ? (void)0 : truth_fail(__FILE__, __LINE__, #condition))

struct truth {
    uint64_t n_allocs, n_frees, allocated_bytes, freed_bytes, peak_bytes;
};

__attribute__((visibility("default"))) void truth_fail(const char *file,
                                                       int line,
                                                       const char *what);

/* What was done is said afterwards. Also memory_library calls these two. */
__attribute__((visibility("default"))) void truth_did_alloc(size_t n);
__attribute__((visibility("default"))) void truth_did_free(size_t n);

void *truth_malloc(size_t n);
void *truth_calloc(size_t n, size_t size);
/* old: what was asked for when the block was made. */
void *truth_realloc(void *block, size_t old, size_t n);
void *truth_reallocarray(void *block, size_t old, size_t n, size_t size);
int truth_posix_memalign(void **block, size_t alignment, size_t n);
void *truth_aligned_alloc(size_t alignment, size_t n);
void *truth_memalign(size_t alignment, size_t n);
void *truth_valloc(size_t n);
void *truth_pvalloc(size_t n);
void truth_free(void *block, size_t n);

/* In a child: nothing was done yet. */
void truth_reset(void);
struct truth truth_now(void);
void truth_add(const struct truth *other);

/* The last line of a program's output; more: members to add, each with a comma
 * before it, or "". */
enum truth_calls { TRUTH_OVERLAP, TRUTH_ONE_AT_A_TIME };
void truth_print(enum truth_calls calls, const char *more);

/* 64 bits that follow one another without a pattern; *state is never 0. */
static inline uint64_t truth_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

#ifdef __cplusplus
}
#endif
#endif
