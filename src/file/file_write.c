/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What goes into a finished file; see file_write.h. */
#include "file/file_write.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file/file_pack.h"
#include "file/file_samples.h"
#include "file/file_spans.h"
#include "file/file_stacks.h"
#include "file/file_states.h"
#include "record/record_thread.h"
#include "tally/tally_image.h"
#include "wire/wire_decode.h"
#include "wire/wire_pen.h"

struct axp__writer {
    const struct axp__to_write *what;
    char *path, *name; /* that is wanted; while it is being written */
    struct axp__pen pen;
    bool is_out_of_memory;
    struct axp__packer *packer;
    struct axp__chunk
        *chunk; /* AXP__PACK_CHUNKS, of one row, by seq; or tiny */
    size_t n_chunks;
};

/* ---- texts, names, rows --------------------------------------------------------------- */

static bool put_about(struct axp__writer *w)
{
    const struct axp__about *a = w->what->about;
    const char *title = w->what->capture->title;
    axp__pen_gather(&w->pen, AXP__B_ABOUT, 0);
    if (!a || !axp__about_text(a, "title"))
        axp__pen_about(&w->pen, "title",
                       (struct axp__slice){title, strlen(title)});
    for (size_t i = 0; a && i < a->n; i++)
        axp__pen_about(&w->pen, a->pair[i].key,
                       (struct axp__slice){a->pair[i].value, a->pair[i].len});
    return axp__pen_flush(&w->pen);
}

static bool put_names(struct axp__writer *w)
{
    const struct axp__capture *c = w->what->capture;
    axp__pen_gather(&w->pen, AXP__B_NAMES, 0);
    for (uint32_t id = 0; id < c->n_names; id++) {
        struct axp__cap_name name = c->name_at(c, id);
        struct axp__name_record r = {
            .text = {name.text, strlen(name.text)},
            .file = {name.file, name.file ? strlen(name.file) : 0},
            .line = (uint32_t)name.line,
            .flags = name.flags};
        if (!axp__pen_name(&w->pen, &r)) return false;
    }
    return axp__pen_flush(&w->pen);
}

static bool put_rows(struct axp__writer *w)
{
    const struct axp__capture *c = w->what->capture;
    axp__pen_gather(&w->pen, AXP__B_ROWS, 0);
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct axp__cap_row *row = &c->rows[i];
        struct axp__row_record r = {row->id, row->track, row->name, row->tid,
                                    row->first};
        if (!axp__pen_row(&w->pen, &r)) return false;
    }
    return axp__pen_flush(&w->pen);
}

/* ---- the timeline ------------------------------------------------------------------------ */

static bool is_next(const struct axp__chunk *last, uint32_t row, uint64_t seq)
{
    return last->row == row && last->seq + 1 == seq;
}

/* Whether what was gathered is of one row, one after the other. */
static bool is_run(const struct axp__writer *w)
{
    const struct axp__chunk *last = w->chunk + w->n_chunks - 1;
    return w->n_chunks < 2 || is_next(last - 1, last->row, last->seq);
}

/* Whether one more can stand beside them: the next of their row, or a tiny one
 * beside others. */
static bool fits(const struct axp__writer *w, uint32_t row, uint64_t seq,
                 size_t n_words)
{
    if (!w->n_chunks || w->n_chunks == AXP__PACK_CHUNKS) return !w->n_chunks;
    const struct axp__chunk *last = &w->chunk[w->n_chunks - 1];
    bool goes_on = is_next(last, row, seq);
    bool is_tiny = axp__chunk_is_tiny(last) && n_words <= AXP__TINY_WORDS;
    if (!is_run(w)) return is_tiny && !goes_on;
    return goes_on || (is_tiny && w->n_chunks == 1);
}

/* Writes what was gathered. */
static bool put_chunks(struct axp__writer *w)
{
    const struct axp__chunk *list[AXP__PACK_CHUNKS];
    size_t n = w->n_chunks, bytes = 0;
    bool is_one_run = is_run(w);
    w->n_chunks = 0;
    if (!n) return true;
    for (size_t i = 0; i < n; i++)
        list[i] = &w->chunk[i];
    if (!w->what->is_raw && is_one_run)
        bytes =
            axp__packer_pack(w->packer, list, n, w->pen.body, AXP__PEN_BODY);
    return axp__pen_chunks(&w->pen, list, n, bytes) == n;
}

