/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A track being filled: the events that are open, and what becomes of those
 * that are too short.
 *
 * Where there are more events than the budget allows, those shorter than
 * keep_ns are merged. Whether a scope is shows when it ends. Everything in it
 * is shorter still and was merged before, so it stands at the very end of what
 * was written: it is taken back, and the block before it, if its neighbour is
 * one, grows; else it becomes a block itself.
 *
 *   |-------- kept --------|          |-------- kept --------|
 *     |a| |b|   |kept| |c|      ─►      |2, a+b| |kept| |1, c|
 *
 * So there are at most two blocks for each event that is kept (one in it, one
 * after it) and one for each track: keeping a third of the budget is always
 * enough.
 */
#include "emit/emit_html.h"

static struct axp__html_frame *add_frame(struct axp__html_stack *s)
{
    struct axp__html_frame *wider =
        axp__html_grow(s->frames, s->n, &s->cap, sizeof *wider);
    if (!wider) return NULL;
    s->frames = wider;
    return &s->frames[s->n++];
}

bool axp__html_stack_begin(struct axp__html_stack *s)
{
    s->n = 0;
    struct axp__html_frame *f = add_frame(s);
    if (f)
        *f = (struct axp__html_frame){.event = AXP__HTML_NONE,
                                      .block = AXP__HTML_NONE};
    return f != NULL;
}

bool axp__html_push(struct axp__html_job *job, struct axp__html_stack *s,
                    const struct axp__html_span *span)
{
    struct axp__html_frame *f = add_frame(s);
    if (!f) return false;
    *f = (struct axp__html_frame){
        axp__html_open(&job->events, span->begin, span->name), span->begin,
        span->end, AXP__HTML_NONE, span->args};
    if (span->flow)
        axp__html_flow(
            &job->tables,
            (struct axp__html_flow){span->flow, f->event, span->begin, true});
    return true;
}

/* ---- merging ----------------------------------------------------------------------- */

static void add_block(struct axp__html_events *e, struct axp__html_block block)
{
    void *wider = axp__html_grow(e->blocks, e->n_blocks, &e->blocks_cap,
                                 sizeof *e->blocks);
    if (!wider) {
        e->has_failed = true;
        return;
    }
    e->blocks = wider;
    e->blocks[e->n_blocks++] = block;
}

/* The event of a frame that has ended becomes part of a block. */
static void merge(struct axp__html_job *job, struct axp__html_frame *parent,
                  const struct axp__html_frame *frame, axp_ns end)
{
    struct axp__html_events *e = &job->events;
    struct axp__html_block block = {0, 1, end - frame->begin};
    while (e->n_blocks && e->blocks[e->n_blocks - 1].event > frame->event)
        block.count += e->blocks[--e->n_blocks].count;
    struct axp__html_block *last =
        e->n_blocks ? &e->blocks[e->n_blocks - 1] : NULL;
    axp__html_forget(e, frame->event);
    axp__html_wakers_forget(&job->tables, frame->event);
    job->n_merged++;
    if (last && last->event == parent->block &&
        axp__html_extend(e, last->event, end)) {
        last->count += block.count;
        last->sum_ns += block.sum_ns;
    } else {
        uint32_t name = axp__html_string(&job->strings, "(merged)");
        block.event = axp__html_open(e, frame->begin, name);
        axp__html_close(e, block.event, end, 0);
        parent->block = block.event;
        add_block(e, block);
    }
    axp__html_flows_move(&job->tables, parent->block);
}

static void count_length(struct axp__html_job *job, axp_ns length)
{
    job->lengths[axp__html_length_class(length)]++;
}

void axp__html_pop(struct axp__html_job *job, struct axp__html_stack *s,
                   axp_ns end, uint32_t args)
{
    struct axp__html_frame *frame = &s->frames[--s->n];
    struct axp__html_frame *parent = frame - 1;
    if (end < frame->begin) end = frame->begin;
    job->n_slices++;
    if (job->lengths) count_length(job, end - frame->begin);
    if (end - frame->begin < job->keep_ns) {
        merge(job, parent, frame, end);
        return;
    }
    axp__html_close(&job->events, frame->event, end, args);
    parent->block = AXP__HTML_NONE;
}

/* ---- spans ---------------------------------------------------------------------------- */

int axp__html_place(struct axp__html_job *job, struct axp__html_stack *s,
                    const struct axp__html_span *span)
{
    while (s->n > 1 && s->frames[s->n - 1].end <= span->begin)
        axp__html_pop(job, s, s->frames[s->n - 1].end,
                      s->frames[s->n - 1].args);
    if (s->n > 1 && s->frames[s->n - 1].end < span->end) return 0;
    return axp__html_push(job, s, span) ? 1 : -1;
}

void axp__html_pop_all(struct axp__html_job *job, struct axp__html_stack *s)
{
    while (s->n > 1)
        axp__html_pop(job, s, s->frames[s->n - 1].end,
                      s->frames[s->n - 1].args);
}
