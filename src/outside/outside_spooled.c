/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bytes of a spool by address, its chunks and its names; see outside_spooled.h. */
#include "outside/outside_spooled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_map.h"
#include "record/record_name.h"
#include "record/record_spool.h"
#include "record/record_thread.h"
#include "wire/wire_decode.h"

#define PAGE 4096u
#define SLACK_BYTES ((uint64_t)1 << 20)

/* ---- bytes by address ---------------------------------------------------------- */

static bool read_all(int fd, void *to, size_t n, uint64_t at)
{
    char *p = to;
    while (n) {
        ssize_t k = pread(fd, p, n, (off_t)at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return true;
}

/* Where a recorder would put it: whole pages, in the file. */
static bool is_in_file(const struct axp__spooled *m,
                       const struct axp__extent *e)
{
    return axp__extent_is_mapped(e->kind) && e->bytes &&
           e->address % PAGE == 0 && e->offset % PAGE == 0 &&
           e->offset <= m->bytes && e->bytes <= m->bytes - e->offset;
}

static uint32_t n_extents(const struct axp__spooled *m)
{
    uint32_t n = m->head->n_extents;
    return n < AXP__SPACE_EXTENTS ? n : AXP__SPACE_EXTENTS;
}

static const struct axp__extent *find_extent(const struct axp__spooled *m,
                                             uint64_t address, size_t bytes)
{
    for (uint32_t i = 1; i < n_extents(m); i++) {
        const struct axp__extent *e = &m->head->extent[i];
        if (is_in_file(m, e) && address >= e->address &&
            address - e->address < e->bytes &&
            bytes <= e->bytes - (address - e->address))
            return e;
    }
    return NULL;
}

/* The next part of the file from `at` on that is not a hole, up to `end`;
 * false: there is none. A spool is made as long as it may grow and backed as
 * it does, so most of it is not there. */
static bool next_data(const struct axp__spooled *m, uint64_t *at, uint64_t end,
                      uint64_t *data_end)
{
    off_t from = lseek(m->fd, (off_t)*at, SEEK_DATA);
    if (from < 0 && errno != ENXIO) from = (off_t)*at; /* cannot tell */
    if (from < 0 || (uint64_t)from >= end) return false;
    off_t to = lseek(m->fd, from, SEEK_HOLE);
    *at = (uint64_t)from;
    *data_end = to < 0 || (uint64_t)to > end ? end : (uint64_t)to;
    return *data_end > *at;
}

/* Bytes that may still be read: extents that claim the same place over and
 * over are not believed. Of a chunk one page in four may be backed. */
static bool may_read(struct axp__spooled *m, uint64_t bytes)
{
    if (bytes > m->n_bytes_left) return false;
    m->n_bytes_left -= bytes;
    return true;
}

/* Memory that is backed where the file is. */
static char *read_extent(struct axp__spooled *m, const struct axp__extent *e)
{
    char *copy = axp__map(e->bytes);
    uint64_t end = e->offset + e->bytes, data_end;
    if (!copy) return NULL;
    for (uint64_t at = e->offset; next_data(m, &at, end, &data_end);
         at = data_end) {
        if (may_read(m, data_end - at) &&
            read_all(m->fd, copy + (at - e->offset), data_end - at, at))
            continue;
        axp__unmap(copy, e->bytes);
        return NULL;
    }
    return copy;
}

/* What lay at an address; NULL: nothing that we have. */
const void *axp__spooled_at(struct axp__spooled *m, const void *pointer,
                            size_t bytes)
{
    uint64_t address = (uintptr_t)pointer;
    const struct axp__extent *e = find_extent(m, address, bytes);
    if (!e || address % (bytes % 64 ? 8 : 64) || e->kind == AXP__EXTENT_CHUNKS)
        return NULL;
    char **copy = &m->extent[e - m->head->extent];
    if (!*copy) *copy = read_extent(m, e);
    return *copy ? *copy + (address - e->address) : NULL;
}

/* ---- words --------------------------------------------------------------------------------- */

static void unload(struct axp__cap_words *w)
{
    free(w->memory);
}

static bool load(const struct axp__cap_source *s,
                 const struct axp__cap_chunk *chunk, uint32_t part,
                 struct axp__cap_words *out)
{
    (void)part; /* there is one */
    const struct axp__spooled *m = (const struct axp__spooled *)s;
    uint64_t *words = malloc(chunk->n_words * 8);
    if (!words ||
        !read_all(m->fd, words, chunk->n_words * 8,
                  chunk->place + offsetof(struct axp__chunk, words))) {
        free(words);
        return false;
    }
    *out = (struct axp__cap_words){words, chunk->n_words, chunk->base_ticks,
                                   unload, words};
    return true;
}

/* The words of a chunk that was being written to end before a head of 0. */
static uint64_t find_end(const struct axp__chunk *chunk, uint64_t *n_events)
{
    struct axp__decoder d;
    struct axp__wire_event e;
    uint64_t n = 0;
    axp__decoder_init(&d, chunk->words, AXP__CHUNK_WORDS, chunk->base_ticks);
    while (axp__decoder_next(&d, &e)) {
        n = d.at;
        *n_events += axp__word_events(
            e.kind, e.kind == AXP__W_EXT ? e.ext : (enum axp__ext_kind)0);
    }
    return d.is_damaged ? n : d.at;
}

static void get_chunk(struct axp__spooled *m, const struct axp__chunk *chunk,
                      uint64_t place, uint32_t epoch)
{
    struct axp__capture *c = m->c;
    if (!chunk->seq || chunk->epoch != epoch || chunk->state == AXP__CHUNK_FREE)
        return;
    bool is_full = chunk->n_words && chunk->n_words <= AXP__CHUNK_WORDS;
    uint64_t n_events = is_full ? chunk->n_events : 0;
    uint64_t n = is_full ? chunk->n_words : find_end(chunk, &n_events);
    if (!n) return;
    c->chunks[c->n_chunks++] =
        (struct axp__cap_chunk){.row = chunk->row,
                                .seq = chunk->seq,
                                .base_ticks = chunk->base_ticks,
                                .source = &m->source,
                                .place = place,
                                .n_words = (size_t)n,
                                .n_events = n_events};
}

/* Bytes of an extent of chunks that are there: the others were never used. */
static uint64_t chunk_bytes(const struct axp__spooled *m,
                            const struct axp__extent *e)
{
    uint64_t used = (uint64_t)e->used * 4096;
    if (e->kind != AXP__EXTENT_CHUNKS || !is_in_file(m, e)) return 0;
    return used < e->bytes ? used : e->bytes;
}

/* The chunks of an extent that are backed, if only in part. Where a hole begins
 * is asked once a stretch: the kernel may look at every page up to it. */
static void read_chunks(struct axp__spooled *m, const struct axp__extent *e,
                        struct axp__chunk *chunk, size_t cap)
{
    uint64_t bytes = chunk_bytes(m, e);
    uint64_t end = e->offset + bytes / sizeof *chunk * sizeof *chunk;
    uint64_t at = e->offset, data_end = 0;
    while (m->c->n_chunks < cap &&
           (at < data_end || next_data(m, &at, end, &data_end))) {
        uint64_t place = at - (at - e->offset) % sizeof *chunk;
        if (!may_read(m, sizeof *chunk)) return;
        if (read_all(m->fd, chunk, sizeof *chunk, place))
            get_chunk(m, chunk, place, m->epoch);
        at = place + sizeof *chunk;
    }
}

bool axp__spooled_chunks(struct axp__spooled *m)
{
    struct axp__chunk *chunk = malloc(sizeof *chunk);
    uint64_t n = m->n_backed / PAGE + 1; /* of each a page at least */
    m->c->chunks = axp__cap_take(m->c, n, sizeof *m->c->chunks);
    bool ok = chunk && m->c->chunks;
    for (uint32_t i = 1; ok && i < n_extents(m); i++) {
        const struct axp__extent *e = &m->head->extent[i];
        if (chunk_bytes(m, e)) read_chunks(m, e, chunk, n);
    }
    free(chunk);
    return ok;
}

/* ---- names ------------------------------------------------------------------------------------ */

struct axp__cap_name axp__spooled_name(const struct axp__capture *c,
                                       uint32_t id)
{
    const struct axp__spooled *m = c->own;
    if (id > AXP__NAME_UNNAMED && id < m->n_names && m->names[id].text)
        return m->names[id];
    return axp__cap_special(id > AXP__NAME_UNNAMED ? AXP__NAME_OTHER : id);
}

static const char *keep_text(struct axp__spooled *m, const char *from,
                             uint32_t len)
{
    char *to = axp__cap_take(m->c, (size_t)len + 1, 1);
    return to ? memcpy(to, from, len) : NULL;
}

static bool add_name(struct axp__spooled *m, const struct axp__spool_name *r)
{
    if (r->id >= AXP__MAX_NAMES) return true;
    if (r->id >= m->n_names) {
        uint32_t n = r->id + 1 > 2 * m->n_names ? r->id + 1 : 2 * m->n_names;
        struct axp__cap_name *wider = realloc(m->names, n * sizeof *wider);
        if (!wider) return false;
        memset(wider + m->n_names, 0, (n - m->n_names) * sizeof *wider);
        m->names = wider;
        m->n_names = n;
    }
    const char *text = (const char *)(r + 1);
    struct axp__cap_name *n = &m->names[r->id];
    if (r->file_len && !n->file) { /* it may have come after the text */
        n->file = keep_text(m, text + r->text_len, r->file_len);
        n->line = r->line;
    }
    if (n->text) return true;
    n->text = keep_text(m, text, r->text_len);
    n->flags = r->flags;
    return n->text != NULL;
}

bool axp__spooled_names(struct axp__spooled *m)
{
    uint64_t most = m->n_backed / PAGE + 1;
    const struct axp__spool_names *b;
    uint64_t address = m->head->root[AXP__ROOT_NAMES];
    for (; address && most--; address = b->older) {
        b = axp__spooled_at(m, (const void *)(uintptr_t)address, sizeof *b);
        if (!b) break;
        uint64_t used = b->used < sizeof b->bytes ? b->used : sizeof b->bytes;
        for (uint64_t k = 0; k + sizeof(struct axp__spool_name) <= used;) {
            const struct axp__spool_name *r =
                (const struct axp__spool_name *)(const void *)(b->bytes + k);
            if (!r->bytes || r->bytes % 8 || r->bytes > used - k) break;
            if (r->id && r->text_len <= r->bytes - sizeof *r &&
                r->file_len <= r->bytes - sizeof *r - r->text_len &&
                !add_name(m, r))
                return false;
            k += r->bytes;
        }
    }
    return true;
}

/* ---- opening -------------------------------------------------------------------------------------- */

void axp__spooled_free_extents(struct axp__spooled *m)
{
    for (uint32_t i = 0; m->extent && i < AXP__SPACE_EXTENTS; i++)
        axp__unmap(m->extent[i], m->head->extent[i].bytes);
    free(m->extent);
    m->extent = NULL;
}

static axp_status check_head(const struct axp__space *h)
{
    if (memcmp(h->magic, AXP__SPACE_MAGIC, sizeof h->magic) != 0)
        return axp__fail(AXP_E_FORMAT, "not a spool of axprof");
    if (h->layout != AXP__SPACE_LAYOUT)
        return axp__fail(AXP_E_UNSUPPORTED,
                         "a spool of another version (layout %u, this one "
                         "reads %u): use the axprof that was there when it "
                         "was written",
                         h->layout, AXP__SPACE_LAYOUT);
    if (h->machine != AXP__SPACE_MACHINE)
        return axp__fail(AXP_E_UNSUPPORTED,
                         "a spool of another kind of machine: run axprof "
                         "pack where it was written");
    if (!h->is_complete)
        return axp__fail(AXP_E_FORMAT, "a spool that had not begun");
    return AXP_OK;
}

axp_status axp__spooled_open(int fd, struct axp__spooled *m)
{
    struct stat st;
    m->source.load = load;
    m->fd = fd;
    m->head = aligned_alloc(_Alignof(struct axp__space), sizeof *m->head);
    m->extent = calloc(AXP__SPACE_EXTENTS, sizeof *m->extent);
    if (!m->head || !m->extent)
        return axp__fail(AXP_E_NO_MEMORY, "no memory to read a spool");
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
        !read_all(fd, m->head, sizeof *m->head, 0))
        return axp__fail(AXP_E_FORMAT, "not a spool of axprof");
    m->bytes = (uint64_t)st.st_size; /* with room for what never came */
    if (m->bytes > m->head->end_bytes) m->bytes = m->head->end_bytes;
    for (uint64_t at = 0, end; next_data(m, &at, m->bytes, &end); at = end)
        m->n_backed += end - at;
    m->n_bytes_left = 4 * m->n_backed + SLACK_BYTES;
    m->n_left = m->n_backed / 4 + 1000; /* each is counted, then copied */
    return check_head(m->head);
}
