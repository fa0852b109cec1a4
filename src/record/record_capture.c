/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Taking a capture of a live profiler.
 *
 * Under the profiler's mutex, so that nothing a reader looks at is freed; the
 * recording threads do not notice. Records are copied by their versions
 * (tally_copy.h). Chunks are copied up to their writer's cursor and believed if
 * their seq has not changed.
 *
 * Frames have no version. A frame is taken as open if it holds the same begin
 * before and after all else of its lane was copied and is below the top both
 * times, with a barrier through all threads in between: then whatever changed
 * it is seen. Where one has ended meanwhile the nodes, which have its call now,
 * are copied again, and what is left of the frames is looked at again. So no
 * call is counted twice, and none that a capture has seen open is missing from
 * the next.
 */
#include "record/record_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os_about.h"
#include "os/os_map.h"
#include "record/record_drain.h"
#include "record/record_lane.h"
#include "record/record_named.h"
#include "record/record_stacks.h"
#include "record/record_tape.h"
#include "record/record_warning.h"
#include "tally/tally_copy.h"

#define MOST_LOOKS 100 /* at a thread in the middle of an event */

/* ---- open scopes ---------------------------------------------------------------- */

/* What is read of a frame in the first pass and compared in the last. */
static uint32_t look(const struct axp__tally *t, struct axp__frame **frames,
                     uint64_t *begins, uint32_t cap)
{
    struct axp__frame *top = axp__tally_look(t, frames);
    uint32_t n = 0;
    for (struct axp__frame *f = *frames + 1; f <= top && n < cap; f++)
        begins[n++] = axp__get(&f->begin_ticks);
    return n;
}

static void copy_frame(struct axp__cap_frame *to, const struct axp__lane *lane,
                       const struct axp__frame *f, const axp__ref *refs,
                       uint32_t n_refs)
{
    const struct axp__node *node = axp__get_pointer(&f->node);
    int32_t index =
        node ? axp__cap_index_of(refs, n_refs, axp__path_ref(node->path))
             : AXP__CAP_ROOT;
    axp__copy_frame(to, f, index);
    if (axp__named_is_claimed(lane, f)) to->node = AXP__CAP_ROOT;
}

/* What the owner was about when it was last looked at is done: a scope that is
 * not open any more has been counted. Unless he was stopped in there: nobody
 * waits for that. False: nothing was under way. */
static bool let_finish(const struct axp__lane *lane)
{
    const struct axp__thread *t = axp__get(&lane->owner);
    int i = 0;
    if (!t || t == axp__tls || axp__get(&lane->state) != AXP__LANE_ACTIVE)
        return false;
    while (i < MOST_LOOKS && axp__thread_is_inside(t))
        i++;
    return i > 0;
}

static void pass_barrier(const struct axp__lane *lane)
{
    if (lane->owner != axp__tls) axp__barrier_all_threads();
}

/* The frames of a lane: when each began, at first and when last looked at. */
struct open {
    struct axp__frame *frames;
    uint64_t *first, *again;
    uint32_t n;
};

/* First of all that is looked at. */
static bool begin_frames(struct axp__capture *c, struct axp__cap_lane *to,
                         const struct axp__lane *lane, struct open *o)
{
    struct axp__frame *top = axp__tally_look(&lane->tally, &o->frames);
    size_t depth = (size_t)(top - o->frames);
    *o = (struct open){.first = axp__cap_take(c, depth, sizeof *o->first),
                       .again = axp__cap_take(c, depth, sizeof *o->again)};
    to->frames = axp__cap_take(c, depth, sizeof *to->frames);
    if (!o->first || !o->again || !to->frames) return false;
    o->n = look(&lane->tally, &o->frames, o->first, (uint32_t)depth);
    if (let_finish(lane) || o->n) pass_barrier(lane);
    return true;
}

/* Whether all that were left are open still, and where they were. */
static bool are_open(const struct axp__lane *lane, struct open *o)
{
    struct axp__frame *before = o->frames;
    uint32_t n = 0, n_before = o->n;
    if (o->n) pass_barrier(lane);
    uint32_t m = look(&lane->tally, &o->frames, o->again, o->n);
    while (n < m && o->first[n] == o->again[n])
        n++;
    o->n = n;
    if (n == n_before && o->frames == before) return true;
    let_finish(lane);
    pass_barrier(lane);
    return false;
}

/* ---- lanes and rows ---------------------------------------------------------------- */

