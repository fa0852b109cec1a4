/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* UTF-8 to ASCII, on the way into a stream. */
#include "cli/cli_plain.h"

#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct plain {
    FILE *to;
    char bytes[4]; /* of a character that is not whole yet */
    size_t n, len;
};

bool cli_plain_is_wanted(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    bool is_utf8 = locale != (locale_t)0 &&
                   !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");
    if (locale != (locale_t)0) freelocale(locale);
    return !is_utf8;
}

static const char *nearest(const char *c, size_t len)
{
    static const char *const pairs[][2] = {
        {"→", "->"},   {"←", "<-"},   {"↑", "^"},    {"↓", "v"}, {"…", "..."},
        {"×", "x"},    {"·", "."},    {"–", "-"},    {"—", "-"}, {"±", "+-"},
        {"µ", "u"},    {"≤", "<="},   {"≥", ">="},   {"│", "|"}, {"└", "`"},
        {"├", "|"},    {"“", "\""},   {"”", "\""},   {"‘", "'"}, {"’", "'"},
        {"─", "-"},    {"═", "="},    {"█", "#"},    {"▌", "#"}, {"•", "*"},
        {"🟢", "."}, {"🟡", "-"}, {"🟠", "+"}, {"🔴", "!"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strlen(pairs[i][0]) == len && !memcmp(pairs[i][0], c, len))
            return pairs[i][1];
    return "?";
}

static size_t length_of(unsigned char first)
{
    if (first < 0x80) return 1;
    if (first >= 0xf0) return 4;
    return first >= 0xe0 ? 3 : 2;
}

static ssize_t write_plain(void *cookie, const char *text, size_t size)
{
    struct plain *p = cookie;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        bool goes_on = p->n && (c & 0xc0) == 0x80;
        if (p->n && !goes_on) fputc('?', p->to);
        if (!goes_on) {
            p->n = 0;
            p->len = length_of(c);
        }
        p->bytes[p->n++] = (char)c;
        if (p->n < p->len) continue;
        fputs(p->len == 1 ? (char[]){(char)c, 0} : nearest(p->bytes, p->len),
              p->to);
        p->n = 0;
    }
    return ferror(p->to) ? 0 : (ssize_t)size;
}

static int close_plain(void *cookie)
{
    struct plain *p = cookie;
    int rc = fflush(p->to);
    free(p);
    return rc;
}

FILE *cli_plain_open(FILE *to)
{
    struct plain *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->to = to;
    FILE *f = fopencookie(
        p, "w",
        (cookie_io_functions_t){.write = write_plain, .close = close_plain});
    if (!f) free(p);
    return f;
}
