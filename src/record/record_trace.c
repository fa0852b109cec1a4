/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What goes into a trace; see record_trace.h. Its file is in
 * record_trace_name.c. */
#include "record/record_trace.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/os_about.h"
#include "os/os_map.h"
#include "record/record_lane.h"
#include "record/record_stacks.h"
#include "tally/tally_image.h"

static const struct axp__packing *packing;

void axp__trace_set_packing(const struct axp__packing *p)
{
    axp__put_release(&packing, p);
}

/* ---- about, names, rows --------------------------------------------------------------- */

static void about_text(struct axp__pen *pen, const char *key, const char *value)
{
    axp__pen_tell(pen, key, value, strlen(value));
}

static void about_number(struct axp__pen *pen, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    about_text(pen, key, text);
}

static bool keep_about(void *ctx, const char *key, const char *value,
                       size_t len)
{
    struct axp__kept_about *k = ctx;
    size_t n = axp__about_put(k->body + k->used, sizeof k->body - k->used, key,
                              (struct axp__slice){value, len});
    k->used += (uint32_t)n;
    k->n += n != 0;
    return n;
}

struct axp__kept_about *axp__trace_keep_about(void)
{
    struct axp__kept_about *k = axp__map_sparse(sizeof *k);
    if (!k) return NULL;
    axp__about_environment(keep_about, k);
    return k;
}

void axp__trace_drop_about(struct axp__kept_about *about)
{
    axp__unmap(about, sizeof *about);
}

static void put_begin(struct axp__trace *t, const struct axp__prof *p)
{
    struct axp__pen *pen = &t->pen;
    axp__pen_gather(pen, AXP__B_ABOUT, 0);
    about_text(pen, "title", p->title);
    about_text(pen, "id", t->id);
    about_text(pen, "spool", t->spool);
    about_number(pen, "clock.mult", axp__clock_rate().mult);
    about_number(pen, "own_cost_ticks", axp__own_cost_known().around_ticks);
    about_number(pen, "own_inside_ticks", axp__own_cost_known().inside_ticks);
    about_number(pen, "own_alloc_ticks", axp__own_cost_known().alloc_ticks);
    about_number(pen, "options.flags", p->flags);
    about_number(pen, "options.timeline_capacity", p->timeline_capacity);
    about_number(pen, "options.memory_bytes", p->budget.limit_bytes);
    about_number(pen, "options.spool_bytes",
                 p->pool.max_chunks * AXP__CHUNK_BYTES);
    about_number(pen, "options.file_limit", t->limit_bytes);
    about_number(pen, "process_id", t->head.process_id);
    about_number(pen, "parent_process_id", t->parent_id);
    axp__about_process(axp__pen_tell, pen);
    if (t->about)
        axp__pen_records(pen, t->about->n, t->about->body, t->about->used);
    axp__about_maps(axp__pen_tell, pen);
    axp__pen_flush(pen);
}

/* The maps again: libraries are loaded while a program runs. */
static bool put_end(struct axp__trace *t)
{
    struct axp__pen *pen = &t->pen;
    struct axp__clock_pair now = axp__clock_pair_now();
    axp__pen_gather(pen, AXP__B_ABOUT, 0);
    about_number(pen, "end.ticks", now.ticks);
    about_number(pen, "end.monotonic_ns", now.monotonic_ns);
    about_number(pen, "end.realtime_ns", now.realtime_ns);
    about_number(pen, "cut.file_limit", t->n_cut_events);
    axp__about_maps(axp__pen_tell, pen);
    return axp__pen_flush(pen);
}

static bool put_name(struct axp__trace *t, const struct axp__name *name)
{
    const char *file = axp__name_file(name);
    struct axp__name_record r = {.text = {name->text, name->len},
                                 .file = {file, file ? strlen(file) : 0},
                                 .line = file ? (uint32_t)name->line : 0,
                                 .flags = name->flags};
    return axp__pen_name(&t->pen, &r);
}

/* Again, those of the first n that got their place after they were written. */
static bool put_late(struct axp__trace *t, uint32_t n)
{
    for (uint32_t id = AXP__NAME_UNNAMED + 1; id < n; id++) {
        const struct axp__name *name = axp__name_ready(id);
        if (!name || !axp__name_file(name) || !axp__get(&name->is_late))
            continue;
        axp__pen_gather(&t->pen, AXP__B_NAMES, id);
        if (!put_name(t, name) || !axp__pen_flush(&t->pen)) return false;
    }
    return true;
}

/* Those that are not there yet, up to one that is still being written; at the
 * end nobody waits for those, which no event has. */
