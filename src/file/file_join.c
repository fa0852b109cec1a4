/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Joining captures; see file_join.h. */
#include "file/file_join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/file_join_names.h"
#include "file/file_shift.h"
#include "os/os_clock.h"
#include "wire/wire_states.h"

#define MOST_ROWS (UINT32_MAX / 2)

struct join {
    struct axp__capture *c;
    struct axp__join_part *parts;
    struct axp__shift **shift; /* of each part */
    size_t n_parts;
    struct axp__join_names names;
    uint64_t name_space; /* of process ids, as who looked on has them */
    bool has_hosts;      /* several */
    bool has_devices;    /* that several have memory of */
};

/* ---- time ------------------------------------------------------------------------------ */

bool axp__is_same_host(const struct axp__file_head *a,
                       const struct axp__file_head *b)
{
    static const uint8_t unknown[16];
    return !memcmp(a->boot_id, b->boot_id, 16) &&
           memcmp(a->boot_id, unknown, 16) != 0 &&
           a->clock_source == b->clock_source;
}

/* Who looked on tells in which namespace of process ids his numbers are. A
 * recording that does not know its own is taken for one of that. */
static uint64_t run_namespace(const struct join *j)
{
    for (size_t i = 0; i < j->n_parts; i++) {
        const struct axp__capture *p = j->parts[i].capture;
        if (p->n_samples || p->n_states) return p->about.pid_namespace;
    }
    return 0;
}

static uint64_t namespace_of(const struct join *j, size_t i)
{
    uint64_t number = j->parts[i].capture->about.pid_namespace;
    return number ? number : j->name_space;
}

/* A number that parts of one host have in common, if their process ids mean the
 * same. */
static uint32_t host_of(const struct join *j, size_t i)
{
    size_t k = 0;
    while (k < i && (!axp__is_same_host(j->parts[k].head, j->parts[i].head) ||
                     namespace_of(j, k) != namespace_of(j, i)))
        k++;
    return (uint32_t)k;
}

/* How the ticks of a part become those of the first. */
static void set_time(struct join *j, size_t i)
{
    const struct axp__join_part *first = &j->parts[0], *p = &j->parts[i];
    struct axp__shift *s = j->shift[i];
    s->ratio = 1;
    if (i == 0 || axp__is_same_host(first->head, p->head)) return;
    j->has_hosts = true;
    struct axp__rate rate = {first->capture->rate_mult};
    uint64_t ns = p->head->clock.realtime_ns - first->head->clock.realtime_ns;
    bool is_before = ns >> 63;
    uint64_t ticks = axp__rate_to_ticks(rate, is_before ? 0 - ns : ns);
    s->from_ticks = p->head->clock.ticks;
    s->to_ticks = first->head->clock.ticks + (is_before ? 0 - ticks : ticks);
    if (p->capture->rate_mult != rate.mult)
        s->ratio = (double)p->capture->rate_mult / (double)rate.mult;
}

/* The whole begins with the first and ends with the last. Times of tracks
 * count from the beginning of their own process. */
static void set_span(struct join *j)
{
    struct axp__capture *c = j->c;
    c->start_ticks = UINT64_MAX;
    for (size_t i = 0; i < j->n_parts; i++) {
        const struct axp__capture *p = j->parts[i].capture;
        uint64_t start = axp__shift_ticks(j->shift[i], p->start_ticks);
        uint64_t end = axp__shift_ticks(j->shift[i], p->end_ticks);
        if (start < c->start_ticks) c->start_ticks = start;
        if (end > c->end_ticks) c->end_ticks = end;
    }
    struct axp__rate rate = {c->rate_mult};
    for (size_t i = 0; i < j->n_parts; i++)
        j->shift[i]->shift_ns = axp__rate_to_ns(
            rate,
            axp__shift_ticks(j->shift[i], j->parts[i].capture->start_ticks) -
                c->start_ticks);
}

