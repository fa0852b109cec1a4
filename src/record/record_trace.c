/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks into a file; see record_trace.h. */
#include "record/record_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_about.h"
#include "os/os_file.h"
#include "os/os_map.h"
#include "record/record_lane.h"
#include "tally/tally_image.h"
#include "wire/wire_body.h"
#include "wire/wire_index.h"

#define BODY_BYTES ((size_t)AXP__PACK_CHUNKS * AXP__CHUNK_BYTES)

static const struct axp__packing *packing;

void axp__trace_set_packing(const struct axp__packing *p)
{
    axp__put_release(&packing, p);
}

/* ---- bytes ------------------------------------------------------------------------ */

static bool write_at(void *ctx, uint64_t at, const void *bytes, size_t n)
{
    struct axp__trace *t = ctx;
    const char *from = bytes;
    while (n && !t->error) {
        ssize_t k = axp__file_write_at(t->fd, from, n, (off_t)at);
        if (k < 0 && errno != EINTR) t->error = errno;
        if (k == 0) t->error = EIO;
        if (k <= 0) continue;
        from += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return !t->error;
}

static bool read_at(void *ctx, uint64_t at, void *bytes, size_t n)
{
    struct axp__trace *t = ctx;
    char *to = bytes;
    while (n) {
        ssize_t k = axp__file_read_at(t->fd, to, n, (off_t)at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        to += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return true;
}

/* The body first and its head last would be safer against a torn page; but
 * the checksums tell, and a kill leaves whole writes. */
static bool put_block(struct axp__trace *t, struct axp__block *b,
                      const void *body, size_t n)
{
    static const char zeros[8];
    uint8_t head[AXP__BLOCK_HEAD];
    struct iovec piece = {(void *)(uintptr_t)body, n};
    axp__block_seal(head, b, &piece, 1);
    uint64_t at = t->end;
    bool ok = write_at(t, at, head, sizeof head) &&
              write_at(t, at + sizeof head, body, n) &&
              write_at(t, at + sizeof head + n, zeros,
                       (size_t)(axp__block_span(b) - sizeof head - n));
    if (ok)
        t->end = at + axp__block_span(b);
    else if (t->fd >= 0)
        (void)!ftruncate(t->fd, (off_t)at); /* no half block */
    return ok;
}

/* ---- about, names, rows --------------------------------------------------------------- */

struct fill { /* a body being filled; written when it is full */
    struct axp__trace *t;
    struct axp__block block;
    size_t used;
};

static bool put_filled(struct fill *f)
{
    bool ok = !f->used || put_block(f->t, &f->block, f->t->body, f->used);
    f->used = 0;
    f->block.n = 0;
    return ok;
}

static bool put_about(void *ctx, const char *key, const char *value, size_t len)
{
    struct fill *f = ctx;
    struct axp__slice text = {value, len};
    size_t n =
        axp__about_put(f->t->body + f->used, BODY_BYTES - f->used, key, text);
    if (!n) {
        if (!put_filled(f)) return false;
        n = axp__about_put(f->t->body, BODY_BYTES, key, text);
    }
    f->used += n;
    f->block.n += n != 0;
    return true;
}

static void about_text(struct fill *f, const char *key, const char *value)
{
    put_about(f, key, value, strlen(value));
}

static void about_number(struct fill *f, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    about_text(f, key, text);
}

static void put_kept(struct fill *f, const struct axp__kept_about *about)
{
    if (!about) return;
    if (BODY_BYTES - f->used < about->used) put_filled(f);
    memcpy(f->t->body + f->used, about->body, about->used);
    f->used += about->used;
    f->block.n += about->n;
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
    struct fill f = {t, {.kind = AXP__B_ABOUT}, 0};
    about_text(&f, "title", p->title);
    about_text(&f, "id", t->id);
    about_text(&f, "spool", t->spool);
    about_number(&f, "clock.mult", axp__clock_rate().mult);
    about_number(&f, "own_cost_ticks", axp__own_cost_known().around_ticks);
    about_number(&f, "own_inside_ticks", axp__own_cost_known().inside_ticks);
    about_number(&f, "options.flags", p->flags);
    about_number(&f, "options.timeline_capacity", p->timeline_capacity);
    about_number(&f, "options.memory_bytes", p->budget.limit_bytes);
    about_number(&f, "options.spool_bytes",
                 p->pool.max_chunks * AXP__CHUNK_BYTES);
    about_number(&f, "options.file_limit", t->limit_bytes);
    about_number(&f, "process_id", t->head.process_id);
    about_number(&f, "parent_process_id", t->parent_id);
    axp__about_process(put_about, &f);
    put_kept(&f, t->about);
    axp__about_maps(put_about, &f);
    put_filled(&f);
}

/* The maps again: libraries are loaded while a program runs. */
static bool put_end(struct axp__trace *t)
{
    struct fill f = {t, {.kind = AXP__B_ABOUT}, 0};
    struct axp__clock_pair now = axp__clock_pair_now();
    about_number(&f, "end.ticks", now.ticks);
    about_number(&f, "end.monotonic_ns", now.monotonic_ns);
    about_number(&f, "end.realtime_ns", now.realtime_ns);
    about_number(&f, "cut.file_limit", t->n_cut_events);
    axp__about_maps(put_about, &f);
    return put_filled(&f);
}

/* Those that are not there yet, up to one that is still being written; at the
 * end nobody waits for those, which no event has. */
static bool put_names(struct axp__trace *t, bool is_end)
{
    static const struct axp__name none = {.text = ""};
    uint32_t n = axp__name_count();
    uint32_t id = t->n_names;
    struct fill f = {t, {.kind = AXP__B_NAMES, .seq = id}, 0};
    while (id < n) {
        const struct axp__name *name = axp__name_ready(id);
        if (!name && !is_end) break;
        if (!name) name = &none;
        struct axp__name_record r = {
            .text = {name->text, name->len},
            .file = {name->file, name->file ? strlen(name->file) : 0},
            .line = (uint32_t)name->line,
            .flags = name->flags};
        size_t k = axp__name_put(t->body + f.used, BODY_BYTES - f.used, &r);
        if (k) {
            f.used += k;
            f.block.n++;
            id++;
        } else {
            if (!put_filled(&f)) return false;
            f.block.seq = id;
        }
    }
    if (!put_filled(&f)) return false;
    t->n_names = id;
    return true;
}

static bool put_rows(struct axp__trace *t, struct axp__prof *p)
{
    struct fill f = {t, {.kind = AXP__B_ROWS}, 0};
    struct axp__lane *l = axp__get_acquire(&p->lanes);
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
        size_t k = axp__row_put(t->body + f.used, BODY_BYTES - f.used, &r);
        if (!k) continue; /* next time */
        axp__put(&l->row_in_file, row);
        f.used += k;
        f.block.n++;
    }
    return put_filled(&f);
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
    while (k < n && k < AXP__PACK_CHUNKS && chunks[k]->row == chunks[0]->row &&
           chunks[k]->seq == chunks[0]->seq + k)
        k++;
    return k;
}

static bool put_raw(struct axp__trace *t, const struct axp__chunk *chunk)
{
    struct axp__block b;
    axp__block_of_chunk(&b, chunk, chunk->n_words, chunk->n_events);
    return put_block(t, &b, chunk->words, chunk->n_words * 8);
}

/* It is not in its place while it changes or goes: the child of a fork keeps
 * one that it finds there, and forgets one that somebody was inside. */
static void *take_packer(struct axp__trace *t)
{
    void *packer = t->packer;
    axp__put(&t->packer, NULL);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return packer;
}

/* 0: it does not fit, or cannot be packed. */
static size_t pack_run(struct axp__trace *t, struct axp__chunk **chunks,
                       size_t n)
{
    void *packer = take_packer(t);
    size_t bytes =
        packer ? packing->pack(packer, (const struct axp__chunk *const *)chunks,
                               n, t->body, BODY_BYTES)
               : 0;
    axp__put_release(&t->packer, packer);
    return bytes;
}

/* How many of them are written. */
static size_t put_run(struct axp__trace *t, struct axp__chunk **chunks,
                      size_t n)
{
    size_t bytes = t->is_hasty ? 0 : pack_run(t, chunks, n);
    if (!bytes) {
        for (size_t i = 0; i < n; i++)
            if (!put_raw(t, chunks[i])) return i;
        return n;
    }
    struct axp__block b;
    axp__block_of_chunk(&b, chunks[0], 0, 0);
    b.kind = AXP__B_PACK;
    b.n = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        b.n_words += (uint32_t)chunks[i]->n_words;
        b.n_events += chunks[i]->n_events;
    }
    return put_block(t, &b, t->body, bytes) ? n : 0;
}

/* ---- the limit ------------------------------------------------------------------------------ */

static bool copy_range(struct axp__trace *from, struct axp__trace *to,
                       uint64_t at, uint64_t bytes)
{
    char buffer[65536];
    while (bytes) {
        size_t n = bytes < sizeof buffer ? (size_t)bytes : sizeof buffer;
        if (!read_at(from, at, buffer, n) || !write_at(to, to->end, buffer, n))
            return false;
        at += n;
        bytes -= n;
        to->end += n;
    }
    return true;
}

static bool next_block(struct axp__trace *t, uint64_t at, struct axp__block *b)
{
    uint8_t head[AXP__BLOCK_HEAD];
    return at < t->end && read_at(t, at, head, sizeof head) &&
           axp__block_get(head, b) == AXP__BLOCK_OK &&
           at + axp__block_span(b) <= t->end;
}

/* Copies all blocks but those of the timeline that end before `from`. */
static bool copy_newer(struct axp__trace *old, struct axp__trace *fresh,
                       uint64_t from)
{
    struct axp__block b;
    for (uint64_t at = AXP__FILE_HEAD; next_block(old, at, &b);
         at += axp__block_span(&b)) {
        if (axp__block_is_timeline(&b) && at < from)
            fresh->n_cut_events += b.n_events;
        else if (!copy_range(old, fresh, at, axp__block_span(&b)))
            return false;
    }
    return true;
}

/* ---- names ----------------------------------------------------------------------- */

static bool is_it(const char *path, const struct axp__trace *t)
{
    struct stat st;
    return !lstat(path, &st) && (uint64_t)st.st_dev == t->device &&
           (uint64_t)st.st_ino == t->inode;
}

/* A device, a folder, a pipe: it is no file's name, and none is made from it. */
static bool is_other(const struct stat *st)
{
    return !S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode);
}

