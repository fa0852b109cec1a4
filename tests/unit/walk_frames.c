/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions with frame pointers, for test_memory_walk. */
#include "walk_pair.h"

int walk_frames(int depth);
int walk_over(void (*through)(void (*)(void)), void (*call)(void));

WALK_NOINLINE int walk_frames(int depth)
{
    volatile char bytes[40];
    bytes[0] = (char)depth;
    if (depth)
        walk_frames(depth - 1);
    else
        walk_take();
    WALK_STAY();
    return bytes[0];
}

WALK_NOINLINE int walk_over(void (*through)(void (*)(void)), void (*call)(void))
{
    volatile char bytes[56];
    bytes[0] = 1;
    through(call);
    WALK_STAY();
    return bytes[0];
}