/* Whoever looked on knows what was asked for, whatever came of it. */
static void set_first_step(struct join *j)
{
    for (size_t i = 0; i < j->n_parts; i++) {
        uint64_t first = j->parts[i].capture->part.first_step;
        if (first) j->c->part.first_step = first;
    }
}

/* The part of the run that was asked for, if it was of all of them: whoever
 * was not asked has recorded all that he did. */
static void set_part(struct join *j)
{
    struct axp__capture *c = j->c;
    size_t at = j->n_parts;
    for (size_t i = j->n_parts; i--;) {
        const struct axp__capture *p = j->parts[i].capture;
        if (!p->part.ticks && p->n_rows) return;
        if (p->part.ticks) at = i;
    }
    if (at == j->n_parts) return;
    const struct axp__capture *p = j->parts[at].capture;
    uint64_t begin = p->start_ticks + (uint64_t)p->part.after_ticks;
    c->part.after_ticks =
        (int64_t)(axp__shift_ticks(j->shift[at], begin) - c->start_ticks);
    c->part.ticks = axp__shift_duration(j->shift[at], p->part.ticks);
}

/* ---- rows, lanes, chunks ------------------------------------------------------------------ */

static bool number_rows(struct join *j)
{
    uint64_t next = 0;
    for (size_t i = 0; i < j->n_parts; i++) {
        const struct axp__capture *p = j->parts[i].capture;
        uint64_t most = 0;
        for (size_t k = 0; k < p->n_rows; k++) {
            if (p->rows[k].id > most) most = p->rows[k].id;
            if (p->rows[k].track > most) most = p->rows[k].track;
        }
        for (size_t k = 0; k < p->n_chunks; k++)
            if (p->chunks[k].row > most) most = p->chunks[k].row;
        j->shift[i]->first_row = (uint32_t)next;
        next += most + 1;
        if (next > MOST_ROWS) return false;
    }
    return true;
}

/* Ids of stacks go on from part to part, and stay below the other table's. */
static bool number_stacks(struct join *j)
{
    for (unsigned table = 0; table < 2; table++) {
        uint64_t next = 0;
        for (size_t i = 0; i < j->n_parts; i++) {
            j->shift[i]->first_stack[table] = (uint32_t)next;
            next += j->parts[i].capture->stacks[table].n;
            if (next >= AXP__STACKS_OUTSIDE) return false;
        }
    }
    return true;
}

static bool take_arrays(struct join *j)
{
    struct axp__capture *c = j->c;
    size_t rows = 0, lanes = 0, chunks = 0, live = 0, warnings = 2;
    size_t domains = 0, samples = 0, states = 0, levels = 0, notes = 0;
    for (size_t i = 0; i < j->n_parts; i++) {
        const struct axp__capture *p = j->parts[i].capture;
        rows += p->n_rows;
        lanes += p->n_lanes;
        chunks += p->n_chunks;
        live += p->n_live;
        domains += p->n_domains;
        levels += p->n_levels;
        notes += p->n_notes;
        samples += p->n_samples;
        states += p->n_states;
        warnings += p->n_warnings;
    }
    c->processes = axp__cap_take(c, j->n_parts, sizeof *c->processes);
    c->rows = axp__cap_take(c, rows, sizeof *c->rows);
    c->lanes = axp__cap_take(c, lanes, sizeof *c->lanes);
    c->chunks = axp__cap_take(c, chunks, sizeof *c->chunks);
    c->live = axp__cap_take(c, live, sizeof *c->live);
    c->domains = axp__cap_take(c, domains, sizeof *c->domains);
    c->levels = axp__cap_take(c, levels, sizeof *c->levels);
    c->notes = axp__cap_take(c, notes, sizeof *c->notes);
    c->warnings = axp__cap_take(c, warnings, sizeof *c->warnings);
    c->samples = axp__cap_take(c, samples, sizeof *c->samples);
    c->states = axp__cap_take(c, states, sizeof *c->states);
    return c->processes && c->rows && c->lanes && c->chunks && c->live &&
           c->domains && c->levels && c->notes && c->warnings && c->samples &&
           c->states;
}

