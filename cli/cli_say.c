/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages, the memory they need, and the nearest word to a wrong one. */
#include "cli/cli_say.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 40 /* longer words are near to nothing */

static const char *verb_said;

void cli_say_verb(const char *verb)
{
    verb_said = verb;
}

void *cli_alloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p) {
        fputs("axprof: no memory\n", stderr);
        exit(CLI_FAILED);
    }
    return p;
}

static char *format_list(const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = cli_alloc(len < 0 ? 1 : (size_t)len + 1, 1);
    if (len >= 0) vsnprintf(text, (size_t)len + 1, format, list);
    return text;
}

char *cli_format(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = format_list(format, list);
    va_end(list);
    return text;
}

/* C1 controls arrive as UTF-8 (0xc2 0x80 … 0x9f). */
static void make_plain(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++) {
        if (*c < 0x20 || *c == 0x7f) *c = '?';
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f) c[0] = c[1] = '?';
    }
}

void cli_put(const char *text)
{
    char *plain = cli_format("%s", text);
    make_plain(plain);
    fputs(plain, stdout);
    free(plain);
}

/* One write for the whole line, so that lines of several programs on one
 * terminal do not mix. */
static void say(const char *format, va_list list)
{
    char *text = format_list(format, list);
    make_plain(text);
    char *line = cli_format("axprof%s%s: %s\n", verb_said ? " " : "",
                            verb_said ? verb_said : "", text);
    fflush(stdout);
    fwrite(line, 1, strlen(line), stderr);
    fflush(stderr);
    free(line);
    free(text);
}

int cli_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
    return CLI_FAILED;
}

int cli_wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
    return CLI_USAGE;
}

void cli_note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
}

/* Insertions, deletions, changes and swaps of neighbours between two words. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1], len_a = strlen(a), len_b = strlen(b);
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    if (len_a > WORD_MAX || len_b > WORD_MAX) return SIZE_MAX;
    for (size_t j = 0; j <= len_b; j++)
        above[j] = before[j] = j;
    for (size_t i = 1; i <= len_a; i++) {
        row[0] = i;
        for (size_t j = 1; j <= len_b; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                if (before[j - 2] + 1 < best) best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *free_row = before;
        before = above, above = row, row = free_row;
    }
    return above[len_b];
}

/* A beginning of a word is near to it: "--verb" was meant to be --verbose. */
const char *cli_nearest(const char *word, const char *const *words, size_t n,
                        size_t stride)
{
    const char *best = NULL;
    size_t len = strlen(word), best_cost = len / 3 + 2;
    for (size_t i = 0; i < n; i++) {
        const char *other =
            *(const char *const *)((const char *)words + i * stride);
        if (!other) continue;
        size_t cost =
            len > 1 && !strncmp(word, other, len) ? 1 : distance(word, other);
        if (cost >= best_cost || cost >= strlen(other)) continue;
        best = other;
        best_cost = cost;
    }
    return best;
}
