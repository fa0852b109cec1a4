/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks of a finished file; see file_write.h. */
#include "file/file_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file/file_pack.h"
#include "file/file_spans.h"
#include "record/record_thread.h"
#include "tally/tally_image.h"
#include "wire/wire_decode.h"
#include "wire/wire_index.h"

#define BODY_BYTES ((size_t)1 << 21)

struct axp__writer {
    const struct axp__to_write *what;
    char *path, *name; /* that is wanted; while it is being written */
    int fd;
    uint64_t base; /* where this recording begins */
    int error;     /* errno of the first failure */
    bool is_out_of_memory;
    uint64_t end;  /* of what was written, from there on */
    uint8_t *body; /* BODY_BYTES */
    size_t used;
    struct axp__packer *packer;
    struct axp__chunk *chunk; /* AXP__PACK_CHUNKS, of one row, by seq */
    size_t n_chunks;
};

/* ---- bytes ------------------------------------------------------------------------ */

static bool write_at(void *ctx, uint64_t at, const void *bytes, size_t n)
{
    struct axp__writer *w = ctx;
    const char *from = bytes;
    while (n && !w->error) {
        ssize_t k = pwrite(w->fd, from, n, (off_t)(w->base + at));
        if (k < 0 && errno != EINTR) w->error = errno;
        if (k == 0) w->error = EIO;
        if (k <= 0) continue;
        from += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return !w->error;
}

static bool read_at(void *ctx, uint64_t at, void *bytes, size_t n)
{
    struct axp__writer *w = ctx;
    ssize_t k = pread(w->fd, bytes, n, (off_t)(w->base + at));
    if (k < 0) w->error = errno;
    return k == (ssize_t)n;
}

static bool put_block(struct axp__writer *w, struct axp__block *b,
                      const void *body, size_t n)
{
    static const char zeros[8];
    uint8_t head[AXP__BLOCK_HEAD];
    struct iovec piece = {(void *)(uintptr_t)body, n};
    axp__block_seal(head, b, &piece, 1);
    uint64_t at = w->end + sizeof head, span = axp__block_span(b);
    bool ok = write_at(w, w->end, head, sizeof head) &&
              write_at(w, at, body, n) &&
              write_at(w, at + n, zeros, (size_t)(span - sizeof head - n));
    w->end += span;
    return ok;
}

/* What was gathered in the body. */
static bool put_gathered(struct axp__writer *w, struct axp__block *b)
{
    bool ok = !w->used || put_block(w, b, w->body, w->used);
    w->used = 0;
    b->n = 0;
    return ok;
}

/* ---- texts, names, rows --------------------------------------------------------------- */

static bool put_pair(struct axp__writer *w, struct axp__block *b,
                     const char *key, struct axp__slice value)
{
    size_t n =
        axp__about_put(w->body + w->used, BODY_BYTES - w->used, key, value);
    if (!n) {
        if (!put_gathered(w, b)) return false;
        n = axp__about_put(w->body, BODY_BYTES, key, value);
    }
    w->used += n;
    b->n++;
    return true;
}

static bool put_about(struct axp__writer *w)
{
    const struct axp__about *a = w->what->about;
    struct axp__block b = {.kind = AXP__B_ABOUT};
    const char *title = w->what->capture->title;
    bool ok = true;
    if (!a || !axp__about_text(a, "title"))
        ok =
            put_pair(w, &b, "title", (struct axp__slice){title, strlen(title)});
    for (size_t i = 0; a && ok && i < a->n; i++)
        ok = put_pair(w, &b, a->pair[i].key,
                      (struct axp__slice){a->pair[i].value, a->pair[i].len});
    return ok && put_gathered(w, &b);
}

static bool put_names(struct axp__writer *w)
{
    const struct axp__capture *c = w->what->capture;
    struct axp__block b = {.kind = AXP__B_NAMES};
    for (uint32_t id = 0; id < c->n_names;) {
        struct axp__cap_name name = c->name_at(c, id);
        struct axp__name_record r = {
            .text = {name.text, strlen(name.text)},
            .file = {name.file, name.file ? strlen(name.file) : 0},
            .line = (uint32_t)name.line,
            .flags = name.flags};
        size_t n = axp__name_put(w->body + w->used, BODY_BYTES - w->used, &r);
        if (n) {
            w->used += n;
            b.n++;
            id++;
        } else {
            if (!put_gathered(w, &b)) return false;
            b.seq = id;
        }
    }
    return put_gathered(w, &b);
}

static bool put_rows(struct axp__writer *w)
{
    const struct axp__capture *c = w->what->capture;
    struct axp__block b = {.kind = AXP__B_ROWS};
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct axp__cap_row *row = &c->rows[i];
        struct axp__row_record r = {row->id, row->track, row->name, row->tid,
                                    row->first};
        if (BODY_BYTES - w->used < 64 && !put_gathered(w, &b)) return false;
        w->used += axp__row_put(w->body + w->used, BODY_BYTES - w->used, &r);
        b.n++;
    }
    return put_gathered(w, &b);
}

