/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What ran and when; see emit_run.h. The texts come from a file, so they may
 * hold anything: who writes them out escapes them. */
#include "emit/emit_run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BETWEEN 0x1f /* the arguments */

static bool is_plain(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
           (ch >= '0' && ch <= '9') || (unsigned char)ch >= 0x80 ||
           (ch && strchr("_@%+=:,./-", ch));
}

/* An argument of n bytes; takes 4n + 2 at most. */
static char *put_argument(char *to, const char *text, size_t n)
{
    size_t i = 0;
    while (i < n && is_plain(text[i]))
        i++;
    if (n && i == n) return (char *)memcpy(to, text, n) + n;
    *to++ = '\'';
    for (i = 0; i < n; i++) {
        if (text[i] == '\'')
            to = stpcpy(to, "'\\''");
        else
            *to++ = text[i];
    }
    *to++ = '\'';
    return to;
}

char *axp__run_command(const axp_view *v)
{
    const struct axp__cap_about *a = &v->capture->about;
    const char *from = a->arguments ? a->arguments : a->program;
    if (!from || !*from) return NULL;
    char *text = malloc(4 * strlen(from) + 8), *to = text;
    while (text) {
        const char *end = strchrnul(from, a->arguments ? BETWEEN : 0);
        to = put_argument(to, from, (size_t)(end - from));
        if (!*end) break;
        *to++ = ' ';
        from = end + 1;
    }
    if (text) *to = 0;
    return text;
}

void axp__run_started(const axp_view *v, char out[32])
{
    uint64_t ns = v->capture->about.started_ns;
    time_t seconds = (time_t)(ns / 1000000000u);
    struct tm tm;
    out[0] = 0;
    if (ns && gmtime_r(&seconds, &tm))
        strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}