/* Whole records from the beginning; how many events they are, and when the
 * last was. */
static uint64_t count_events(const uint64_t *words, size_t *n_words,
                             uint64_t base_ticks, uint64_t *last_ticks)
{
    struct axp__decoder d;
    struct axp__wire_event e;
    uint64_t n = 0, whole = 0;
    axp__decoder_init(&d, words, *n_words, base_ticks);
    while (axp__decoder_next(&d, &e)) {
        n += axp__word_events(
            e.kind, e.kind == AXP__W_EXT ? e.ext : (enum axp__ext_kind)0);
        whole = d.at;
        *last_ticks = e.ticks;
    }
    *n_words = (size_t)whole;
    return n;
}

/* Is it older than what is wanted? Tracks have a time of their own. */
static bool is_old(const struct axp__writer *w, uint32_t row,
                   uint64_t last_ticks)
{
    const struct axp__capture *c = w->what->capture;
    if (last_ticks >= w->what->from_ticks) return false;
    for (size_t i = 0; i < c->n_rows; i++)
        if (c->rows[i].id == row) return !c->rows[i].track;
    return true;
}

/* Gathers one chunk of words. */
static bool gather(struct axp__writer *w, const struct axp__cap_chunk *of,
                   const struct axp__unpacked_chunk *from,
                   const uint64_t *words)
{
    size_t n = from->n_words;
    uint64_t last_ticks = from->base_ticks;
    uint64_t n_events = count_events(words, &n, from->base_ticks, &last_ticks);
    if (!fits(w, of->row, from->seq, n) && !put_chunks(w)) return false;
    if (!n || is_old(w, of->row, last_ticks)) return true;
    assert(w->n_chunks < AXP__PACK_CHUNKS && n <= AXP__CHUNK_WORDS);
    struct axp__chunk *c = &w->chunk[w->n_chunks++];
    c->seq = from->seq; /* NOLINT: begin() has made the chunks */
    c->base_ticks = from->base_ticks;
    c->row = of->row;
    c->epoch = w->what->epoch;
    c->n_words = n;
    c->n_events = n_events;
    memcpy(c->words, words, n * 8);
    return true;
}

/* Whether a block can be copied: what a drain packed under load is as well
 * packed as it would be here, which is 20 times faster to leave. */
static bool is_well_packed(const struct axp__writer *w,
                           const struct axp__block *b)
{
    return b->n >= AXP__PACK_CHUNKS / 16 && b->epoch == w->what->epoch &&
           b->base_ticks >= w->what->from_ticks && !w->what->is_raw;
}

/* What cannot be read is left out, and its source knows. */
static bool leave_out(const struct axp__cap_chunk *k)
{
    axp__source_failed(k->source);
    return true;
}

/* One chunk of words, which has this seq. */
static bool gather_words(struct axp__writer *w, const struct axp__cap_chunk *k,
                         uint32_t part, uint64_t seq)
{
    struct axp__cap_words words;
    if (!axp__words_load(k, part, &words)) return true;
    struct axp__unpacked_chunk one = {seq, words.base_ticks, 0, words.n_words,
                                      0};
    bool ok =
        words.n_words > AXP__CHUNK_WORDS || gather(w, k, &one, words.words);
    axp__words_unload(&words);
    return ok;
}

/* A block of packed chunks; false as below. */
static bool gather_pack(struct axp__writer *w, const struct axp__cap_chunk *k,
                        struct axp__block *b, uint8_t *body)
{
    struct axp__unpacked u;
    bool ok = true;
    if (is_well_packed(w, b))
        return put_chunks(w) && axp__pen_block(&w->pen, b, body, b->body_bytes);
    if (axp__file_unpack(b, body, &u) == AXP__UNPACK_OK)
        for (size_t i = 0; ok && i < u.n_chunks; i++)
            ok = gather(w, k, &u.chunk[i], u.words + u.chunk[i].first);
    else
        leave_out(k);
    axp__unpacked_fini(&u);
    return ok;
}

