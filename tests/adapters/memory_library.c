/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library of memory_program: it allocates when it is loaded and when it is
 * used, and frees most of that when it is closed. Its functions are gone when a
 * report names them. The program counts. */
#include "memory_truth.h"

#include <string.h>

#define BYTES 7000

static char *volatile of_constructor, *volatile of_use, *volatile kept;

APART static char *truth_library_open(size_t n)
{
    char *block = malloc(n);
    REQUIRE(block);
    truth_did_alloc(n);
    return block;
}

/* This one stays when the library goes. */
APART static char *truth_library_keep(size_t n)
{
    char *block = malloc(n);
    REQUIRE(block);
    truth_did_alloc(n);
    return block;
}

static void library_free(char *block, size_t n)
{
    truth_did_free(n);
    free(block);
}

__attribute__((constructor)) static void open_library(void)
{
    of_constructor = truth_library_open(BYTES);
    memset(of_constructor, 1, BYTES);
}

__attribute__((visibility("default"))) void memory_library_use(void)
{
    of_use = truth_library_open(BYTES / 2);
    kept = truth_library_keep(BYTES / 7);
}

__attribute__((destructor)) static void close_library(void)
{
    library_free(of_constructor, BYTES);
    library_free(of_use, BYTES / 2);
}
