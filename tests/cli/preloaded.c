/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that a user preloads: it says so. */
#include <unistd.h>

__attribute__((constructor)) static void say(void)
{
    (void)!write(2, "preloaded\n", 10);
}
