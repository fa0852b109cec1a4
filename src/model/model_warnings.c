/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How far to believe a view: what was counted while recording, and what only
 * the whole shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_number.h"
#include "model/model_overhead.h"
#include "wire/wire_states.h"
#include "record/record_name.h"

#define SHORT_TICKS 10
#define UNSEEN_SHARE 0.2 /* of processor time that may have no samples */
#define UNSEEN_NS 50000000u
#define STARVED_SHARE 0.1
#define STARVED_NS 10000000u

static void add(axp_view *v, const char *code, const char *text, uint64_t count,
                const char *name)
{
    if (!count) return;
    for (size_t i = 0; i < v->n_warnings; i++)
        if (!strcmp(v->warnings[i].code, code)) {
            v->warnings[i].count += count;
            return;
        }
    v->warnings[v->n_warnings++] = (axp_warning){code, name, count, text};
}

static const char *text_of(const axp_view *v, const char *code)
{
    const struct axp__capture *c = v->capture;
    for (size_t i = 0; i < c->n_warnings; i++)
        if (!strcmp(c->warnings[i].code, code)) return c->warnings[i].text;
    return "";
}

/* Counted when a view is made, not when it happens. */
static void add_known(axp_view *v, const char *code, uint64_t count,
                      const char *name)
{
    add(v, code, text_of(v, code), count, name);
}

static void add_open(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    uint64_t n = 0;
    uint32_t name = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 0; k < c->lanes[i].n_frames; k++) {
            int32_t node = c->lanes[i].frames[k].node;
            if (node <= 0) continue;
            name = c->lanes[i].nodes[node].name;
            n++;
        }
    add_known(v, AXP__CODE_OPEN, n, n ? axp__view_name(v, name) : NULL);
}

/* Names with a flag, each once. */
struct flagged {
    uint32_t flag;
    uint8_t *is_seen; /* a bit a name; NULL: none was, or no memory */
    uint64_t n;
    const char *name;
};

static void note_name(const axp_view *v, uint32_t id, struct flagged *f)
{
    const struct axp__capture *c = v->capture;
    struct axp__cap_name found = c->name_at(c, id);
    if (!(found.flags & f->flag) || id >= c->n_names) return;
    if (!f->is_seen) f->is_seen = calloc(c->n_names / 8 + 1, 1);
    if (!f->is_seen || f->is_seen[id / 8] >> id % 8 & 1) return;
    f->is_seen[id / 8] |= (uint8_t)(1u << id % 8);
    f->n++;
    f->name = found.text;
}

static void add_names(axp_view *v, const char *code, uint32_t flag)
{
    const struct axp__capture *c = v->capture;
    struct flagged f = {.flag = flag};
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        for (uint32_t k = 0; k < lane->n_ops; k++)
            note_name(v, lane->ops[k].name, &f);
        for (uint32_t k = 0; k < lane->n_traffic; k++)
            note_name(v, lane->traffic[k].name, &f);
        for (uint32_t k = 0; k < lane->n_counters; k++)
            note_name(v, lane->counters[k].name, &f);
    }
    free(f.is_seen);
    add_known(v, code, f.n, f.name);
}

static void add_short(axp_view *v)
{
    axp_ns least = axp__view_ns(v, SHORT_TICKS);
    uint64_t n = 0, calls = 0;
    const char *name = NULL;
    for (size_t i = 0; i < v->n_ops; i++) {
        const axp_op *op = &v->ops[i];
        if (op->avg_ns >= least) continue;
        n++;
        if (op->calls >= calls) {
            calls = op->calls;
            name = op->name;
        }
    }
    add_known(v, "short_scopes", n, name);
}

static void add_doubtful(axp_view *v)
{
    uint64_t n = 0;
    for (size_t i = 0; i < v->n_ops; i++)
        n += v->ops[i].is_doubtful;
    add(v, "doubtful_times",
        n == 1 ? "an operation, marked in the table, whose time and share are "
                 "not known to 5 % of its threads' time: recording took more "
                 "than that; do not record the short calls in it"
               : "operations, marked in their table, whose time and share are "
                 "not known to 5 % of their threads' time: recording took more "
                 "than that; do not record the short calls in them",
        n, NULL);
}

#define LARGE_COST 0.1 /* of what threads worked: shares are other ones then */

bool axp__view_has_cost(const axp_view *v)
{
    return axp__overhead(v).share >= LARGE_COST;
}

static bool keep_text(axp_view *v, const struct axp__overhead *of)
{
    v->own_texts[0] = malloc(sizeof of->text);
    if (v->own_texts[0]) memcpy(v->own_texts[0], of->text, sizeof of->text);
    return v->own_texts[0];
}

static void add_overhead(axp_view *v)
{
    struct axp__overhead of = axp__overhead(v);
    if (of.count && keep_text(v, &of))
        add(v, "own_overhead", v->own_texts[0], of.count, of.name);
}

/* Again, now that there are samples. */
static bool settle_overhead(axp_view *v)
{
    struct axp__overhead of = axp__overhead(v);
    size_t kept = 0;
    if (!v->own_texts[0])
        return !of.count ||
               (keep_text(v, &of) &&
                axp__view_warn(v, &(axp_warning){"own_overhead", of.name,
                                                 of.count, v->own_texts[0]}));
    memcpy(v->own_texts[0], of.text, sizeof of.text);
    for (size_t i = 0; i < v->n_warnings; i++)
        if (of.count || v->warnings[i].text != v->own_texts[0])
            v->warnings[kept++] = v->warnings[i];
    v->n_warnings = kept;
    return true;
}