/* A new file in the folder of t's path, open; errno, or 0. */
static int make_draft(struct axp__trace *t)
{
    static uint32_t n;
    struct stat st;
    if (!lstat(t->path, &st) && is_other(&st)) return EINVAL;
    const char *slash = strrchr(t->path, '/');
    int folder = slash ? (int)(slash + 1 - t->path) : 0;
    if ((size_t)snprintf(t->draft, sizeof t->draft, "%.*s.axprof-%s-%u.tmp",
                         folder, t->path, t->id,
                         axp__add(&n, 1)) >= sizeof t->draft) {
        t->draft[0] = 0;
        return ENAMETOOLONG;
    }
    t->error = 0;
    t->end = 0;
    t->fd = axp__file_open(
        t->draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (t->fd < 0 || !axp__file_stat(t->fd, &st)) {
        int error = errno;
        axp__trace_rest(t);
        t->draft[0] = 0; /* of another: it is left alone */
        return error;
    }
    t->device = (uint64_t)st.st_dev;
    t->inode = (uint64_t)st.st_ino;
    return 0;
}

void axp__trace_drop_draft(struct axp__trace *t)
{
    if (t->draft[0]) (void)unlink(t->draft);
    t->draft[0] = 0;
    axp__trace_rest(t);
}

/* Where the file system cannot say no to a name that is taken, an empty file
 * takes it first. */
static int rename_new(const char *from, const char *to)
{
    if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE)) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    int fd = axp__file_open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    axp__file_close(fd);
    if (!rename(from, to)) return 0;
    int error = errno;
    (void)unlink(to);
    return error;
}

