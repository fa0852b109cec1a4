/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of C++ functions made shorter; see symbol_signature.h. */
#include "symbol/symbol_signature.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* The symbols of an operator's name are no brackets. */
static size_t operator_len(const char *text, const char *begin)
{
    if (strncmp(text, "operator", 8) != 0) return 0;
    if (text > begin && is_word(text[-1])) return 0;
    size_t n = strspn(text + 8, "<>=!-+*/%&|^~,");
    if (!n && !strncmp(text + 8, "()", 2)) n = 2;
    return n ? 8 + n : 0;
}

/* Behind the bracket that closes the one at `text`; NULL: none does. */
static const char *behind_group(const char *text, char open, char close)
{
    size_t depth = 0;
    for (const char *s = text; *s;) {
        size_t n = operator_len(s, text);
        if (!n && *s == open) depth++;
        if (!n && *s == close && !(s > text && s[-1] == '-') && !--depth)
            return s + 1;
        s += n ? n : 1;
    }
    return NULL;
}

/* Template arguments stand behind a name, or behind an operator and a space;
 * others behind these too. */
static bool is_behind(const char *text, const char *begin)
{
    char before = text > begin ? text[-1] : 0;
    if (*text == '<' && before == ' ')
        return text - begin > 9 && strchr("<>=", text[-2]) != NULL;
    return is_word(before) ||
           (*text == '(' && before && strchr("<>=-+*/%&|^~!,)", before));
}

char *axp__signature_fold(const char *name, char open, char close)
{
    static const char ellipsis[] = "\xe2\x80\xa6"; /* … */
    char *out = malloc(2 * strlen(name) + 8), *to = out;
    bool is_open = false;
    for (const char *s = name; out && *s;) {
        size_t n = operator_len(s, name);
        bool is_group = !n && *s == open && !is_open && is_behind(s, name);
        const char *end = is_group ? behind_group(s, open, close) : NULL;
        is_open |= is_group && !end;
        if (end && end - s > 3 && strncmp(s, "(anonymous", 10) != 0) {
            *to++ = open;
            memcpy(to, ellipsis, sizeof ellipsis - 1);
            to += sizeof ellipsis - 1;
            *to++ = close;
            s = end;
            continue;
        }
        for (n = n ? n : 1; n; n--)
            *to++ = *s++;
    }
    if (out) *to = 0;
    return out;
}