/* Those to which it made a difference. */
static uint64_t count_starved(const axp_view *v)
{
    uint64_t n = 0;
    for (size_t i = 0; i < v->n_threads; i++) {
        const axp_thread_info *t = &v->threads[i];
        n += (double)t->ready_ns > STARVED_SHARE * (double)t->cpu_ns &&
             t->ready_ns > v->ready_ns / 100;
    }
    return n ? n : 1;
}

/* The scheduler's records may be incomplete; threads that recorded know theirs. */
static double ran_ns(const axp_view *v)
{
    double sum = 0;
    for (size_t i = 0; i < v->n_threads; i++)
        sum += (double)v->threads[i].cpu_ns;
    return sum > (double)v->ran_ns ? sum : (double)v->ran_ns;
}

static double starved_share(const axp_view *v)
{
    double wanted = ran_ns(v) + (double)v->ready_ns;
    double share = wanted > 0 ? (double)v->ready_ns / wanted : 0;
    return share < STARVED_SHARE || v->ready_ns < STARVED_NS ? 0 : share;
}

static void put_starved(axp_view *v, double share)
{
    char time[32];
    snprintf(v->own_texts[1], 240,
             "threads that wanted to run had no processor for %.0f %% of that "
             "time, %s in all: the machine was too busy, or too small, and all "
             "times here are longer for it",
             100 * share, axp_format_ns(time, sizeof time, v->ready_ns));
}

/* A machine that is too busy makes every time longer than it need be. */
static void add_starved(axp_view *v)
{
    double share = starved_share(v);
    if (!(share > 0)) return;
    v->own_texts[1] = malloc(240);
    if (!v->own_texts[1]) return;
    put_starved(v, share);
    add(v, "starved", v->own_texts[1], count_starved(v), NULL);
}

/* Again, now that it is known who only would have spun. */
static void settle_starved(axp_view *v)
{
    double share = v->own_texts[1] ? starved_share(v) : 0;
    size_t kept = 0;
    if (!v->own_texts[1] || !v->idle_ready_ns) return;
    if (share > 0) put_starved(v, share);
    for (size_t i = 0; i < v->n_warnings; i++) {
        bool is_it = v->warnings[i].text == v->own_texts[1];
        if (is_it && !(share > 0)) continue;
        if (is_it) v->warnings[i].count = count_starved(v);
        v->warnings[kept++] = v->warnings[i];
    }
    v->n_warnings = kept;
}

bool axp__view_warn(axp_view *v, const axp_warning *w)
{
    axp_warning *wider =
        realloc(v->warnings, (v->n_warnings + 1) * sizeof *wider);
    if (!wider) return false;
    v->warnings = wider;
    add(v, w->code, w->text, w->count, w->name);
    return true;
}

/* Beside what the scheduler says: samples may miss much. */
bool axp__view_warn_of_samples(axp_view *v)
{
    char seen[32], ran[32];
    if (!settle_overhead(v)) return false;
    settle_starved(v);
    if (v->is_part) return true; /* sums of a part are not told */
    if (v->ran_ns < UNSEEN_NS || (double)(v->sampled_ns + v->spun_ns) >=
                                     (double)v->ran_ns * (1 - UNSEEN_SHARE))
        return true;
    v->own_texts[2] = malloc(240);
    if (!v->own_texts[2]) return false;
    axp_format_ns(seen, sizeof seen, v->sampled_ns + v->spun_ns);
    axp_format_ns(ran, sizeof ran, v->ran_ns);
    snprintf(v->own_texts[2], 240,
             "samples stand for %s of %s of processor time: threads that live "
             "for less than some ms are met too seldom, or not at all; shares "
             "of functions are of the others",
             seen, ran);
    return axp__view_warn(
        v, &(axp_warning){"unsampled", NULL, 1, v->own_texts[2]});
}

/* That of axprof run, which goes on as well, is no process of the program. */
static uint64_t count_of(const axp_view *v, const struct axp__cap_warning *w)
{
    bool has_ours = v->is_outside && !strcmp(w->code, "still_recording");
    if (!strcmp(w->code, "window")) return w->count > 0; /* one for all */
    return has_ours && w->count > 1 ? w->count - 1 : w->count;
}

bool axp__view_make_warnings(axp_view *v)
{
    const struct axp__capture *c = v->capture;
    v->warnings = calloc(c->n_warnings + 9, sizeof *v->warnings);
    v->n_warnings = 0;
    if (!v->warnings) return false;
    for (size_t i = 0; i < c->n_warnings; i++) {
        const struct axp__cap_warning *w = &c->warnings[i];
        add(v, w->code, w->text, count_of(v, w),
            w->name ? axp__view_name(v, w->name) : NULL);
    }
    add_starved(v);
    add_open(v);
    add_names(v, "cut_names", AXP__NAME_CUT);
    add_names(v, "names_not_utf8", AXP__NAME_NOT_UTF8);
    add_short(v);
    add(v, "cut_timeline",
        "events are no longer in the timeline; statistics include them",
        axp_view_cut_count(v), NULL);
    add_overhead(v);
    add_doubtful(v);
    return true;
}

uint64_t axp_view_damage(const axp_view *v)
{
    return v ? axp__cap_damage(v->capture) : 0;
}
