/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding the recordings in a file; see file_spans.h. */
#include "file/file_spans.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/record_thread.h"
#include "wire/wire_block.h"

#define READ_BYTES ((size_t)1 << 20)

static bool read_at(int fd, uint64_t at, void *bytes, size_t n)
{
    ssize_t k;
    do
        k = pread(fd, bytes, n, (off_t)at);
    while (k < 0 && errno == EINTR);
    return k == (ssize_t)n;
}

static bool add(struct axp__spans *s, uint64_t at, uint64_t bytes)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 8;
        struct axp__span *wider = realloc(s->span, cap * sizeof *wider);
        if (!wider) return false;
        s->span = wider;
        s->cap = cap;
    }
    s->span[s->n++] = (struct axp__span){.at = at, .bytes = bytes};
    return true;
}

static bool is_head(const uint8_t *bytes)
{
    struct axp__file_head head;
    return !axp__file_head_get(bytes, &head);
}

/* The recording that ends at `end`, by its trailer; 0: there is none. */
static uint64_t length_before(int fd, uint64_t end)
{
    uint8_t tail[AXP__FILE_TAIL], head[AXP__FILE_HEAD];
    struct axp__file_tail t;
    if (end < AXP__FILE_HEAD + AXP__FILE_TAIL ||
        !read_at(fd, end - AXP__FILE_TAIL, tail, sizeof tail) ||
        axp__file_tail_get(tail, &t) || t.file_bytes > end ||
        !read_at(fd, end - t.file_bytes, head, sizeof head) || !is_head(head))
        return 0;
    return t.file_bytes;
}

/* Backwards, from trailer to trailer; where it stopped is in *end. */
static bool by_trailers(int fd, uint64_t *end, struct axp__spans *s)
{
    uint64_t bytes;
    while (*end && (bytes = length_before(fd, *end))) {
        *end -= bytes;
        if (!add(s, *end, bytes)) return false;
    }
    for (size_t i = 0; i < s->n / 2; i++) {
        struct axp__span swap = s->span[i];
        s->span[i] = s->span[s->n - 1 - i];
        s->span[s->n - 1 - i] = swap;
    }
    return true;
}

/* Where a file goes on that has a hole here, which may be as long as it pleases;
 * recordings begin at multiples of 8. */
static uint64_t past_hole(int fd, uint64_t at, uint64_t end)
{
    off_t data = lseek(fd, (off_t)at, SEEK_DATA);
    if (data < 0) return errno == ENXIO ? end : at; /* to its end; not known */
    return (uint64_t)data > at ? (uint64_t)data & ~(uint64_t)7 : at;
}

/* Forwards, from header to header, up to `end`. */
static bool by_headers(int fd, uint64_t end, struct axp__spans *s)
{
    uint8_t *buffer = malloc(READ_BYTES);
    bool ok = buffer && add(s, 0, end);
    for (uint64_t at = 8; ok && end - at >= AXP__FILE_HEAD && at < end;) {
        at = past_hole(fd, at, end);
        if (at >= end || end - at < AXP__FILE_HEAD) break;
        size_t n = end - at < READ_BYTES ? (size_t)(end - at) : READ_BYTES;
        if (!read_at(fd, at, buffer, n)) break;
        size_t i = 0;
        for (; ok && i + AXP__FILE_HEAD <= n; i += 8) {
            if (buffer[i] != 0x89 || !is_head(buffer + i)) continue;
            s->span[s->n - 1].bytes = at + i - s->span[s->n - 1].at;
            ok = add(s, at + i, end - at - i);
        }
        at += i;
    }
    free(buffer);
    return ok;
}

/* Those that a recording says follow it, but for those that do: what follows
 * the last one of a file may be another file, that somebody put there. */
static void find_missing(int fd, struct axp__spans *s)
{
    uint32_t n_there = 0;
    for (size_t i = s->n; i-- > 0;) {
        uint8_t bytes[AXP__FILE_HEAD];
        struct axp__file_head head = {0};
        if (!read_at(fd, s->span[i].at, bytes, sizeof bytes) ||
            axp__file_head_get(bytes, &head))
            head.n_after = 0; /* opening it will say what is wrong */
        s->span[i].n_missing =
            head.n_after - (n_there <= head.n_after ? n_there : 0);
        n_there = head.n_after + 1;
    }
}

static bool find(int fd, uint64_t bytes, struct axp__spans *out)
{
    struct axp__spans last = {0};
    uint64_t end = bytes;
    bool ok = by_trailers(fd, &end, &last);
    if (ok && (end || !last.n)) ok = by_headers(fd, end, out);
    for (size_t i = 0; ok && i < last.n; i++)
        ok = add(out, last.span[i].at, last.span[i].bytes);
    free(last.span);
    if (ok) find_missing(fd, out);
    return ok;
}

axp_status axp__spans_find(const char *path, struct axp__spans *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    *out = (struct axp__spans){0};
    bool ok = true;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
        ok = add(out, 0, UINT64_MAX); /* opening it will say what is wrong */
    else
        ok = find(fd, (uint64_t)st.st_size, out);
    /* Of one that goes on, so much as there is when it is opened. */
    if (ok && out->n == 1) out->span[0].bytes = UINT64_MAX;
    if (fd >= 0) close(fd);
    if (ok) return AXP_OK;
    axp__spans_fini(out);
    return axp__fail(AXP_E_NO_MEMORY, "no memory to read %s", path);
}

void axp__spans_fini(struct axp__spans *s)
{
    free(s->span);
    *s = (struct axp__spans){0};
}

/* ---- writing ----------------------------------------------------------------- */

bool axp__spans_number(int fd, uint64_t bytes)
{
    uint32_t n_after = 0;
    uint64_t length;
    for (; bytes && (length = length_before(fd, bytes)); n_after++) {
        uint8_t head[AXP__FILE_HEAD];
        struct axp__file_head h;
        bytes -= length;
        if (!read_at(fd, bytes, head, sizeof head)) return false;
        axp__file_head_get(head, &h); /* as length_before has */
        if (h.n_after == n_after) continue;
        h.n_after = n_after;
        axp__file_head_put(head, &h);
        if (pwrite(fd, head, sizeof head, (off_t)bytes) != (ssize_t)sizeof head)
            return false;
    }
    return !bytes;
}