/* ---- the timeline ------------------------------------------------------------------------ */

static bool put_raw(struct axp__writer *w, struct axp__chunk *c)
{
    struct axp__block b;
    axp__block_of_chunk(&b, c, c->n_words, c->n_events);
    return put_block(w, &b, c->words, c->n_words * 8);
}

/* Writes what was gathered of a row. */
static bool put_chunks(struct axp__writer *w)
{
    const struct axp__chunk *list[AXP__PACK_CHUNKS];
    size_t n = w->n_chunks, bytes = 0;
    w->n_chunks = 0;
    if (!n) return true;
    for (size_t i = 0; i < n; i++)
        list[i] = &w->chunk[i];
    if (!w->what->is_raw)
        bytes = axp__packer_pack(w->packer, list, n, w->body, BODY_BYTES);
    if (bytes) {
        struct axp__block b;
        axp__pack_head(&b, list, n);
        return put_block(w, &b, w->body, bytes);
    }
    for (size_t i = 0; i < n; i++) /* NOLINT: w keeps its chunks */
        if (!put_raw(w, &w->chunk[i])) return false;
    return true;
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
    const struct axp__chunk *last =
        w->n_chunks ? &w->chunk[w->n_chunks - 1] : NULL;
    if (last &&
        (last->row != of->row || last->seq + 1 != from->seq ||
         w->n_chunks == AXP__PACK_CHUNKS) &&
        !put_chunks(w))
        return false;
    if (!n || is_old(w, of->row, last_ticks)) return true;
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
    return b->n >= AXP__PACK_CHUNKS / 2 && b->epoch == w->what->epoch &&
           b->base_ticks >= w->what->from_ticks && !w->what->is_raw;
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

/* A block of a file may be several chunks. False: no memory, or writing
 * failed; what cannot be read is left out. */
static bool gather_part(struct axp__writer *w, const struct axp__cap_chunk *k,
                        uint32_t part)
{
    struct axp__index_entry e;
    if (!axp__file_of(k)) return gather_words(w, k, part, k->seq);
    if (!axp__file_part(k, part, &e)) return true;
    if (e.block.kind != AXP__B_PACK)
        return gather_words(w, k, part, e.block.seq);
    axp_status status;
    struct axp__unpacked u;
    uint8_t *body = axp__file_body(axp__file_of(k), &e, &status);
    if (!body) return status != AXP_E_NO_MEMORY;
    bool ok = true;
    if (is_well_packed(w, &e.block)) {
        ok = put_chunks(w) && put_block(w, &e.block, body, e.block.body_bytes);
        free(body);
        return ok;
    }
    if (axp__file_unpack(&e.block, body, &u) == AXP__UNPACK_OK)
        for (size_t i = 0; ok && i < u.n_chunks; i++)
            ok = gather(w, k, &u.chunk[i], u.words + u.chunk[i].first);
    axp__unpacked_fini(&u);
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

struct state_sink {
    struct axp__writer *w;
    uint64_t at;
    uint32_t crc;
};

static bool put_state_bytes(void *ctx, const void *bytes, size_t n)
{
    struct state_sink *s = ctx;
    s->crc = axp__crc32c(s->crc, bytes, n);
    s->at += n;
    return write_at(s->w, s->at - n, bytes, n);
}

/* Its length is not known before: the head is written last. */
static bool put_state(struct axp__writer *w)
{
    static const char zeros[8];
    uint8_t head[AXP__BLOCK_HEAD];
    struct state_sink s = {w, w->end + sizeof head, 0};
    if (!axp__image_write(w->what->capture, put_state_bytes, &s)) return false;
    struct axp__block b = {.kind = AXP__B_STATE,
                           .epoch = w->what->epoch,
                           .body_bytes = s.at - w->end - sizeof head,
                           .body_crc = s.crc};
    uint64_t next = w->end + axp__block_span(&b);
    axp__block_put(head, &b);
    bool ok = write_at(w, s.at, zeros, (size_t)(next - s.at)) &&
              write_at(w, w->end, head, sizeof head);
    w->end = next;
    return ok;
}

static bool put_all(struct axp__writer *w)
{
    uint8_t head[AXP__FILE_HEAD];
    struct axp__file_io io = {read_at, write_at, w};
    axp__file_head_put(head, w->what->head);
    w->end = AXP__FILE_HEAD;
    return write_at(w, 0, head, sizeof head) && put_about(w) && put_names(w) &&
           put_rows(w) && put_timeline(w) &&
           (w->what->is_stateless || put_state(w)) &&
           axp__index_write(&io, &w->end);
}

/* ---- the file ------------------------------------------------------------------------------------ */

/* Gives the file its name. */
static bool take_name(struct axp__writer *w, bool may_replace)
{
    if (fsync(w->fd) && errno != EINVAL && errno != EROFS) {
        w->error = errno;
        return false;
    }
    if (may_replace ? !rename(w->name, w->path) : !link(w->name, w->path)) {
        if (!may_replace) (void)unlink(w->name);
        return true;
    }
    w->error = errno;
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
    w->fd = -1;
    w->path = strdup(path);
    w->name = malloc(len);
    w->body = malloc(BODY_BYTES);
    w->chunk = malloc(AXP__PACK_CHUNKS * sizeof *w->chunk);
    w->packer = axp__packer_create();
    if (!w->path || !w->name || !w->body || !w->chunk || !w->packer) {
        w->is_out_of_memory = true;
        return w;
    }
    snprintf(w->name, len, "%s.XXXXXX", path);
    w->fd = mkostemp(w->name, O_CLOEXEC); /* 0600, never through a link */
    if (w->fd < 0) w->error = errno;
    return w;
}

static bool is_well(const struct axp__writer *w)
{
    return !w->error && !w->is_out_of_memory;
}

bool axp__writer_add(struct axp__writer *w, const struct axp__to_write *what)
{
    w->what = what;
    if (is_well(w) && !put_all(w) && !w->error) w->is_out_of_memory = true;
    w->base += w->end;
    w->end = 0;
    return is_well(w);
}

/* By the kernel, which may share what is on the disk; else through memory. */
static bool copy_some(struct axp__writer *w, const struct axp__file *f)
{
    off_t from = (off_t)(f->base + w->end), to = (off_t)(w->base + w->end);
    uint64_t left = f->bytes - w->end;
    size_t most = left < (1u << 30) ? (size_t)left : 1u << 30;
    ssize_t n = copy_file_range(f->fd, &from, w->fd, &to, most, 0);
    if (n > 0) {
        w->end += (uint64_t)n;
        return true;
    }
    size_t piece = left < BODY_BYTES ? (size_t)left : BODY_BYTES;
    if (!axp__file_read_at(f, w->end, w->body, piece)) w->error = EIO;
    if (w->error || !write_at(w, w->end, w->body, piece)) return false;
    w->end += piece;
    return true;
}

bool axp__writer_copy(struct axp__writer *w, const struct axp__file *f)
{
    while (is_well(w) && w->end < f->bytes)
        if (!copy_some(w, f)) return false;
    w->base += w->end;
    w->end = 0;
    return is_well(w);
}

axp_status axp__writer_close(struct axp__writer *w, bool is_wanted,
                             bool may_replace)
{
    if (is_wanted && is_well(w) && !axp__spans_number(w->fd, w->base))
        w->error = errno ? errno : EIO;
    bool ok = is_wanted && is_well(w) && take_name(w, may_replace);
    axp_status status = AXP_OK;
    if (is_wanted && w->error)
        status = axp__fail(w->error == EEXIST ? AXP_E_STATE : AXP_E_IO,
                           "cannot write %s: %s", w->path, strerror(w->error));
    else if (is_wanted && !ok)
        status = axp__fail(AXP_E_NO_MEMORY, "no memory to write a recording");
    if (!ok && w->fd >= 0) (void)unlink(w->name);
    if (w->fd >= 0) close(w->fd);
    axp__packer_destroy(w->packer);
    free(w->chunk);
    free(w->body);
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