static void add_live(struct join *j, size_t i)
{
    struct axp__capture *c = j->c;
    const struct axp__capture *p = j->parts[i].capture;
    for (size_t k = 0; k < p->n_live; k++) {
        struct axp__cap_live *live = &c->live[c->n_live++];
        *live = p->live[k];
        axp__shift_live(j->shift[i], live);
    }
}

/* Several of one device are added, as the hosts' are. */
static bool add_domains(struct join *j, size_t i)
{
    const struct axp__capture *p = j->parts[i].capture;
    struct axp__shift *s = j->shift[i];
    for (size_t k = 0; k < p->n_domains; k++) {
        struct axp__cap_domain from = p->domains[k];
        from.device = axp__join_device(j->c, s, from.device);
        if (!from.device) return false;
        from.peak_ticks = axp__shift_ticks(s, from.peak_ticks);
        struct axp__cap_domain *to = axp__cap_find_domain(j->c, from.device);
        if (to) {
            j->has_devices = true;
            to->current_bytes += from.current_bytes;
            to->peak_bytes += from.peak_bytes;
            if (from.peak_ticks > to->peak_ticks)
                to->peak_ticks = from.peak_ticks;
        } else {
            axp__cap_add_domain(j->c, from);
        }
    }
    return true;
}

/* As the rest of memory: sums, and the last of what there is one of. */
static void add_heap(struct axp__capture *c, const struct axp__shift *s,
                     struct axp__cap_heap from)
{
    struct axp__cap_heap *to = &c->heap;
    if (!from.is_seen) return;
    axp__shift_heap(s, &from);
    to->is_seen = true;
    to->peak_bytes += from.peak_bytes;
    if (from.peak_ticks > to->peak_ticks) to->peak_ticks = from.peak_ticks;
    to->n_missed += from.n_missed;
    if (from.sampled_bytes) to->sampled_bytes = from.sampled_bytes;
    to->mapped_bytes += from.mapped_bytes;
    to->mapped_peak += from.mapped_peak;
    to->n_mapped += from.n_mapped;
    if (from.group_bytes &&
        (!to->group_bytes || from.group_bytes < to->group_bytes))
        to->group_bytes = from.group_bytes;
    to->n_failed += from.n_failed;
    if (!from.n_failed || from.failed_ticks < to->failed_ticks) return;
    to->failed_bytes = from.failed_bytes;
    to->failed_limit = from.failed_limit;
    to->failed_place = from.failed_place;
    to->failed_ticks = from.failed_ticks;
}

static void add_notes(struct join *j, size_t i)
{
    struct axp__capture *c = j->c;
    const struct axp__capture *p = j->parts[i].capture;
    for (size_t k = 0; k < p->n_notes; k++) {
        c->notes[c->n_notes] = p->notes[k];
        axp__shift_note(j->shift[i], &c->notes[c->n_notes++]);
    }
}

static void add_levels(struct join *j, size_t i)
{
    struct axp__capture *c = j->c;
    const struct axp__capture *p = j->parts[i].capture;
    for (size_t k = 0; k < p->n_levels; k++) {
        struct axp__cap_level *to = &c->levels[c->n_levels++];
        *to = p->levels[k];
        axp__shift_level(j->shift[i], to);
        to->process = (uint32_t)i;
    }
}

static void add_warning(struct axp__capture *c, struct axp__cap_warning w)
{
    for (size_t i = 0; i < c->n_warnings; i++)
        if (!strcmp(c->warnings[i].code, w.code)) {
            c->warnings[i].count += w.count;
            if (w.count) c->warnings[i].name = w.name;
            return;
        }
    c->warnings[c->n_warnings++] = w;
}

