/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening a trace file; see file_read.h. */
#include "file/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/file_ahead.h"
#include "file/file_walk.h"
#include "os/os_map.h"
#include "record/record_thread.h"

#define READ_BYTES ((size_t)1 << 18)

/* ---- bytes ---------------------------------------------------------------------- */

bool axp__file_read_at(const struct axp__file *f, uint64_t at, void *bytes,
                       size_t n)
{
    char *to = bytes;
    if (at > f->bytes || n > f->bytes - at) return false;
    if (f->mapped)
        return axp__copy_mapped(to, (const char *)f->mapped + f->base + at, n);
    if (axp__read_ahead_read(f->ahead, f->fd, f->base + at, f->base + f->bytes,
                             to, n))
        return true;
    while (n) {
        ssize_t k = pread(f->fd, to, n, (off_t)(f->base + at));
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false; /* or shorter than it was */
        to += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return true;
}

static void set_fault(struct axp__file *f, uint64_t at, const char *what)
{
    if (!f->fault.what) f->fault = (struct axp__file_fault){at, what};
}

/* Grows by half: that much lies idle at most. */
static bool add_place(struct axp__file *f, uint64_t at)
{
    if (f->n_blocks == f->cap_block_at) {
        size_t cap = f->cap_block_at + f->cap_block_at / 2 + 256;
        uint8_t *wider = realloc(f->block_at, cap * AXP__PLACE_BYTES);
        if (!wider) return false;
        f->block_at = wider;
        f->cap_block_at = cap;
    }
    axp__place_put(f->block_at, f->n_blocks++, at);
    return true;
}

static bool add_entry(struct axp__file *f, const struct axp__index_entry *e)
{
    f->n_words += e->block.n_words;
    if (axp__block_is_timeline(&e->block)) return true;
    if (f->n_entries == f->cap_entries) {
        size_t cap = f->cap_entries ? f->cap_entries * 2 : 64;
        struct axp__index_entry *wider = realloc(f->entry, cap * sizeof *wider);
        if (!wider) return false;
        f->entry = wider;
        f->cap_entries = cap;
    }
    f->entry[f->n_entries++] = *e;
    if (e->block.kind >= AXP__B_N_KINDS || e->block.kind == AXP__B_NONE) {
        f->n_unknown++;
        f->unknown = e->block.kind;
    }
    return true;
}

axp_status axp__file_body_into(const struct axp__file *f,
                               const struct axp__index_entry *e,
                               struct axp__body *body)
{
    uint64_t n = e->block.body_bytes, at = e->at + AXP__BLOCK_HEAD;
    if (at > f->bytes || n > f->bytes - at) return AXP_E_FORMAT;
    if (n + 8 > body->cap) {
        free(body->bytes);
        body->bytes = malloc((size_t)n + 8);
        body->cap = body->bytes ? (size_t)n + 8 : 0;
    }
    if (!body->bytes) return AXP_E_NO_MEMORY;
    memset(body->bytes + n, 0, 8);
    return axp__file_read_at(f, at, body->bytes, (size_t)n) &&
                   axp__crc32c(0, body->bytes, (size_t)n) == e->block.body_crc
               ? AXP_OK
               : AXP_E_FORMAT;
}

uint8_t *axp__file_body(const struct axp__file *f,
                        const struct axp__index_entry *e, axp_status *status)
{
    struct axp__body body = {0};
    *status = axp__file_body_into(f, e, &body);
    if (!*status) return body.bytes;
    free(body.bytes);
    return NULL;
}

bool axp__file_head_at(const struct axp__file *f, uint64_t at,
                       struct axp__block *out)
{
    uint8_t head[AXP__BLOCK_HEAD];
    return axp__file_read_at(f, at, head, sizeof head) &&
           !axp__block_get(head, out);
}

bool axp__file_entry_is_true(const struct axp__file *f,
                             const struct axp__index_entry *e)
{
    uint8_t head[AXP__BLOCK_HEAD], again[AXP__BLOCK_HEAD];
    axp__block_put(again, &e->block);
    return axp__file_read_at(f, e->at, head, sizeof head) &&
           !memcmp(head, again, sizeof head);
}

/* The checksum of a body, in pieces. */
static bool has_body(const struct axp__file *f, uint64_t at,
                     const struct axp__block *b, uint8_t *buffer, size_t size)
{
    uint64_t left = b->body_bytes;
    uint32_t crc = 0;
    at += AXP__BLOCK_HEAD;
    while (left) {
        size_t n = left < size ? (size_t)left : size;
        if (!axp__file_read_at(f, at, buffer, n)) return false;
        crc = axp__crc32c(crc, buffer, n);
        at += n;
        left -= n;
    }
    return crc == b->body_crc;
}

/* ---- by the index ------------------------------------------------------------------ */

static bool read_entries(struct axp__file *f, uint64_t n, axp_status *status)
{
    struct axp__file_walk w;
    axp__file_walk_begin(&w, f);
    while (axp__file_walk_next(&w))
        if (!add_entry(f, &w.entry)) {
            *status = AXP_E_NO_MEMORY;
            return false;
        }
    f->n_blocks = w.n;
    return !w.is_bad && w.n == n;
}

/* False: there is none, or it is damaged. */
static bool read_index(struct axp__file *f, axp_status *status)
{
    uint8_t tail[AXP__FILE_TAIL], buffer[4096];
    struct axp__file_tail t;
    struct axp__block index;
    if (f->bytes < AXP__FILE_HEAD + AXP__BLOCK_HEAD + AXP__FILE_TAIL ||
        !axp__file_read_at(f, f->bytes - AXP__FILE_TAIL, tail, sizeof tail) ||
        axp__file_tail_get(tail, &t) || t.file_bytes != f->bytes ||
        !axp__file_head_at(f, t.index_at, &index) ||
        index.kind != AXP__B_INDEX ||
        !has_body(f, t.index_at, &index, buffer, sizeof buffer))
        return false;
    f->end = t.index_at;
    f->index_bytes = index.body_bytes;
    if (read_entries(f, index.n, status)) return true;
    f->n_entries = 0;
    f->n_unknown = 0;
    f->n_blocks = 0;
    f->n_words = 0;
    f->index_bytes = 0;
    return false;
}

/* ---- from block to block -------------------------------------------------------------- */

struct scan {
    struct axp__file *f;
    uint8_t *buffer;
    size_t cap; /* READ_BYTES, or the whole file */
    uint64_t at;
    bool is_own; /* what it says of itself is true */
};

static bool is_whole(struct scan *s, const struct axp__block *b)
{
    return s->is_own || has_body(s->f, s->at, b, s->buffer, s->cap);
}

/* Moves to the next place where a block may begin; false: there is none. */
static bool find_next(struct scan *s)
{
    struct axp__block b;
    for (s->at += 8; s->f->bytes - s->at >= AXP__BLOCK_HEAD;) {
        uint64_t left = s->f->bytes - s->at;
        size_t n = left < s->cap ? (size_t)left : s->cap;
        if (!axp__file_read_at(s->f, s->at, s->buffer, n)) return false;
        for (size_t i = 0; i + AXP__BLOCK_HEAD <= n; i += 8) {
            if (axp__block_get(s->buffer + i, &b)) continue;
            s->at += i;
            return true;
        }
        s->at += (n - AXP__BLOCK_HEAD + 8) & ~(uint64_t)7;
    }
    return false;
}

/* One block, or one stretch that is none; false: the end. */
static bool scan_one(struct scan *s, axp_status *status)
{
    struct axp__file *f = s->f;
    struct axp__index_entry e = {.at = s->at};
    uint8_t head[AXP__BLOCK_HEAD];
    uint64_t left = f->bytes - s->at;
    if (left < sizeof head || !axp__file_read_at(f, s->at, head, sizeof head)) {
        if (left) set_fault(f, s->at, "the file ends within a block");
        return false;
    }
    if (axp__block_get(head, &e.block)) {
        struct axp__file_tail tail;
        if (!axp__file_tail_get(head, &tail)) return false; /* damaged index */
        set_fault(f, s->at, "no block begins here");
        if (!find_next(s)) return false;
        f->n_damaged++;
        return true;
    }
    if (axp__block_span(&e.block) > left) {
        set_fault(f, s->at, "the file ends within a block");
        return false;
    }
    if (!is_whole(s, &e.block)) {
        set_fault(f, s->at, "a block is damaged");
        f->n_damaged++;
    } else if (e.block.kind != AXP__B_INDEX) {
        if (!add_place(f, e.at) || !add_entry(f, &e)) *status = AXP_E_NO_MEMORY;
    }
    s->at += axp__block_span(&e.block);
    f->end = s->at;
    return !*status && s->at < f->bytes;
}

static axp_status scan_blocks(struct axp__file *f, bool is_own)
{
    size_t cap = f->bytes < READ_BYTES ? (size_t)f->bytes : READ_BYTES;
    struct scan s = {f, malloc(cap), cap, AXP__FILE_HEAD, is_own};
    axp_status status = s.buffer ? AXP_OK : AXP_E_NO_MEMORY;
    f->end = AXP__FILE_HEAD;
    while (!status && scan_one(&s, &status))
        ;
    free(s.buffer);
    return status;
}

/* ---- opening ----------------------------------------------------------------------------- */

static axp_status read_head(struct axp__file *f)
{
    uint8_t head[AXP__FILE_HEAD];
    if (!axp__file_read_at(f, 0, head, sizeof head))
        return axp__fail(AXP_E_FORMAT,
                         "%s is no trace: %llu bytes are less "
                         "than a header",
                         f->path, (unsigned long long)f->bytes);
    switch (axp__file_head_get(head, &f->head)) {
    case AXP__BLOCK_OK: return AXP_OK;
    case AXP__BLOCK_NEWER:
        return axp__fail(AXP_E_FORMAT,
                         "%s has format version %u; this axprof knows up to "
                         "%u: read it with a newer one",
                         f->path, f->head.version, AXP__FILE_VERSION);
    case AXP__BLOCK_CHECKSUM:
        return axp__fail(AXP_E_FORMAT, "%s: the header is damaged (byte 0)",
                         f->path);
    default:
        return axp__fail(AXP_E_FORMAT,
                         "%s is no trace of axprof; recordings end in .axp",
                         f->path);
    }
}

static void release(const struct axp__file *f)
{
    if (f->fd >= 0) close(f->fd);
    axp__unmap(f->mapped, f->mapped_bytes);
}

static axp_status find_length(struct axp__file *f)
{
    struct stat st;
    if (f->mapped) {
        f->bytes = f->mapped_bytes;
        return AXP_OK;
    }
    if (f->fd < 0 || fstat(f->fd, &st))
        return axp__fail(errno == ENOENT ? AXP_E_NOT_FOUND : AXP_E_IO, "%s: %s",
                         f->path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return axp__fail(AXP_E_FORMAT, "%s is not a regular file", f->path);
    f->bytes = (uint64_t)st.st_size;
    if (f->bytes >= AXP__PLACE_END)
        return axp__fail(AXP_E_FORMAT, "%s is longer than a trace can be",
                         f->path);
    return AXP_OK;
}

struct opening {
    const char *path;
    struct axp__span span;
    bool is_own; /* this process writes it */
};

static axp_status look_at(struct axp__file *f, const struct axp__span *span)
{
    axp_status status = find_length(f);
    if (status) return status;
    uint64_t whole = f->bytes;
    f->base = span->at < f->bytes ? span->at : f->bytes;
    f->bytes -= f->base;
    if (span->bytes < f->bytes) f->bytes = span->bytes;
    /* Recordings in one file share what is free. */
    f->words_free = AXP__WORDS_FREE_EACH;
    if (whole)
        f->words_free += (uint64_t)((double)AXP__WORDS_FREE *
                                    ((double)f->bytes / (double)whole));
    return read_head(f);
}

static axp_status check_claim(const struct axp__file *f)
{
    if (f->n_words <= f->words_free + f->bytes * AXP__WORDS_A_BYTE)
        return AXP_OK;
    return axp__fail(AXP_E_FORMAT,
                     "%s claims %llu words in %llu bytes: no recorder packs "
                     "them so tightly",
                     f->path, (unsigned long long)f->n_words,
                     (unsigned long long)f->bytes);
}

/* Takes over what `from` has open. */
static axp_status open_from(struct axp__file from, const struct opening *o,
                            struct axp__file **out)
{
    struct axp__file *f = calloc(1, sizeof *f);
    axp_status status = AXP_E_NO_MEMORY;
    if (f) {
        *f = from;
        f->path = strdup(o->path);
        if (f->fd >= 0) f->ahead = axp__read_ahead_create();
        if (f->path) status = look_at(f, &o->span);
        if (!status) f->is_finished = read_index(f, &status);
        if (!status && !f->is_finished) status = scan_blocks(f, o->is_own);
        if (!status && !o->is_own) status = check_claim(f);
    } else {
        release(&from);
    }
    if (!status) {
        *out = f;
        return AXP_OK;
    }
    axp__file_close(f);
    if (status == AXP_E_NO_MEMORY)
        axp__fail(status, "no memory to read %s", o->path);
    return status;
}

axp_status axp__file_open(const char *path, struct axp__file **out)
{
    return axp__file_open_span(path, &(struct axp__span){.bytes = UINT64_MAX},
                               out);
}

axp_status axp__file_open_span(const char *path, const struct axp__span *span,
                               struct axp__file **out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return open_from((struct axp__file){.fd = fd},
                     &(struct opening){path, *span, false}, out);
}

axp_status axp__file_open_own(void *mapped, uint64_t mapped_bytes,
                              uint64_t bytes, struct axp__file **out)
{
    struct axp__file from = {
        .fd = -1, .mapped = mapped, .mapped_bytes = mapped_bytes};
    struct opening o = {
        "the recording of this process", {.bytes = bytes}, true};
    return open_from(from, &o, out);
}

void axp__file_close(struct axp__file *f)
{
    if (!f) return;
    release(f);
    free(f->entry);
    free(f->block_at);
    free(f->chunk_at);
    free(f->path);
    axp__read_ahead_destroy(f->ahead);
    free(f);
}