static bool copy_lane(struct axp__capture *c, const struct axp__lane *lane,
                      int32_t row)
{
    struct axp__cap_lane *to = &c->lanes[c->n_lanes];
    struct axp__copy_source from = axp__copy_from(&lane->tally, true);
    from.heap_now = axp__heap_now(&lane->p->heap);
    from.start_ticks = c->start_ticks;
    from.when_shift = axp__heap_when_shift(&lane->p->heap);
    struct open open = {0};
    to->row = row;
    to->is_track = lane->track != 0;
    if (!begin_frames(c, to, lane, &open) || !axp__copy_size(c, to, &from))
        return false;
    uint32_t n_pages = to->n_hists;
    axp__ref *refs = axp__cap_take(c, to->n_nodes, sizeof *refs);
    if (!refs) return false;
    axp__copy_small(to, &from);
    do {
        axp__copy_nodes(to, refs, &from);
        axp__copy_ops(to, n_pages, &from);
        for (uint32_t i = 0; i < open.n; i++)
            copy_frame(&to->frames[i], lane, open.frames + 1 + i, refs,
                       to->n_nodes);
    } while (!are_open(lane, &open));
    to->n_frames = open.n;
    axp__cap_declare(to);
    c->n_lanes++;
    return true;
}

static void copy_row(struct axp__cap_row *to, const struct axp__lane *lane)
{
    *to = (struct axp__cap_row){
        .id = axp__get(&lane->row),
        .track = lane->track,
        .name = axp__get(&lane->name),
        .tid = axp__get(&lane->tid),
        .process_id = axp__get(&lane->process_id),
        .first = axp__get(&lane->first_ticks),
        .last = axp__get(&lane->last_ticks),
        .n_events = axp__lane_logged(lane) + axp__lane_unlogged(lane),
        .is_ended = axp__get(&lane->state) == AXP__LANE_ENDED,
        .cpu_ns = axp__lane_cpu_ns(lane),
    };
    if (lane->track) {
        to->first = axp__get(&lane->first_ns);
        to->last = axp__get(&lane->last_ns);
    }
}

static bool is_shown(const struct axp__lane *lane, uint64_t epoch)
{
    return axp__lane_is_readable(lane) && lane->epoch == epoch &&
           axp__get(&lane->first_ticks);
}

static bool copy_lanes(struct axp__capture *c, struct axp__prof *p,
                       uint64_t epoch)
{
    size_t n = 0;
    struct axp__lane *head = axp__get_acquire(&p->lanes);
    for (struct axp__lane *l = head; l; l = axp__get(&l->next))
        n += is_shown(l, epoch);
    c->rows = axp__cap_take(c, n + p->n_merged_rows, sizeof *c->rows);
    c->lanes = axp__cap_take(c, n + 1, sizeof *c->lanes);
    if (!c->rows || !c->lanes) return false;

    for (uint32_t i = 0; i < p->n_merged_rows; i++)
        axp__capture_merged_row(c, &p->rows[i]);
    if (p->merged && !copy_lane(c, p->merged, -1)) return false;
    for (struct axp__lane *l = head; l && n; l = axp__get(&l->next)) {
        if (!is_shown(l, epoch)) continue;
        n--;
        if (!copy_lane(c, l, (int32_t)c->n_rows)) return false;
        copy_row(&c->rows[c->n_rows], l);
        if (!c->rows[c->n_rows].process_id)
            c->rows[c->n_rows].process_id = c->process_id;
        c->rows[c->n_rows++].rank = c->rank;
    }
    return true;
}

/* ---- memory, words, the rest --------------------------------------------------------- */

/* How far the chunks that are being written to go: cursors, read behind a
 * barrier, so that the words before them are there. */
struct cursor {
    const struct axp__chunk *chunk;
    uint64_t n_words;
};

static size_t read_cursors(const struct axp__prof *p, struct cursor *out,
                           size_t cap)
{
    size_t n = 0;
    struct axp__lane *l = axp__get_acquire(&p->lanes);
    for (; l && n < cap; l = axp__get(&l->next)) {
        const struct axp__chunk *chunk = axp__get_acquire(&l->chunk);
        const uint64_t *cur = axp__get_acquire(&l->cur);
        if (!chunk || axp__get(&l->chunk) != chunk || cur < chunk->words ||
            cur > chunk->words + AXP__CHUNK_WORDS)
            continue; /* none, or changing it now */
        out[n++] = (struct cursor){chunk, (uint64_t)(cur - chunk->words)};
    }
    axp__barrier_all_threads();
    return n;
}

