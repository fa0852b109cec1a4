/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parts of runs, read; see file_part.h. */
#include "file/file_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "axprof/axprof_read.h"
#include "os/os_clock.h"

#define LONGEST_NS ((uint64_t)1 << 62)

struct asked {
    bool is_by_steps;
    uint64_t begin, end; /* end 0: none */
    uint64_t start;      /* of the run, where it is by time */
};

/* Up to three numbers, a colon before each; how many there are. */
static size_t read_numbers(const char *text, uint64_t out[3])
{
    size_t n = 0;
    while (n < 3 && text[0] == ':' && text[1] >= '0' && text[1] <= '9') {
        char *end;
        out[n++] = strtoull(text + 1, &end, 10);
        text = end;
    }
    return n;
}

/* "steps:100:120", "time:BEGIN:END:START" (CLOCK_MONOTONIC) */
static bool read_asked(const struct axp__about *a, struct asked *out)
{
    const char *text = axp__about_text(a, "env.AXPROF_WINDOW");
    uint64_t at[3] = {0};
    if (!text) return false;
    bool is_by_steps = !strncmp(text, "steps:", 6);
    bool is_by_time = !strncmp(text, "time:", 5);
    size_t n = read_numbers(text + (is_by_steps ? 5 : 4), at);
    *out = (struct asked){is_by_steps, at[0], at[1], at[2]};
    return is_by_steps ? n == 2 : is_by_time && n >= 2;
}

/* ---- said ------------------------------------------------------------------------ */

static void put_span(char *text, size_t size, uint64_t from_ns, uint64_t to_ns)
{
    char from[32], to[32];
    axp_format_ns(from, sizeof from, from_ns);
    axp_format_ns(to, sizeof to, to_ns);
    if (to_ns)
        snprintf(text, size, "from %s to %s after its start", from, to);
    else
        snprintf(text, size, "from %s after its start on", from);
}

const char *axp__part_text(const struct axp__about *a, struct axp__capture *c)
{
    enum { ROOM = 200 };
    struct asked p;
    char *text, span[96];
    for (size_t i = 0; i < c->n_warnings; i++)
        if (!strcmp(c->warnings[i].code, "window")) return NULL;
    if (!read_asked(a, &p)) return NULL;
    text = axp__cap_take(c, ROOM, 1);
    if (!text) return NULL;
    if (p.is_by_steps)
        snprintf(span, sizeof span,
                 p.end ? "steps %llu to %llu" : "steps %llu on",
                 (unsigned long long)p.begin, (unsigned long long)p.end - 1);
    else if (p.start && p.start <= p.begin)
        put_span(span, sizeof span, p.begin - p.start,
                 p.end ? p.end - p.start : 0);
    else
        snprintf(span, sizeof span, "a time of it");
    snprintf(text, ROOM,
             "a part of the run was asked for: %s; statistics cover that part",
             span);
    return text;
}

/* ---- in ticks -------------------------------------------------------------------- */

void axp__part_set(const struct axp__about *a, struct axp__capture *c)
{
    struct axp__rate rate = {c->rate_mult};
    uint64_t clock_ns = c->clock.monotonic_ns;
    struct asked p;
    if (!read_asked(a, &p)) return;
    if (p.is_by_steps) {
        c->part.first_step = p.begin;
        return;
    }
    if (c->part.ticks || !c->clock.ticks || !rate.mult ||
        p.begin > LONGEST_NS || clock_ns > LONGEST_NS ||
        (p.end && p.end <= p.begin))
        return;
    uint64_t begin =
        p.begin >= clock_ns
            ? c->clock.ticks + axp__rate_to_ticks(rate, p.begin - clock_ns)
            : c->clock.ticks - axp__rate_to_ticks(rate, clock_ns - p.begin);
    c->part.after_ticks = (int64_t)(begin - c->start_ticks);
    c->part.ticks =
        p.end ? axp__rate_to_ticks(rate, p.end - p.begin) : UINT64_MAX;
}