static bool put_names(struct axp__trace *t, bool is_end)
{
    static const struct axp__name none = {.text = ""};
    uint32_t n = axp__name_count();
    uint32_t id = t->n_names;
    if (is_end && !put_late(t, id)) return false;
    axp__pen_gather(&t->pen, AXP__B_NAMES, id);
    for (; id < n; id++) {
        const struct axp__name *name = axp__name_ready(id);
        if (!name && !is_end) break;
        if (!put_name(t, name ? name : &none)) return false;
    }
    if (!axp__pen_flush(&t->pen)) return false;
    t->n_names = id;
    return true;
}

static bool put_rows(struct axp__trace *t, struct axp__prof *p)
{
    struct axp__lane *l = axp__get_acquire(&p->lanes);
    axp__pen_gather(&t->pen, AXP__B_ROWS, 0);
    for (; l; l = axp__get(&l->next)) {
        /* Acquire: a lane with this row is not readable before it is whole. */
        uint32_t row = axp__get_acquire(&l->row);
        if (!axp__lane_is_readable(l) || axp__get(&l->row_in_file) == row)
            continue;
        struct axp__row_record r = {row, axp__get(&l->track),
                                    axp__get(&l->name), axp__get(&l->tid),
                                    axp__get(&l->first_ticks)};
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* with axp__lane_take's */
        if (axp__get(&l->row) != row) continue;  /* it changes hands */
        if (!axp__pen_row(&t->pen, &r)) return false;
        axp__put(&l->row_in_file, row);
    }
    return axp__pen_flush(&t->pen);
}

/* ---- the timeline ------------------------------------------------------------------------- */

static bool is_before(const struct axp__chunk *a, const struct axp__chunk *b)
{
    return a->row != b->row ? a->row < b->row : a->seq < b->seq;
}

/* Shell's, for some hundred; qsort may call malloc, which may be what is
 * being profiled. */
static void sort_chunks(struct axp__chunk **c, size_t n)
{
    static const size_t gaps[] = {132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t i = gaps[g]; i < n; i++) {
            struct axp__chunk *x = c[i];
            size_t k = i;
            for (; k >= gaps[g] && is_before(x, c[k - gaps[g]]); k -= gaps[g])
                c[k] = c[k - gaps[g]];
            c[k] = x;
        }
}

/* So many from the first on can stand in one block. */
static size_t run_of(struct axp__chunk **chunks, size_t n)
{
    size_t k = 1;
    assert(n && (n < 2 || !is_before(chunks[1], chunks[0]))); /* sorted */
    while (k < n && k < AXP__PACK_CHUNKS && chunks[k]->row == chunks[0]->row &&
           chunks[k]->seq == chunks[0]->seq + k)
        k++;
    return k;
}

/* It is not in its place while it changes or goes: the child of a fork keeps
 * one that it finds there, and forgets one that somebody was inside. */
static void *take_packer(struct axp__trace *t)
{
    void *packer = t->packer;
    assert(!packer || packing);
    axp__put(&t->packer, NULL);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return packer;
}

/* Into the pen's body. 0: it does not fit, or cannot be packed. */
static size_t pack_run(struct axp__trace *t,
                       const struct axp__chunk *const *chunks, size_t n)
{
    void *packer = take_packer(t);
    size_t bytes =
        packer ? packing->pack(packer, chunks, n, t->pen.body, AXP__PEN_BODY)
               : 0;
    axp__put_release(&t->packer, packer);
    return bytes;
}

/* So many from the first on are written as they are: all in haste, else those that
 * are too short to be packed. */
static size_t raw_of(const struct axp__trace *t, struct axp__chunk **chunks,
                     size_t n)
{
    size_t k = 0;
    if (n > AXP__PACK_CHUNKS) n = AXP__PACK_CHUNKS;
    while (k < n && (t->is_hasty || (axp__chunk_is_tiny(chunks[k]) &&
                                     run_of(chunks + k, n - k) == 1)))
        k++;
    return k;
}

/* How many of them are written. */
static size_t put_run(struct axp__trace *t, struct axp__chunk **chunks,
                      size_t n, bool is_raw)
{
    const struct axp__chunk *const *run =
        (const struct axp__chunk *const *)chunks;
    return axp__pen_chunks(&t->pen, run, n, is_raw ? 0 : pack_run(t, run, n));
}

/* ---- the limit ------------------------------------------------------------------------------ */

static bool copy_range(struct axp__pen *from, struct axp__pen *to, uint64_t at,
                       uint64_t bytes)
{
    char buffer[4096];
    while (bytes) {
        size_t n = bytes < sizeof buffer ? (size_t)bytes : sizeof buffer;
        if (!axp__pen_read(from, at, buffer, n) ||
            !axp__pen_write(to, to->end, buffer, n))
            return false;
        at += n;
        bytes -= n;
        to->end += n;
    }
    return true;
}