/* Each process has measured its own. */
static void set_cost(const struct axp__shift *s, const struct axp__capture *p,
                     struct axp__cap_lane *to)
{
    struct axp__own_cost own = to->own_cost;
    if (!own.around_ticks && !own.inside_ticks) own = p->own_cost;
    to->own_cost.around_ticks = axp__shift_duration(s, own.around_ticks);
    to->own_cost.inside_ticks = axp__shift_duration(s, own.inside_ticks);
    to->own_cost.alloc_ticks = axp__shift_duration(s, own.alloc_ticks);
}

static bool add_part(struct join *j, size_t i)
{
    struct axp__capture *c = j->c;
    struct axp__capture *p = j->parts[i].capture;
    struct axp__shift *s = j->shift[i];
    size_t first = c->n_rows;
    uint32_t host = host_of(j, i);
    c->processes[c->n_processes++] =
        (struct axp__cap_process){p->title,
                                  p->process_id,
                                  p->rank,
                                  s->first_row,
                                  axp__shift_ticks(s, p->end_ticks),
                                  p,
                                  {s->first_stack[0], s->first_stack[1]},
                                  host};
    for (size_t k = 0; k < p->n_rows; k++) {
        c->rows[c->n_rows] = p->rows[k];
        axp__shift_row(s, &c->rows[c->n_rows++]);
    }
    for (size_t k = 0; k < p->n_lanes; k++) {
        struct axp__cap_lane *to = &c->lanes[c->n_lanes];
        if (!axp__shift_lane(s, c, &p->lanes[k], to)) return false;
        if (to->row >= 0) to->row += (int32_t)first;
        set_cost(s, p, to);
        c->n_lanes++;
    }
    add_live(j, i);
    if (!add_domains(j, i)) return false;
    add_heap(c, s, p->heap);
    add_levels(j, i);
    add_notes(j, i);
    for (size_t k = 0; k < p->n_warnings; k++) {
        struct axp__cap_warning w = p->warnings[k];
        w.name = w.name ? axp__shift_name(s, w.name) : 0;
        add_warning(c, w);
    }
    axp__shift_chunks(s, c->chunks + c->n_chunks);
    c->n_chunks += p->n_chunks;
    axp__shift_samples(s, host, c->samples + c->n_samples);
    c->n_samples += p->n_samples;
    for (size_t k = 0; k < p->n_states; k++) {
        struct axp__thread_states *to = &c->states[c->n_states++];
        *to = p->states[k];
        to->process |= (uint64_t)host << 32;
        to->begin_ticks = axp__shift_ticks(s, to->begin_ticks);
        to->end_ticks = axp__shift_ticks(s, to->end_ticks);
    }
    c->n_events += p->n_events;
    c->n_steps += p->n_steps;
    c->current_bytes += p->current_bytes;
    c->peak_bytes += p->peak_bytes;
    uint64_t peak_ticks = axp__shift_ticks(s, p->peak_ticks);
    if (p->peak_bytes && peak_ticks > c->peak_ticks) c->peak_ticks = peak_ticks;
    c->is_finished &= p->is_finished;
    c->has_timeline |= p->has_timeline;
    return true;
}

/* ---- the rest --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct axp__cap_live *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

/* One record a name, by id, as a view expects them. */
static void merge_live(struct axp__capture *c)
{
    size_t kept = 0;
    qsort(c->live, c->n_live, sizeof *c->live, by_name);
    for (size_t i = 0; i < c->n_live; i++) {
        struct axp__cap_live *to = kept ? &c->live[kept - 1] : NULL;
        const struct axp__cap_live *from = &c->live[i];
        if (!to || to->name != from->name) {
            c->live[kept++] = *from;
            continue;
        }
        if (from->current_bytes &&
            (!to->current_bytes || from->since_ticks < to->since_ticks)) {
            to->since_ticks = from->since_ticks;
            to->since_row = from->since_row;
        }
        if (!to->kind) to->kind = from->kind;
        to->current_bytes += from->current_bytes;
        to->peak_bytes += from->peak_bytes;
        to->at_peak_bytes += from->at_peak_bytes;
        to->first_step_bytes += from->first_step_bytes;
        to->growth_early += from->growth_early;
        to->growth_late += from->growth_late;
    }
    c->n_live = kept;
}

