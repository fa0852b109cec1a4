/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program with an allocator that nobody else sees: its malloc is hidden, so
 * that its own calls go there and the libraries' to the C library. What it
 * allocates cannot be followed, and a run has to say so. Prints a line. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* By -fvisibility: the C library's headers may have declared one before. */
void *malloc(size_t n);
void free(void *block);

static _Alignas(16) char room[1 << 16];
static size_t used;

void *malloc(size_t n)
{
    size_t all = (n + 15) & ~(size_t)15;
    if (all > sizeof room - used) return NULL;
    used += all;
    return room + used - all;
}

void free(void *block)
{
    (void)block;
}

int main(void)
{
    size_t sum = 0;
    for (size_t i = 0; i < 100; i++) {
        unsigned char *block = malloc(100);
        if (!block) return 1;
        memset(block, (int)i, 100);
        sum += block[99];
        free(block);
    }
    printf("%zu\n", sum);
    return 0;
}