static bool next_block(struct axp__pen *pen, uint64_t at, struct axp__block *b)
{
    uint8_t head[AXP__BLOCK_HEAD];
    return at < pen->end && axp__pen_read(pen, at, head, sizeof head) &&
           axp__block_get(head, b) == AXP__BLOCK_OK &&
           at + axp__block_span(b) <= pen->end;
}

/* Copies all blocks but those of the timeline that end before `from`. */
static bool copy_newer(struct axp__trace *old, struct axp__trace *fresh,
                       uint64_t from)
{
    struct axp__block b;
    for (uint64_t at = AXP__FILE_HEAD; next_block(&old->pen, at, &b);
         at += axp__block_span(&b)) {
        if ((axp__block_is_timeline(&b) || b.kind == AXP__B_SAMPLES) &&
            at < from)
            fresh->n_cut_events += b.n_events;
        else if (!copy_range(&old->pen, &fresh->pen, at, axp__block_span(&b)))
            return false;
    }
    return true;
}

bool axp__trace_forget(struct axp__trace *t, uint64_t from)
{
    struct axp__trace fresh;
    return axp__trace_make_fresh(t, &fresh) &&
           axp__trace_take_over(
               t, &fresh,
               copy_range(&t->pen, &fresh.pen, 0, AXP__FILE_HEAD) &&
                   copy_newer(t, &fresh, from));
}

bool axp__trace_news(struct axp__trace *t, struct axp__prof *p, bool is_end)
{
    return !t->pen.error && put_names(t, is_end) && put_rows(t, p) &&
           axp__trace_stacks(t, p);
}

size_t axp__trace_chunks(struct axp__trace *t, struct axp__chunk **chunks,
                         size_t n)
{
    if (t->pen.error) return 0;
    sort_chunks(chunks, n);
    for (size_t i = 0, k; i < n; i += k) {
        size_t n_raw = raw_of(t, chunks + i, n - i);
        k = n_raw ? n_raw : run_of(chunks + i, n - i);
        size_t done = put_run(t, chunks + i, k, n_raw);
        if (done < k) return i + done;
        if (t->limit_bytes && t->pen.end > t->limit_bytes &&
            !axp__trace_forget(t, t->pen.end - t->limit_bytes / 2)) {
            t->limit_bytes = 0; /* it was tried: rather too long than none */
        }
    }
    return n;
}

/* ---- beginning and end ------------------------------------------------------------------------- */

static bool has_body(struct axp__trace *t)
{
    if (!t->pen.body) t->pen.body = axp__map(AXP__PEN_BODY);
    if (!t->pen.body) t->pen.error = ENOMEM;
    return !t->pen.error;
}

bool axp__trace_prepare(struct axp__trace *t)
{
    const struct axp__packing *how = axp__get_acquire(&packing);
    if (how && !t->packer) axp__put_release(&t->packer, how->open());
    return has_body(t);
}

static void begin(struct axp__trace *t, const struct axp__prof *p)
{
    if (!has_body(t)) return;
    t->pen.end = AXP__FILE_HEAD;
    t->n_names = t->n_stacks = t->maps_crc = 0;
    if (axp__pen_head(&t->pen, &t->head)) put_begin(t, p);
}

int axp__trace_draft(struct axp__trace *t, const struct axp__prof *p)
{
    int error = axp__trace_make_draft(t);
    if (error) return error;
    begin(t, p);
    if (t->pen.error) axp__trace_drop_draft(t);
    return t->pen.error;
}

void axp__trace_restart(struct axp__trace *t, struct axp__prof *p)
{
    struct axp__trace fresh;
    if (t->pen.error) return;
    /* Views have the old file mapped, and do not change. */
    if ((!axp__trace_make_fresh(t, &fresh) ||
         !axp__trace_take_over(t, &fresh, true)) &&
        ftruncate(t->pen.fd, 0))
        t->pen.error = errno;
    t->head.start_ticks = p->start_ticks;
    t->n_cut_events = 0;
    begin(t, p);
}

bool axp__trace_finish(struct axp__trace *t, struct axp__prof *p,
                       const struct axp__capture *c)
{
    struct axp__block state = {.kind = AXP__B_STATE,
                               .epoch = (uint32_t)(axp__get(&p->gate) >> 8)};
    if (!axp__trace_news(t, p, true) || !put_end(t)) return false;
    axp__pen_long_begin(&t->pen);
    return axp__image_write(c, axp__pen_long_more, &t->pen) &&
           axp__pen_long_end(&t->pen, &state) && axp__pen_finish(&t->pen);
}

void axp__trace_give_up(struct axp__trace *t)
{
    axp__unmap(t->pen.body, AXP__PEN_BODY);
    t->pen.body = NULL;
    axp__trace_rest(t);
}

void axp__trace_close(struct axp__trace *t)
{
    void *packer = take_packer(t);
    if (packer) packing->close(packer);
    axp__trace_give_up(t);
}
