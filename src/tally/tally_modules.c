/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Texts to modules; see tally_modules.h. */
#include "tally/tally_modules.h"

#include <string.h>

/* A number in hexadecimal and the blank after it; NULL: there is none. */
static const char *get_hex(const char *at, const char *end, uint64_t *out)
{
    uint64_t v = 0;
    unsigned n = 0;
    for (; at < end && n <= 16; at++, n++) {
        char ch = *at;
        unsigned digit = ch >= '0' && ch <= '9'   ? (unsigned)(ch - '0')
                         : ch >= 'a' && ch <= 'f' ? (unsigned)(ch - 'a') + 10
                                                  : 16;
        if (digit == 16) break;
        v = v << 4 | digit;
    }
    *out = v;
    return n && n <= 16 && at < end && *at == ' ' ? at + 1 : NULL;
}

static const char *keep(struct axp__capture *c, const char *text, size_t len)
{
    char *to = axp__cap_take(c, len + 1, 1);
    return to ? memcpy(to, text, len) : NULL;
}

static bool widen(struct axp__capture *c)
{
    size_t cap = c->cap_modules ? 2 * c->cap_modules : 64;
    struct axp__cap_module *wider = axp__cap_take(c, cap, sizeof *wider);
    if (!wider) return false;
    if (c->n_modules) memcpy(wider, c->modules, c->n_modules * sizeof *wider);
    c->modules = wider;
    c->cap_modules = cap;
    return true;
}

bool axp__cap_add_module(struct axp__capture *c, const char *text, size_t len)
{
    struct axp__cap_module m = {0};
    const char *end = text + len;
    const char *at = get_hex(text, end, &m.bias);
    if (at) at = get_hex(at, end, &m.first);
    if (at) at = get_hex(at, end, &m.last);
    const char *blank = at ? memchr(at, ' ', (size_t)(end - at)) : NULL;
    if (!blank || m.first >= m.last || blank + 1 == end) return true;
    if (c->n_modules == c->cap_modules && !widen(c)) return false;
    m.path = keep(c, blank + 1, (size_t)(end - blank - 1));
    bool has_id = blank > at && *at != '-';
    m.build_id = has_id ? keep(c, at, (size_t)(blank - at)) : NULL;
    if (!m.path || (has_id && !m.build_id)) return false;
    c->modules[c->n_modules++] = m;
    return true;
}
