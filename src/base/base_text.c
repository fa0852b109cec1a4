/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hash and UTF-8 check of names. Input is the client's and trusted in
 * nothing but its length. */
#include "base/base_text.h"

#include <string.h>

uint64_t axp__text_hash(const char *text, size_t len)
{
    uint64_t h = 0x9ae16a3b2f90404fu ^ len;
    for (; len >= 8; text += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        h = axp__mix64(h ^ word);
    }
    uint64_t tail = 0;
    for (size_t i = 0; i < len; i++)
        tail |= (uint64_t)(unsigned char)text[i] << 8 * i;
    return axp__mix64(h ^ tail);
}

/* Length of the valid sequence at s, 0 if there is none. */
static size_t sequence_len(const unsigned char *s, size_t left)
{
    static const unsigned char low[5] = {0, 0, 0x80, 0xa0, 0x90};
    size_t n = s[0] < 0x80   ? 1
               : s[0] < 0xc2 ? 0
               : s[0] < 0xe0 ? 2
               : s[0] < 0xf0 ? 3
               : s[0] < 0xf5 ? 4
                             : 0;
    if (n == 0 || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (s[0] == 0xe0 && s[1] < low[3]) return 0; /* overlong */
    if (s[0] == 0xf0 && s[1] < low[4]) return 0;
    if (s[0] == 0xed && s[1] > 0x9f) return 0; /* surrogates */
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0; /* past U+10FFFF */
    return n;
}

bool axp__text_is_utf8(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    while (len) {
        size_t n = sequence_len(s, len);
        if (!n) return false;
        s += n;
        len -= n;
    }
    return true;
}
