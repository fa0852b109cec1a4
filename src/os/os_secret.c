/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What looks like a secret; see os_secret.h. */
#include "os/os_secret.h"

#include <stdbool.h>
#include <string.h>

#define HIDDEN "***"

struct out {
    char *at, *end;
};

static void put(struct out *o, const char *text, size_t n)
{
    size_t room = (size_t)(o->end - o->at);
    if (n > room) n = room;
    if (n) memcpy(o->at, text, n);
    o->at += n;
}

static void put_hidden(struct out *o)
{
    put(o, HIDDEN, sizeof HIDDEN - 1);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_separator(char c)
{
    return c == '-' || c == '_' || c == '.';
}

/* Whether a name, separators aside, ends with a word in lower case. */
static bool ends_with(const char *name, size_t n, const char *word)
{
    size_t k = strlen(word);
    while (n && k) {
        char c = lower(name[--n]);
        if (is_separator(c)) continue;
        if (c != word[--k]) return false;
    }
    return !k;
}

/* Whether an option or a variable of that name holds a secret. */
static bool is_secret_name(const char *name, size_t n)
{
    static const char *const words[] = {
        "password",  "passwd",    "passphrase",    "secret",     "token",
        "apikey",    "accesskey", "secretkey",     "privatekey", "credential",
        "authtoken", "auth",      "authorization", "credentials"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ends_with(name, n, words[i])) return true;
    return false;
}

/* Whether a word begins as a key of a well-known service does. */
static bool is_key(const char *word, size_t n)
{
    static const char *const starts[] = {
        "sk-",         "sk_",    "ghp_",  "gho_",  "ghs_",  "ghu_",
        "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA",  "ASIA",
        "AIza",        "hf_",    "eyJ",   "npm_",  "pypi-", "dop_v1_"};
    enum { LEAST = 16 }; /* shorter ones are words */
    for (size_t i = 0; n >= LEAST && i < sizeof starts / sizeof *starts; i++)
        if (!strncmp(word, starts[i], strlen(starts[i]))) return true;
    return false;
}

/* The password of "scheme://user:password@host"; 0: there is none. */
static size_t find_password(const char *text, size_t n, size_t *at)
{
    const char *colon = memmem(text, n, "://", 3);
    size_t i = colon ? (size_t)(colon - text) + 3 : n, first = 0;
    for (; i < n && text[i] != '/' && text[i] != '?'; i++) {
        if (text[i] == ':' && !first) first = i + 1;
        if (text[i] == '@' && first) {
            *at = first;
            return i - first;
        }
    }
    return 0;
}

/* After "Bearer " and "Basic ", as headers have them. */
static size_t find_scheme(const char *text, size_t n)
{
    static const char *const schemes[] = {"bearer ", "basic "};
    for (size_t s = 0; s < 2; s++) {
        size_t len = strlen(schemes[s]), k;
        for (size_t i = 0; i + len < n; i++) {
            for (k = 0; k < len && lower(text[i + k]) == schemes[s][k];)
                k++;
            if (k == len) return i + len;
        }
    }
    return 0;
}

static void put_value(struct out *o, const char *text, size_t n)
{
    size_t at, len, scheme = find_scheme(text, n);
    if (is_key(text, n)) {
        put_hidden(o);
    } else if (scheme) {
        put(o, text, scheme);
        put_hidden(o);
    } else if ((len = find_password(text, n, &at)) != 0) {
        put(o, text, at);
        put_hidden(o);
        put(o, text + at + len, n - at - len);
    } else {
        put(o, text, n);
    }
}

/* One argument. Returns whether the next is a secret. */
static bool put_argument(struct out *o, const char *text, size_t n)
{
    const char *equals = memchr(text, '=', n);
    size_t name = equals ? (size_t)(equals - text) : n;
    bool is_secret = is_secret_name(text, name);
    if (equals) {
        put(o, text, name + 1);
        if (is_secret && name + 1 < n)
            put_hidden(o);
        else
            put_value(o, equals + 1, n - name - 1);
        return false;
    }
    put_value(o, text, n);
    return is_secret && text[0] == '-';
}

size_t axp__secret_hide(const char *from, size_t len, char *to, size_t cap)
{
    struct out o = {to, to + cap};
    bool is_secret = false;
    for (size_t i = 0; i < len;) {
        const char *end = memchr(from + i, 0, len - i);
        size_t n = end ? (size_t)(end - from) - i : len - i;
        if (is_secret && n && from[i] != '-') {
            put_hidden(&o);
            is_secret = false;
        } else {
            is_secret = n && put_argument(&o, from + i, n);
        }
        i += n;
        if (i++ < len) put(&o, "", 1);
    }
    return (size_t)(o.at - to);
}
