/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What ran, where and when, of several captures; see file_join.h. */
#include <stdio.h>
#include <string.h>

#include "file/file_join.h"
#include "wire/wire_kind.h"

#define MOST_HOSTS 4

/* Does it say what was seen of a whole run from outside? */
static bool is_of_run(const struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_rows; i++)
        if (!c->rows[i].track &&
            axp__kind_of(c->name_at(c, c->rows[i].name).flags) ==
                AXP__KIND_OUTSIDE)
            return true;
    return false;
}

/* The parts' title, if they have one in common; else the first one's and how
 * many others there are. Processes of a run have the run's. */
static const char *join_titles(struct axp__capture *to,
                               const struct axp__join_part *parts, size_t n)
{
    const char *first = NULL;
    bool has_run = false;
    size_t n_others = 0;
    for (size_t i = 0; i < n; i++)
        has_run |= is_of_run(parts[i].capture);
    for (size_t i = 0; i < n; i++) {
        const struct axp__capture *c = parts[i].capture;
        if (has_run && !is_of_run(c)) continue;
        if (!first) first = c->title;
        n_others += strcmp(c->title, first) != 0;
    }
    if (!n_others) return first; /* its part stays as long as c */
    size_t size = strlen(first) + 40;
    char *text = axp__cap_take(to, size, 1);
    if (text) snprintf(text, size, "%s and %zu more", first, n_others);
    return text;
}

static bool is_new_host(const struct axp__join_part *parts, size_t i)
{
    const char *host = parts[i].capture->about.host;
    for (size_t k = 0; host && k < i; k++) {
        const char *other = parts[k].capture->about.host;
        if (other && !strcmp(other, host)) return false;
    }
    return host;
}

/* "a, b, c, d and 3 more" */
static const char *join_hosts(struct axp__capture *to,
                              const struct axp__join_part *parts,
                              size_t n_parts)
{
    size_t n = 0, len = 64;
    for (size_t i = 0; i < n_parts; i++)
        if (is_new_host(parts, i) && n++ < MOST_HOSTS)
            len += strlen(parts[i].capture->about.host) + 2;
    char *text = axp__cap_take(to, len, 1), *at = text;
    if (!n || !text) return NULL;
    for (size_t i = 0, k = 0; i < n_parts && k < MOST_HOSTS; i++) {
        if (!is_new_host(parts, i)) continue;
        if (k++) at = stpcpy(at, ", ");
        at = stpcpy(at, parts[i].capture->about.host);
    }
    if (n > MOST_HOSTS)
        snprintf(at, len - (size_t)(at - text), " and %zu more",
                 n - MOST_HOSTS);
    return text;
}

bool axp__join_about(struct axp__capture *to,
                     const struct axp__join_part *parts, size_t n)
{
    struct axp__cap_about *a = &to->about;
    *a = parts[0].capture->about;
    for (size_t i = 1; i < n; i++) {
        const struct axp__cap_about *b = &parts[i].capture->about;
        if (b->started_ns < a->started_ns) a->started_ns = b->started_ns;
        if (!a->machine) a->machine = b->machine;
        if (!a->n_cpus) a->n_cpus = b->n_cpus;
    }
    a->host = join_hosts(to, parts, n);
    to->title = join_titles(to, parts, n);
    return to->title;
}
