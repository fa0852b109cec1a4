/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Words of a lane: into its chunk, or where there is none into the sink. See
 * record_lane.h. */
#include "record/record_lane.h"

#include <assert.h>

#include "record/record_window.h"

void axp__lane_to_sink(struct axp__lane *lane)
{
    axp__put(&lane->chunk, NULL);
    axp__put(&lane->words, lane->sink);
    axp__put(&lane->cur, lane->sink);
    lane->end = lane->sink + AXP__SINK_WORDS;
    axp__put(&lane->n_extra, 0);
}

/* How many words there are. None in one whose thread was about to have others when
 * a handler left by siglongjmp: some of what says where they are is the old. */
static uint64_t count_words(const struct axp__lane *lane)
{
    const uint64_t *words = lane->chunk ? lane->chunk->words : lane->sink;
    uint64_t most = lane->chunk ? AXP__CHUNK_WORDS : AXP__SINK_WORDS;
    uint64_t n = (uint64_t)(lane->cur - words);
    return lane->words == words && n <= most && lane->n_extra <= n ? n : 0;
}

void axp__lane_seal(struct axp__lane *lane)
{
    uint64_t n_words = count_words(lane);
    uint64_t n = n_words ? n_words - lane->n_extra : 0;
    if (lane->chunk) {
        struct axp__chunk *chunk = lane->chunk;
        axp__put(&lane->n_logged, lane->n_logged + n);
        axp__lane_to_sink(lane);
        axp__pool_seal(&lane->p->pool, chunk, n_words, n);
    } else {
        axp__put(&lane->n_unlogged, lane->n_unlogged + n);
        axp__lane_to_sink(lane);
    }
}

static void new_chunk(struct axp__lane *lane, uint64_t now)
{
    struct axp__prof *p = lane->p;
    if (axp__window_is(p, AXP__WINDOW_INSIDE)) axp__window_look(p);
    axp__lane_seal(lane);
    lane->base_ticks = now;
    if (p->flags & AXP_NO_TIMELINE) return;
    struct axp__chunk *chunk = axp__pool_take(&p->pool);
    if (!chunk) return;
    axp__put(&chunk->base_ticks, now);
    axp__put(&chunk->row, lane->row);
    axp__put(&chunk->epoch, (uint32_t)lane->epoch);
    axp__put(&lane->n_chunks, lane->n_chunks + 1);
    axp__put_release(&chunk->seq, lane->n_chunks);
    axp__put(&lane->chunk, chunk);
    axp__put(&lane->words, chunk->words);
    axp__put(&lane->cur, chunk->words);
    lane->end = chunk->words + AXP__CHUNK_WORDS;
}

uint64_t axp__lane_make_room(struct axp__lane *lane, uint64_t now, unsigned n)
{
    if (now < lane->base_ticks) {
        /* Or a handler has recorded since the caller read the clock. */
        if (axp__clock_ticks() < lane->base_ticks)
            axp__warn(lane->p, AXP__WARN_CLOCK_BACK, 0);
        now = lane->last_ticks > lane->base_ticks ? lane->last_ticks
                                                  : lane->base_ticks;
    }
    if (!axp__get(&lane->first_ticks)) {
        axp__put(&lane->first_ticks, now);
        new_chunk(lane, now);
    }
    if ((now - lane->base_ticks) >> AXP__TIME_BITS) {
        if (lane->end - lane->cur >= 2) {
            axp__put(&lane->cur[2], 0);
            axp__put(&lane->cur[1], now);
            axp__put(&lane->cur[0], axp__word(AXP__W_TIME, 0, 0));
            axp__put(&lane->cur, lane->cur + 2);
            axp__put(&lane->n_extra, lane->n_extra + 2);
        } else {
            new_chunk(lane, now);
        }
        lane->base_ticks = now;
    }
    assert(!((now - lane->base_ticks) >> AXP__TIME_BITS));
    if ((uint64_t)(lane->end - lane->cur) < n) new_chunk(lane, now);
    if (axp__get(&lane->go)) axp__put(&lane->lim, lane->end);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as in admit */
    if (!axp__get(&lane->go)) axp__put(&lane->lim, NULL);
    return now;
}

static void put_record(struct axp__lane *lane, uint64_t head,
                       const uint64_t *first, const uint64_t *payload,
                       unsigned n_payload, unsigned n_events)
{
    unsigned n_first = first ? 1 : 0, n = 1 + n_first + n_payload;
    uint64_t *w = lane->cur;
    assert(n_events <= n && w >= lane->words && w <= lane->end);
    if ((uint64_t)(lane->end - w) < n) { /* larger than the sink */
        axp__put(&lane->n_unlogged, lane->n_unlogged + n_events);
        return;
    }
    if (first) axp__put(&w[1], *first);
    for (unsigned i = 0; i < n_payload; i++)
        axp__put(&w[1 + n_first + i], payload[i]);
    axp__put(&w[n], 0);
    axp__put(&w[0], head);
    axp__put(&lane->n_extra, lane->n_extra + n - n_events);
    axp__put(&lane->cur, w + n);
}

void axp__lane_put_payload(struct axp__lane *lane, enum axp__word_kind kind,
                           uint32_t name, uint64_t now, const uint64_t *payload,
                           unsigned n_payload)
{
    now = axp__lane_room(lane, now, 1 + n_payload);
    put_record(lane, axp__word(kind, name, now - lane->base_ticks), NULL,
               payload, n_payload, axp__word_events(kind, 0));
}

void axp__lane_put_ext(struct axp__lane *lane, enum axp__ext_kind kind,
                       uint32_t argument, uint32_t name, uint64_t now,
                       const uint64_t *payload, unsigned n_payload)
{
    uint64_t first = axp__ext_word(kind, 1 + n_payload, argument);
    now = axp__lane_room(lane, now, 2 + n_payload);
    put_record(lane, axp__word(AXP__W_EXT, name, now - lane->base_ticks),
               &first, payload, n_payload, axp__word_events(AXP__W_EXT, kind));
}

void axp__lane_put_with_stack(struct axp__lane *lane, uint32_t stack,
                              uint32_t name, uint64_t now, uint64_t bytes,
                              uint64_t address)
{
    uint64_t first = axp__ext_word(AXP__X_STACK_REF, 1, stack);
    now = axp__lane_room(lane, now, 5);
    uint64_t delta = now - lane->base_ticks;
    uint64_t alloc[3] = {axp__word(AXP__W_ALLOC, name, delta), bytes, address};
    put_record(lane, axp__word(AXP__W_EXT, name, delta), &first, alloc, 3,
               axp__word_events(AXP__W_ALLOC, 0));
}

void axp__lane_warn_name(struct axp__lane *lane, uint32_t id)
{
    axp__warn(lane->p,
              id == AXP__NAME_OTHER ? AXP__WARN_NAMES_FULL : AXP__WARN_BAD_NAME,
              id);
}