static uint64_t words_in(const struct axp__chunk *chunk,
                         const struct cursor *cursors, size_t n)
{
    uint64_t n_words = axp__get_acquire(&chunk->n_words);
    for (size_t i = 0; !n_words && i < n; i++)
        if (cursors[i].chunk == chunk) n_words = cursors[i].n_words;
    return n_words < AXP__CHUNK_WORDS ? n_words : AXP__CHUNK_WORDS;
}

static bool copy_chunk(struct axp__capture *c, const struct axp__chunk *from,
                       uint32_t epoch, uint64_t n_words)
{
    struct axp__cap_chunk *to = &c->chunks[c->n_chunks];
    uint64_t seq = axp__get_acquire(&from->seq);
    if (!seq || !n_words || axp__get(&from->epoch) != epoch) return true;
    uint64_t *words = axp__cap_take(c, n_words, 8);
    if (!words) return false;
    to->row = axp__get(&from->row);
    to->base_ticks = axp__get(&from->base_ticks);
    to->seq = seq;
    to->words = words;
    to->n_words = n_words;
    to->n_events = UINT64_MAX;
    for (size_t i = 0; i < n_words; i++)
        words[i] = axp__get(&from->words[i]);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (axp__get(&from->seq) == seq && axp__get(&from->row) == to->row)
        c->n_chunks++;
    return true;
}

static bool copy_chunks(struct axp__capture *c, const struct axp__prof *p,
                        uint32_t epoch)
{
    size_t n = axp__pool_size(&p->pool), n_lanes = 0;
    for (struct axp__lane *l = axp__get_acquire(&p->lanes); l;
         l = axp__get(&l->next))
        n_lanes++;
    struct cursor *cursors = axp__cap_take(c, n_lanes, sizeof *cursors);
    c->chunks = axp__cap_take(c, n, sizeof *c->chunks);
    if (!c->chunks || !cursors) return false;
    n_lanes = read_cursors(p, cursors, n_lanes);
    for (size_t i = 0; i < n; i++) {
        const struct axp__chunk *chunk = axp__pool_at(&p->pool, i);
        if (chunk &&
            !copy_chunk(c, chunk, epoch, words_in(chunk, cursors, n_lanes)))
            return false;
    }
    return true;
}

static struct axp__cap_name name_at(const struct axp__capture *c, uint32_t id)
{
    (void)c;
    const struct axp__name *n = axp__name_ready(id);
    if (!n) n = axp__name_at(AXP__NAME_OTHER);
    return (struct axp__cap_name){n->text, axp__name_file(n), n->line,
                                  n->flags};
}

static uint64_t count_events(const struct axp__capture *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_rows; i++)
        n += c->rows[i].n_events;
    return n;
}

static uint64_t count_folded(const struct axp__prof *p)
{
    uint64_t n = p->merged ? p->merged->tally.n_folded : 0;
    struct axp__lane *l = axp__get_acquire(&p->lanes);
    for (; l; l = axp__get(&l->next))
        if (axp__lane_is_readable(l)) n += axp__get(&l->tally.n_folded);
    return n;
}

/* What its file says, where it has one. */
static void copy_clock(struct axp__capture *c, const struct axp__prof *p)
{
    struct axp__clock_pair pair = axp__clock_pair_first();
    c->clock.ticks = pair.ticks;
    c->clock.monotonic_ns = pair.monotonic_ns;
    c->clock.realtime_ns = pair.realtime_ns;
    if (!p->tape || !p->tape->trace.head.version) return;
    c->clock.ticks = p->tape->trace.head.clock.ticks;
    c->clock.monotonic_ns = p->tape->trace.head.clock.monotonic_ns;
    c->clock.realtime_ns = p->tape->trace.head.clock.realtime_ns;
}

static const struct axp__level_span *level_part(
    void *ctx, const struct axp__level_span *part)
{
    (void)ctx;
    return part;
}

