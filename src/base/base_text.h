/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Questions about a string of bytes that may hold anything. */
#ifndef AXP_BASE_TEXT_H
#define AXP_BASE_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 64 well-mixed bits; the same on every machine. */
uint64_t axp__text_hash(const char *text, size_t len);
/* UTF-8 as RFC 3629 has it: shortest forms, no surrogates, at most U+10FFFF. */
bool axp__text_is_utf8(const char *text, size_t len);

/* NULL is the same as NULL alone. */
static inline bool axp__text_is_same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* The name of a file without its folders. */
static inline const char *axp__text_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Spreads the bits of a number; a bijection, so distinct stay distinct. */
static inline uint64_t axp__mix64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

#endif