/* A block of a file may be several chunks. False: no memory, or writing
 * failed. */
static bool gather_part(struct axp__writer *w, const struct axp__cap_chunk *k,
                        uint32_t part)
{
    struct axp__index_entry e;
    if (!axp__file_of(k)) return gather_words(w, k, part, k->seq);
    if (!axp__file_part(k, part, &e)) return leave_out(k);
    if (e.block.kind != AXP__B_PACK)
        return gather_words(w, k, part, e.block.seq);
    axp_status status;
    uint8_t *body = axp__file_body(axp__file_of(k), &e, &status);
    if (!body) return status != AXP_E_NO_MEMORY && leave_out(k);
    bool ok = gather_pack(w, k, &e.block, body);
    free(body);
    return ok;
}

static int by_row_and_seq(const void *a, const void *b)
{
    const struct axp__cap_chunk *x = *(const struct axp__cap_chunk *const *)a;
    const struct axp__cap_chunk *y = *(const struct axp__cap_chunk *const *)b;
    if (x->row != y->row) return x->row > y->row ? 1 : -1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static bool put_timeline(struct axp__writer *w)
{
    const struct axp__capture *c = w->what->capture;
    const struct axp__cap_chunk **list =
        malloc((c->n_chunks + 1) * sizeof(struct axp__cap_chunk *));
    bool ok = list;
    if (!list) w->is_out_of_memory = true;
    for (size_t i = 0; ok && i < c->n_chunks; i++)
        list[i] = &c->chunks[i];
    if (ok) qsort(list, c->n_chunks, sizeof *list, by_row_and_seq);
    for (size_t i = 0; ok && i < c->n_chunks; i++)
        for (uint32_t part = 0; ok && part <= list[i]->n_more; part++)
            ok = gather_part(w, list[i], part);
    free(list);
    return ok && put_chunks(w);
}

/* ---- accumulators, index ---------------------------------------------------------------------- */

static uint64_t count_left_out(const struct axp__capture *c)
{
    uint64_t n = 0;
    for (const struct axp__cap_source *s = c->sources; s; s = s->next)
        n += axp__get(&s->n_failed);
    return n;
}

/* With a word on what was left out before. */
static bool put_state(struct axp__writer *w)
{
    struct axp__block b = {.kind = AXP__B_STATE, .epoch = w->what->epoch};
    struct axp__capture c = *w->what->capture;
    struct axp__cap_warning *all = malloc((c.n_warnings + 1) * sizeof *all);
    if (!all) return false;
    if (c.n_warnings) memcpy(all, c.warnings, c.n_warnings * sizeof *all);
    all[c.n_warnings] =
        (struct axp__cap_warning){AXP__CODE_DAMAGED, AXP__TEXT_DAMAGED,
                                  count_left_out(w->what->capture), 0};
    c.n_warnings += all[c.n_warnings].count > 0;
    c.warnings = all;
    axp__pen_long_begin(&w->pen);
    bool ok = axp__image_write(&c, axp__pen_long_more, &w->pen) &&
              axp__pen_long_end(&w->pen, &b);
    free(all);
    return ok;
}

static bool put_all(struct axp__writer *w)
{
    w->pen.end = AXP__FILE_HEAD;
    return axp__pen_head(&w->pen, w->what->head) && put_about(w) &&
           put_names(w) && put_rows(w) &&
           axp__file_stacks_write(&w->pen, w->what->capture) &&
           put_timeline(w) &&
           axp__file_samples_write(&w->pen, w->what->capture) &&
           axp__file_states_write(&w->pen, w->what->capture) &&
           (w->what->is_stateless || put_state(w)) && axp__pen_finish(&w->pen);
}

/* ---- the file ------------------------------------------------------------------------------------ */

/* Gives the file its name. */
static bool take_name(struct axp__writer *w, bool may_replace)
{
    if (fsync(w->pen.fd) && errno != EINVAL && errno != EROFS) {
        w->pen.error = errno;
        return false;
    }
    if (may_replace ? !rename(w->name, w->path) : !link(w->name, w->path)) {
        if (!may_replace) (void)unlink(w->name);
        return true;
    }
    w->pen.error = errno;
    return false;
}

struct axp__writer *axp__writer_open(const char *path)
{
    struct axp__writer *w = calloc(1, sizeof *w);
    size_t len = strlen(path) + 16;
    if (!w) {
        axp__fail(AXP_E_NO_MEMORY, "no memory to write %s", path);
        return NULL;
    }
    w->pen.fd = -1;
    w->path = strdup(path);
    w->name = malloc(len);
    w->pen.body = malloc(AXP__PEN_BODY);
    w->chunk = malloc(AXP__PACK_CHUNKS * sizeof *w->chunk);
    w->packer = axp__packer_create();
    if (!w->path || !w->name || !w->pen.body || !w->chunk || !w->packer) {
        w->is_out_of_memory = true;
        return w;
    }
    snprintf(w->name, len, "%s.XXXXXX", path);
    w->pen.fd = mkostemp(w->name, O_CLOEXEC); /* 0600, never through a link */
    if (w->pen.fd < 0) w->pen.error = errno;
    return w;
}

static bool is_well(const struct axp__writer *w)
{
    return !w->pen.error && !w->is_out_of_memory;
}

bool axp__writer_add(struct axp__writer *w, const struct axp__to_write *what)
{
    w->what = what;
    if (is_well(w) && !put_all(w) && !w->pen.error) w->is_out_of_memory = true;
    w->pen.base += w->pen.end;
    w->pen.end = 0;
    return is_well(w);
}

/* By the kernel, which may share what is on the disk; else through memory. */
static bool copy_some(struct axp__writer *w, const struct axp__file *f)
{
    off_t from = (off_t)(f->base + w->pen.end),
          to = (off_t)(w->pen.base + w->pen.end);
    uint64_t left = f->bytes - w->pen.end;
    size_t most = left < (1u << 30) ? (size_t)left : 1u << 30;
    ssize_t n = copy_file_range(f->fd, &from, w->pen.fd, &to, most, 0);
    if (n > 0) {
        w->pen.end += (uint64_t)n;
        return true;
    }
    size_t piece = left < AXP__PEN_BODY ? (size_t)left : AXP__PEN_BODY;
    if (!axp__file_read_at(f, w->pen.end, w->pen.body, piece))
        w->pen.error = EIO;
    if (w->pen.error ||
        !axp__pen_write(&w->pen, w->pen.end, w->pen.body, piece))
        return false;
    w->pen.end += piece;
    return true;
}

bool axp__writer_copy(struct axp__writer *w, const struct axp__file *f)
{
    while (is_well(w) && w->pen.end < f->bytes)
        if (!copy_some(w, f)) return false;
    w->pen.base += w->pen.end;
    w->pen.end = 0;
    return is_well(w);
}

axp_status axp__writer_close(struct axp__writer *w, bool is_wanted,
                             bool may_replace)
{
    if (is_wanted && is_well(w) && !axp__spans_number(w->pen.fd, w->pen.base))
        w->pen.error = errno ? errno : EIO;
    bool ok = is_wanted && is_well(w) && take_name(w, may_replace);
    axp_status status = AXP_OK;
    if (is_wanted && w->pen.error)
        status =
            axp__fail(w->pen.error == EEXIST ? AXP_E_STATE : AXP_E_IO,
                      "cannot write %s: %s", w->path, strerror(w->pen.error));
    else if (is_wanted && !ok)
        status = axp__fail(AXP_E_NO_MEMORY, "no memory to write a recording");
    if (!ok && w->pen.fd >= 0) (void)unlink(w->name);
    if (w->pen.fd >= 0) close(w->pen.fd);
    axp__packer_destroy(w->packer);
    free(w->chunk);
    free(w->pen.body);
    free(w->name);
    free(w->path);
    free(w);
    return status;
}

axp_status axp__file_write(const char *path, bool may_replace,
                           const struct axp__to_write *what)
{
    struct axp__writer *w = axp__writer_open(path);
    if (!w) return AXP_E_NO_MEMORY;
    axp__writer_add(w, what);
    return axp__writer_close(w, true, may_replace);
}