int axp__trace_name(struct axp__trace *t, bool is_overwriting)
{
    uint8_t head[AXP__FILE_HEAD];
    struct stat st;
    bool is_there = !lstat(t->path, &st);
    int error;
    axp__file_head_put(head, &t->head); /* its incarnation may be another */
    if (is_there && is_other(&st))
        error = EINVAL;
    else if (is_there && is_overwriting && S_ISLNK(st.st_mode))
        error = ELOOP;
    else if (!write_at(t, 0, head, sizeof head))
        error = t->error;
    else if (!is_there || !is_overwriting)
        error = rename_new(t->draft, t->path);
    else if (st.st_uid != geteuid())
        error = EPERM; /* somebody else's, who could read it */
    else
        error = rename(t->draft, t->path) ? errno : 0;
    if (!error) t->draft[0] = 0;
    return error;
}

/* A file beside t's, to take its place: who has the old one open keeps it. */
static bool make_fresh(const struct axp__trace *t, struct axp__trace *fresh)
{
    *fresh = *t;
    return !t->error && !make_draft(fresh);
}

/* Changes places with what has t's name, and back if that is not t's. */
static bool take_name(const struct axp__trace *t,
                      const struct axp__trace *fresh)
{
    if (!is_it(t->path, t)) return false;
    if (renameat2(AT_FDCWD, fresh->draft, AT_FDCWD, t->path, RENAME_EXCHANGE))
        return (errno == EINVAL || errno == ENOSYS) &&
               !rename(fresh->draft, t->path);
    if (is_it(fresh->draft, t)) return !unlink(fresh->draft);
    (void)renameat2(AT_FDCWD, fresh->draft, AT_FDCWD, t->path, RENAME_EXCHANGE);
    return false;
}

