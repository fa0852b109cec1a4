/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sampling as part of a run; see cli_sampling.h. */
#include "cli/cli_sampling.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_say.h"

#define NEVER UINT64_MAX
#define MOST_HZ 20000

int cli_sampling_read(const cli_args *args, cli_sampling *s)
{
    const char *text = cli_args_value(args, OPT_run_sample);
    char *end;
    *s = (cli_sampling){0};
    if (!text) return CLI_OK;
    s->is_off = !strcmp(text, "off");
    if (s->is_off) return CLI_OK;
    unsigned long hz = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || hz < 1 || hz > MOST_HZ)
        return cli_wrong("--sample wants a number from 1 to %d, or \"off\", "
                         "not \"%s\"",
                         MOST_HZ, text);
    s->hz = (double)hz;
    return CLI_OK;
}

/* Splits a list in place; as many as there may be. */
static size_t split(char *list, const char **out, size_t most)
{
    size_t n = 0;
    for (char *at = list, *next; at && n < most; at = next) {
        next = strchr(at, ':');
        if (next) *next++ = 0;
        out[n++] = at;
    }
    return n;
}

/* By the kernel, or else by the program itself. */
void cli_sampling_start(cli_sampling *s, const cli_sampling_of *of)
{
    axp_status status;
    const char *owns[16];
    if (s->is_off || !of->path) return;
    char *list = of->own ? cli_format("%s", of->own) : NULL;
    axp_sampling_options o = {.size = sizeof o,
                              .path = of->path,
                              .title = of->title,
                              .process_id = (uint64_t)of->pid,
                              .hz = s->hz,
                              .own = owns,
                              .n_own = split(list, owns, 16)};
    s->of = axp_sampling_start(&o, &status);
    if (!s->of && of->ring) {
        o.ring = of->ring;
        s->of = axp_sampling_start(&o, &status);
        if (s->of) s->ring = cli_format("%s", of->ring);
    }
    free(list);
    if (s->of)
        s->path = cli_format("%s", of->path);
    else
        s->why_not = cli_format("%s", axp_last_error());
}

uint64_t cli_sampling_step(cli_sampling *s, uint64_t now_ns)
{
    return s->of ? now_ns + axp_sampling_step(s->of) : NEVER;
}

void cli_sampling_stop(cli_sampling *s)
{
    if (!s->of) return;
    if (axp_sampling_stop(s->of, &s->seen) != AXP_OK && !s->why_not)
        s->why_not = cli_format("%s", axp_last_error());
    s->of = NULL;
    if (!s->seen.samples && !s->seen.threads) unlink(s->path);
    free(s->path);
    s->path = NULL;
}

void cli_sampling_say(cli_sampling *s)
{
    if (s->why_not) cli_note("functions were not sampled: %s", s->why_not);
    if (s->ring && !s->seen.samples)
        cli_note("perf_event_open is not allowed here, and no function was "
                 "sampled by a timer in the program: it is linked statically, "
                 "has the timer's signal for itself, or hardly used a "
                 "processor");
    else if (s->ring)
        cli_note("functions were sampled by a timer in the program: "
                 "perf_event_open is not allowed here; time in the kernel and "
                 "when threads had no processor is not seen, and what is in "
                 "step with the kernel's tick has a share that may be wrong");
    free(s->ring);
    s->ring = NULL;
    if (s->seen.lost)
        cli_note("at most %" PRIu64 " of %" PRIu64
                 " samples were lost: the kernel had "
                 "no room for them; --sample with fewer a second needs less",
                 s->seen.lost, s->seen.lost + s->seen.samples);
    free(s->why_not);
    s->why_not = NULL;
}
