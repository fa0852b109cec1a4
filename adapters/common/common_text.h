/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text put together without the C library: in signal handlers too. */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

/* As much as fits before `end`, which gets the 0 then; returns where that 0
 * is. */
static inline char *common_put(char *to, const char *end, const char *text)
{
    while (*text && to < end)
        *to++ = *text++;
    *to = 0;
    return to;
}

#endif
