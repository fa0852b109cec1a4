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
    if (!n && (!strncmp(text + 8, "()", 2) || !strncmp(text + 8, "[]", 2)))
        n = 2;
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
           (*text == '(' && before && strchr("<>=-+*/%&|^~!,)]", before));
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

char *axp__signature_untag(const char *name)
{
    char *out = malloc(strlen(name) + 1), *to = out;
    for (const char *s = name, *end; out && *s;) {
        end = strncmp(s, "[abi:", 5) ? NULL : strchr(s, ']');
        if (end)
            s = end + 1;
        else
            *to++ = *s++;
    }
    if (out) *to = 0;
    return out;
}

/* A name that is a word and a blank too: "operator new", "operator bool". */
static size_t spaced_operator_len(const char *text, const char *begin)
{
    if (text != begin || strncmp(text, "operator ", 9) != 0) return 0;
    return strcspn(text, "(<");
}

static const char *behind_any_group(const char *text)
{
    static const char pairs[] = "<>()[]{}";
    const char *pair = strchr(pairs, *text);
    if (!pair || (pair - pairs) % 2) return NULL;
    return behind_group(text, pair[0], pair[1]);
}

/* What may stand behind a function's parameters: other text with brackets in it is
 * none. */
static bool is_last(const char *behind)
{
    static const char *const ends[] = {" const", " volatile", " &", " noexcept",
                                       " [",     " (",        "["};
    if (!*behind) return true;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!strncmp(behind, ends[i], strlen(ends[i]))) return true;
    return false;
}

static bool is_name(const char *text, size_t len)
{
    if (len > 8 && !strncmp(text, "operator", 8)) return true;
    for (size_t i = 0; i < len; i++)
        if (!is_word(text[i]) && (i || *text != '~')) return false;
    return len > 0;
}

const char *axp__signature_own(const char *name, size_t *len)
{
    const char *begin = name, *end = NULL; /* of what may be it */
    for (const char *s = name; *s;) {
        size_t n = operator_len(s, name);
        if (!n) n = spaced_operator_len(s, begin);
        bool is_scope = s[0] == ':' && s[1] == ':';
        const char *behind = n ? NULL : behind_any_group(s);
        if (is_scope || (!n && *s == ' ')) {
            s += is_scope ? 2 : 1;
            begin = s;
            end = NULL;
        } else if (behind && s > begin) {
            if (!end) end = s;
            if (*s == '(' && strncmp(behind, "::", 2) != 0) {
                *len = (size_t)(end - begin);
                return is_last(behind) && is_name(begin, *len) ? begin : NULL;
            }
            s = behind;
        } else if (behind) {
            s = behind; /* (anonymous namespace), {lambda()#1} */
        } else {
            s += n ? n : 1;
        }
    }
    return NULL;
}