/* That of the lane with the most calls, to be shown: what is taken off is each
 * lane's own. */
static struct axp__own_cost main_cost(const struct axp__capture *c)
{
    struct axp__own_cost cost = {0, 0, 0};
    uint64_t most = 0;
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        uint64_t calls = 0;
        for (uint32_t k = 1; k < lane->n_nodes && !lane->is_track; k++)
            calls += lane->nodes[k].calls;
        if (calls < most || lane->is_track) continue;
        most = calls;
        cost = lane->own_cost;
    }
    return cost;
}

static bool fill(struct join *j)
{
    struct axp__capture *c = j->c;
    const struct axp__capture *first = j->parts[0].capture;
    uint64_t n_peaks = 0, n_of_devices = 0;
    c->rate_mult = first->rate_mult;
    c->clock = first->clock;
    c->process_id = first->process_id;
    c->rank = -1;
    c->is_finished = true;
    if (!axp__join_about(c, j->parts, j->n_parts) || !number_rows(j) ||
        !number_stacks(j) || !take_arrays(j))
        return false;
    for (size_t i = 0; i < j->n_parts; i++) {
        set_time(j, i);
        if (!axp__join_names(&j->names, j->c, j->shift[i])) return false;
    }
    set_span(j);
    set_part(j);
    set_first_step(j);
    j->name_space = run_namespace(j);
    for (size_t i = 0; i < j->n_parts; i++) {
        if (!add_part(j, i)) return false;
        const struct axp__capture *part = j->parts[i].capture;
        n_peaks += part->peak_bytes > 0;
        n_of_devices += part->n_domains > 0;
    }
    c->own_cost = main_cost(c);
    merge_live(c);
    if (j->has_devices && n_of_devices > n_peaks) n_peaks = n_of_devices;
    if (n_peaks > 1)
        add_warning(c, (struct axp__cap_warning){
                           "joined_peaks",
                           "processes whose memory peaks were added: they "
                           "need not have been at the same time",
                           n_peaks, 0});
    if (j->has_hosts)
        add_warning(c, (struct axp__cap_warning){
                           "joined_hosts",
                           "recordings of several hosts, put on one time axis "
                           "by their real-time clocks",
                           j->n_parts, 0});
    return axp__join_names_end(&j->names, c);
}

/* From here on the capture owns the parts, by their shifts. */
static void hand_over(struct join *j)
{
    for (size_t i = 0; i < j->n_parts; i++) {
        j->shift[i]->source.next = j->c->sources;
        j->c->sources = &j->shift[i]->source;
    }
}

static void give_up(struct join *j)
{
    for (size_t i = 0; i < j->n_parts; i++) {
        if (j->shift && j->shift[i]) free(j->shift[i]->name);
        if (j->shift) free(j->shift[i]);
        j->parts[i].capture->release(j->parts[i].capture);
    }
    axp__cap_free(j->c);
    j->c = NULL;
}

struct axp__capture *axp__join(struct axp__join_part *parts, size_t n)
{
    struct axp__capture empty = {0};
    struct join j = {.parts = parts, .n_parts = n};
    bool ok = axp__join_ids(parts, n);
    if (ok && n == 1) return parts[0].capture;
    j.c = axp__cap_take(&empty, 1, sizeof *j.c);
    j.shift = calloc(n, sizeof(struct axp__shift *));
    ok = ok && j.c && j.shift;
    if (j.c)
        *j.c = (struct axp__capture){.memory = empty.memory,
                                     .release = axp__cap_free};
    for (size_t i = 0; ok && i < n; i++) {
        j.shift[i] = calloc(1, sizeof *j.shift[i]);
        if (j.shift[i]) j.shift[i]->part = parts[i].capture;
        ok = j.shift[i] != NULL;
    }
    if (ok && fill(&j))
        hand_over(&j);
    else
        give_up(&j);
    free(j.shift);
    axp__join_names_fini(&j.names);
    return j.c;
}
