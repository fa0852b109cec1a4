/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What was running when a process died: the open scopes of each thread,
 * outermost first. Only of recordings that were recovered: others end with
 * what was open as a warning. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/emit_text.h"
#include "model/model_view.h"

#define MOST_THREADS 16u
#define MOST_SCOPES 12u /* of a stack, the innermost */
#define NAME_BYTES 120

static bool is_recovered(const axp_view *v)
{
    for (size_t i = 0; i < v->n_warnings; i++)
        if (!strcmp(v->warnings[i].code, "recovered")) return true;
    return false;
}

static bool is_open(const struct axp__cap_lane *lane,
                    const struct axp__cap_frame *f)
{
    return f->node > 0 && (uint32_t)f->node < lane->n_nodes;
}

static uint32_t count_open(const struct axp__cap_lane *lane)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < lane->n_frames; i++)
        n += is_open(lane, &lane->frames[i]);
    return n;
}

static void put_scopes(FILE *to, const axp_view *v,
                       const struct axp__cap_lane *lane)
{
    uint32_t n = count_open(lane), at = 0;
    uint64_t begin = 0;
    char since[32];
    if (n > MOST_SCOPES)
        fprintf(to, "%u scope%s and", n - MOST_SCOPES,
                n - MOST_SCOPES == 1 ? "" : "s");
    for (uint32_t i = 0; i < lane->n_frames; i++) {
        const struct axp__cap_frame *f = &lane->frames[i];
        if (!is_open(lane, f) || at++ + MOST_SCOPES < n) continue;
        const char *name = axp__view_name(v, lane->nodes[f->node].name);
        fprintf(to, at > 1 ? " > %.*s" : " %.*s", NAME_BYTES, name);
        begin = f->begin_ticks;
    }
    axp_format_ns(since, sizeof since, axp__view_time(v, begin));
    fprintf(to, ", since %s", since);
}

static void put_thread(struct axp__text *t, const axp_view *v,
                       const struct axp__cap_lane *lane)
{
    const struct axp__capture *c = v->capture;
    const struct axp__cap_row *row = &c->rows[lane->row];
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) {
        t->has_failed = true;
        return;
    }
    if (row->name)
        fprintf(to, "%.*s", NAME_BYTES, axp__view_name(v, row->name));
    else
        fprintf(to, "thread %" PRIu64, row->tid);
    fprintf(to, ":");
    put_scopes(to, v, lane);
    if (fclose(to))
        t->has_failed = true;
    else
        axp__text_wrap(t, "  ", text);
    free(text);
}

void axp__text_open(struct axp__text *t, const axp_view *v)
{
    const struct axp__capture *c = v->capture;
    uint32_t n = 0;
    if (!is_recovered(v)) return;
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        if (lane->row < 0 || lane->is_track || !count_open(lane)) continue;
        if (!n++)
            axp__text_heading(t, "Running when it ended",
                              "open scopes, outermost first");
        if (n <= MOST_THREADS) put_thread(t, v, lane);
    }
    if (n > MOST_THREADS)
        axp__text_say(t, "and %u more threads", n - MOST_THREADS);
}