static bool take_over(struct axp__trace *t, struct axp__trace *fresh,
                      bool is_good)
{
    if (!is_good || !take_name(t, fresh)) {
        axp__trace_drop_draft(fresh);
        return false;
    }
    axp__file_close(t->fd);
    t->fd = fresh->fd;
    t->device = fresh->device;
    t->inode = fresh->inode;
    t->end = fresh->end;
    t->n_cut_events = fresh->n_cut_events;
    return true;
}

bool axp__trace_reopen(struct axp__trace *t)
{
    struct stat st;
    if (t->error || t->fd >= 0) return !t->error;
    t->fd = axp__file_open(t->path,
                           O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (t->fd < 0 || !axp__file_stat(t->fd, &st)) {
        t->error = errno;
    } else if ((uint64_t)st.st_dev != t->device ||
               (uint64_t)st.st_ino != t->inode) {
        t->error = ESTALE; /* another file has its name */
        axp__trace_rest(t);
    }
    return !t->error;
}

void axp__trace_remove(const struct axp__trace *t)
{
    if (t->inode && is_it(t->path, t)) (void)unlink(t->path);
}

/* ---- less of it ------------------------------------------------------------------- */

bool axp__trace_forget(struct axp__trace *t, uint64_t from)
{
    struct axp__trace fresh;
    return make_fresh(t, &fresh) &&
           take_over(t, &fresh,
                     copy_range(t, &fresh, 0, AXP__FILE_HEAD) &&
                         copy_newer(t, &fresh, from));
}

bool axp__trace_news(struct axp__trace *t, struct axp__prof *p, bool is_end)
{
    return !t->error && put_names(t, is_end) && put_rows(t, p);
}

size_t axp__trace_chunks(struct axp__trace *t, struct axp__chunk **chunks,
                         size_t n)
{
    if (t->error) return 0;
    sort_chunks(chunks, n);
    for (size_t i = 0, k; i < n; i += k) {
        k = run_of(chunks + i, n - i);
        size_t done = put_run(t, chunks + i, k);
        if (done < k) return i + done;
        if (t->limit_bytes && t->end > t->limit_bytes &&
            !axp__trace_forget(t, t->end - t->limit_bytes / 2)) {
            t->limit_bytes = 0; /* it was tried: rather too long than none */
        }
    }
    return n;
}

/* ---- beginning and end ------------------------------------------------------------------------- */

static bool has_body(struct axp__trace *t)
{
    if (!t->body) t->body = axp__map(BODY_BYTES);
    if (!t->body) t->error = ENOMEM;
    return !t->error;
}

bool axp__trace_prepare(struct axp__trace *t)
{
    const struct axp__packing *how = axp__get_acquire(&packing);
    if (how && !t->packer) axp__put_release(&t->packer, how->open());
    return has_body(t);
}

static void begin(struct axp__trace *t, const struct axp__prof *p)
{
    uint8_t head[AXP__FILE_HEAD];
    if (!has_body(t)) return;
    axp__file_head_put(head, &t->head);
    t->end = AXP__FILE_HEAD;
    t->n_names = 0;
    if (write_at(t, 0, head, sizeof head)) put_begin(t, p);
}

int axp__trace_draft(struct axp__trace *t, const struct axp__prof *p)
{
    int error = make_draft(t);
    if (error) return error;
    begin(t, p);
    if (t->error) axp__trace_drop_draft(t);
    return t->error;
}

void axp__trace_restart(struct axp__trace *t, struct axp__prof *p)
{
    struct axp__trace fresh;
    if (t->error) return;
    /* Views have the old file mapped, and do not change. */
    if ((!make_fresh(t, &fresh) || !take_over(t, &fresh, true)) &&
        ftruncate(t->fd, 0))
        t->error = errno;
    t->head.start_ticks = p->start_ticks;
    t->n_cut_events = 0;
    begin(t, p);
}

struct state_sink {
    struct axp__trace *t;
    uint64_t at;
    uint32_t crc;
};

static bool put_state_bytes(void *ctx, const void *bytes, size_t n)
{
    struct state_sink *s = ctx;
    s->crc = axp__crc32c(s->crc, bytes, n);
    if (!write_at(s->t, s->at, bytes, n)) return false;
    s->at += n;
    return true;
}

/* Its length is not known before: the head is written last. */
static bool put_state(struct axp__trace *t, uint32_t epoch,
                      const struct axp__capture *c)
{
    static const char zeros[8];
    uint8_t head[AXP__BLOCK_HEAD];
    struct state_sink s = {t, t->end + AXP__BLOCK_HEAD, 0};
    if (!axp__image_write(c, put_state_bytes, &s)) return false;
    struct axp__block b = {.kind = AXP__B_STATE,
                           .epoch = epoch,
                           .body_bytes = s.at - t->end - AXP__BLOCK_HEAD,
                           .body_crc = s.crc};
    uint64_t next = t->end + axp__block_span(&b);
    axp__block_put(head, &b);
    if (!write_at(t, s.at, zeros, (size_t)(next - s.at)) ||
        !write_at(t, t->end, head, sizeof head))
        return false;
    t->end = next;
    return true;
}

bool axp__trace_finish(struct axp__trace *t, struct axp__prof *p,
                       const struct axp__capture *c)
{
    struct axp__file_io io = {read_at, write_at, t};
    uint64_t end;
    if (!axp__trace_news(t, p, true) || !put_end(t) ||
        !put_state(t, (uint32_t)(axp__get(&p->gate) >> 8), c))
        return false;
    end = t->end;
    return axp__index_write(&io, &end);
}

void axp__trace_rest(struct axp__trace *t)
{
    if (t->fd >= 0) axp__file_close(t->fd);
    t->fd = -1;
}

void axp__trace_give_up(struct axp__trace *t)
{
    axp__unmap(t->body, BODY_BYTES);
    t->body = NULL;
    axp__trace_rest(t);
}

void axp__trace_close(struct axp__trace *t)
{
    void *packer = take_packer(t);
    if (packer) packing->close(packer);
    axp__trace_give_up(t);
}
