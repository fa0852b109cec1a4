/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that test_memory_walk loads, closes, and loads another in place of:
 * the same but for the size of a frame (WALK_BYTES), which changes no length of
 * an instruction, so that its code lies at the same addresses. */
#include <string.h>

__attribute__((visibility("default"))) int walk_plugin(void (*call)(void));

int walk_plugin(void (*call)(void))
{
    volatile char bytes[WALK_BYTES];
    bytes[0] = 1;
    bytes[WALK_BYTES - 1] = 2;
    call();
    return bytes[0] + bytes[WALK_BYTES - 1];
}
