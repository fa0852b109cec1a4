/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The lines of a Chrome trace: a process id and a thread id each, which tracks,
 * lanes and steps have no real ones for; see emit_chrome.h. */
#include "emit/emit_chrome.h"

#include <stdlib.h>

#include "emit/emit_json_out.h"

#define OUR_TIDS 2000000000u /* past any thread's */

void axp__chrome_set_place(struct axp__chrome_place *p, uint64_t pid,
                           uint64_t tid)
{
    char *at = AXP__PUT_TEXT(p->text, "\"pid\":");
    at = axp__print_u64(at, pid);
    at = AXP__PUT_TEXT(at, ",\"tid\":");
    at = axp__print_u64(at, tid);
    at = AXP__PUT_TEXT(at, ",\"ts\":");
    p->len = (uint32_t)(at - p->text);
}

/* Metadata of a line, up to its one argument. */
static struct axp__json begin_meta(struct axp__chrome *c,
                                   const struct axp__chrome_place *p,
                                   const char *what)
{
    struct axp__json j = {.o = c->o};
    axp__json_begin(&j, '{');
    axp__json_text(&j, "ph", "M");
    axp__json_text(&j, "name", what);
    axp__json_next(&j);
    axp__out_bytes(c->o, p->text, p->len);
    axp__out_char(c->o, '0');
    axp__json_object(&j, "args");
    return j;
}

static void put_text(struct axp__chrome *c, const struct axp__chrome_place *p,
                     const char *what, const char *key, const char *text)
{
    struct axp__json j = begin_meta(c, p, what);
    axp__json_text(&j, key, text);
    axp__out_text(c->o, "}},\n");
}

static void put_order(struct axp__chrome *c, const struct axp__chrome_place *p,
                      const char *what, uint32_t order)
{
    struct axp__json j = begin_meta(c, p, what);
    axp__json_u64(&j, "sort_index", order);
    axp__out_text(c->o, "}},\n");
}

static void put_line(struct axp__chrome *c, const struct axp__chrome_place *p,
                     const char *name, const char *more, uint32_t order)
{
    char text[300];
    snprintf(text, sizeof text, "%.256s%s", name, more);
    put_text(c, p, "thread_name", "name", text);
    put_order(c, p, "thread_sort_index", order);
}

static void put_process(struct axp__chrome *c, uint32_t i, uint32_t order)
{
    const struct axp__stream_row *row = axp__stream_row(c->s, i);
    struct axp__chrome_place p;
    char rank[24];
    axp__chrome_set_place(&p, axp__live_pid(&c->live, i),
                          axp__live_pid(&c->live, i));
    snprintf(rank, sizeof rank, "rank %d", (int)row->rank);
    put_text(c, &p, "process_name", "name", row->title);
    if (row->rank >= 0) put_text(c, &p, "process_labels", "labels", rank);
    put_order(c, &p, "process_sort_index", order);
}

/* A thread keeps its id, unless another line of its process has it. */
static uint64_t choose_tid(struct axp__chrome *c, uint32_t i)
{
    const struct axp__stream_row *row = axp__stream_row(c->s, i);
    if (row->track || !row->thread_id) return c->next_tid++;
    for (uint32_t k = 0; k < i; k++) {
        const struct axp__stream_row *other = axp__stream_row(c->s, k);
        if (!other->track && other->thread_id == row->thread_id &&
            other->process == row->process)
            return c->next_tid++;
    }
    return row->thread_id;
}

void axp__chrome_put_lines(struct axp__chrome *c)
{
    uint32_t n_processes = 0;
    c->next_tid = OUR_TIDS;
    for (uint32_t i = 0; i < axp__stream_n_rows(c->s); i++) {
        const struct axp__stream_row *row = axp__stream_row(c->s, i);
        struct axp__chrome_row *r = &c->rows[i];
        if (axp__live_process(&c->live, i) == n_processes)
            put_process(c, i, n_processes++);
        axp__chrome_set_place(&r->place, axp__live_pid(&c->live, i),
                              choose_tid(c, i));
        r->tie.at = UINT64_MAX;
        put_line(c, &r->place, *row->name ? row->name : "thread", "",
                 row->track ? 1000 + i : i);
    }
}

const struct axp__chrome_place *axp__chrome_lane_place(struct axp__chrome *c,
                                                       uint32_t i,
                                                       uint32_t lane)
{
    struct axp__chrome_row *r = &c->rows[i];
    const struct axp__stream_row *row = axp__stream_row(c->s, i);
    if (!lane) return &r->place;
    while (r->n_lanes < lane) {
        struct axp__chrome_place *wider =
            realloc(r->lanes, (r->n_lanes + 1) * sizeof *wider);
        if (!wider) {
            c->has_failed = true;
            return &r->place;
        }
        char more[24];
        r->lanes = wider;
        axp__chrome_set_place(&wider[r->n_lanes], axp__live_pid(&c->live, i),
                              c->next_tid++);
        snprintf(more, sizeof more, " (%u)", r->n_lanes + 2);
        put_line(c, &wider[r->n_lanes], row->name, more, 1000 + i);
        r->n_lanes++;
    }
    return &r->lanes[lane - 1];
}

const struct axp__chrome_place *axp__chrome_step_place(struct axp__chrome *c,
                                                       uint32_t row)
{
    struct axp__chrome_place *p = &c->steps[axp__live_process(&c->live, row)];
    if (!p->len) {
        axp__chrome_set_place(p, axp__live_pid(&c->live, row), c->next_tid++);
        put_line(c, p, "steps", "", 0);
    }
    return p;
}