static bool fill(struct axp__capture *c, struct axp__prof *p, bool with_words)
{
    uint64_t gate = axp__get(&p->gate);
    char *title = axp__cap_take(c, 1, sizeof p->title);
    if (!title) return false;
    memcpy(title, p->title, sizeof p->title);
    c->title = title;
    c->process_id = (uint64_t)getpid();
    c->start_ticks = p->start_ticks;
    c->rate_mult = axp__clock_rate().mult;
    c->timeline_capacity = p->timeline_capacity;
    c->is_finished = gate & AXP__GATE_FINISHED;
    c->has_timeline = !(p->flags & AXP_NO_TIMELINE);
    c->name_at = name_at;
    c->n_names = axp__name_count();
    c->release = axp__cap_free;
    c->rank = p->rank;
    copy_clock(c, p);
    uint64_t first_step = axp__get_acquire(&p->first_step); /* before n_steps */
    uint64_t n_recorded = axp__get(&p->n_steps) - first_step;
    if (!copy_lanes(c, p, gate >> 8) ||
        !axp__domains_copy(c, &p->memory, &p->domains, n_recorded) ||
        (with_words && !copy_chunks(c, p, (uint32_t)(gate >> 8))) ||
        ((with_words || axp__get(&p->heap.is_seen)) &&
         !axp__capture_stacks(c, p)) ||
        !axp__heap_copy_level(c, &p->heap, level_part, NULL) ||
        !axp__notes_copy(c, axp__get_acquire(&p->heap.notes.at)) ||
        !axp__warnings_copy(c, p))
        return false;
    axp__heap_copy(&c->heap, &p->heap);
    c->n_names = axp__name_count(); /* of what was just copied too */
    if (!axp__cap_list_names(c)) return false;
    c->warnings[AXP__WARN_FOLDED].count += count_folded(p);
    c->n_steps = axp__get(&p->n_steps);
    c->n_events = c->has_timeline ? count_events(c) : 0;
    c->end_ticks = axp__prof_end(p);
    return true;
}

static struct axp__capture *make(struct axp__prof *p, bool with_words)
{
    struct axp__capture empty = {0}, *c = axp__cap_take(&empty, 1, sizeof *c);
    if (!c) return NULL;
    *c = (struct axp__capture){.memory = empty.memory,
                               .own_cost = axp__own_cost_get()};
    if (fill(c, p, with_words)) return c;
    axp__cap_free(c);
    return NULL;
}

/* Of a profiler with a file the words that have left memory are in it: a chunk
 * is in one or in the other as long as the drain stands still. */
static struct axp__capture *make_with_trace(struct axp__prof *p)
{
    axp__drain_hold(p->tape);
    struct axp__capture *c = make(p, true);
    if (c) {
        c->trace = axp__tape_map(p, &c->trace_mapped, &c->trace_bytes);
        c->trace_epoch = (uint32_t)(axp__get(&p->gate) >> 8);
    }
    axp__drain_let_go(p->tape);
    return c;
}

struct axp__capture *axp__capture_of(struct axp__prof *p)
{
    return make(p, false);
}

void axp__capture_free(struct axp__capture *c)
{
    axp__cap_free(c);
}

/* Keeps what captures have of the process. */
static bool keep_about(void *ctx, const char *key, const char *value,
                       size_t len)
{
    struct axp__capture *c = ctx;
    struct axp__cap_about *a = &c->about;
    const char **to = !strcmp(key, "program")     ? &a->program
                      : !strcmp(key, "arguments") ? &a->arguments
                      : !strcmp(key, "host")      ? &a->host
                      : !strcmp(key, "cpu")       ? &a->cpu
                                                  : NULL;
    if (!strcmp(key, "memory.bytes"))
        a->memory_bytes = strtoull(value, NULL, 10);
    if (!strcmp(key, "cpus.allowed")) a->n_cpus = strtoull(value, NULL, 10);
    if (!to) return true;
    char *text = axp__cap_take(c, len + 1, 1);
    if (text) *to = memcpy(text, value, len);
    return text;
}

static void tell_about(struct axp__capture *c)
{
    struct axp__clock_pair now = axp__clock_pair_now();
    axp__cap_start_at(c, now.ticks, now.realtime_ns);
    axp__about_run(keep_about, c);
    axp__capture_modules(c);
}

struct axp__capture *axp__capture_take(axp_profiler *handle)
{
    int keep = errno;
    struct axp__thread *t = axp__thread_get();
    struct axp__prof *p = axp__prof_check(handle);
    struct axp__capture *c = NULL;
    if (!p || !t || axp__thread_is_inside(t)) {
        axp__fail(AXP_E_STATE, "this profiler is gone");
        return NULL;
    }
    axp__own_cost_get(); /* measured without the mutex */
    axp__thread_end_dead();
    axp__mutex_lock(&p->mutex);
    if (axp__prof_check(handle) == p) {
        axp__trash_empty(p);
        c = p->tape ? make_with_trace(p) : make(p, true);
        if (!(axp__get(&p->gate) & AXP__GATE_FINISHED))
            axp__lane_merge_many(p); /* others could not meanwhile */
    }
    axp__mutex_unlock(&p->mutex);
    if (c)
        tell_about(c);
    else
        axp__fail(AXP_E_NO_MEMORY, "no memory for a snapshot");
    errno = keep;
    return c;
}
