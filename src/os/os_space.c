/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory in a mapped file; see os_space.h. */
#include "os/os_space.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/base_atomic.h"
#include "os/os_extent.h"
#include "os/os_file.h"
#include "os/os_map.h"

#include "axprof/axprof_adapter.h"

#define FIRST_CARVED ((uint64_t)128 << 10)
#define LAST_CARVED ((uint64_t)2 << 20)
#define LARGEST_CARVED ((size_t)256 << 10)
#define LEFT_BY_CHUNKS ((uint64_t)4 << 20)
#define ADDRESS_BITS 48
#define LEAST_BYTES ((uint64_t)1 << 20)
#define LEAST_STEP ((uint64_t)4 << 20)

/* ---- pieces ------------------------------------------------------------------------ */

static unsigned class_of(size_t bytes)
{
    unsigned c = 0;
    while (((size_t)AXP__EXTENT_UNIT << c) < bytes)
        c++;
    return c;
}

/* The link in a piece that may be another's by now, who writes what he likes
 * there: then the value is of no use, and the tag says so. No annotation would
 * fit all that is ever kept in pieces, so the race detector is not told of
 * this one load. */
__attribute__((no_sanitize("thread"))) static uint64_t peek_link(uint64_t piece)
{
    return *(const volatile uint64_t *)(uintptr_t)piece;
}

static void *pop_free(uint64_t *list)
{
    const uint64_t mask = ((uint64_t)1 << ADDRESS_BITS) - 1;
    uint64_t head = axp__get_acquire(list);
    while (head & mask) {
        /* Pieces are never unmapped while the space is open: if another has
         * taken this one, what is read here is stale and the tag differs. */
        uint64_t next = peek_link(head & mask);
        uint64_t tag = (head & ~mask) + ((uint64_t)1 << ADDRESS_BITS);
        if (axp__cas(list, &head, tag | (next & mask)))
            return (void *)(uintptr_t)(head & mask);
    }
    return NULL;
}

static void push_free(uint64_t *list, void *memory)
{
    const uint64_t mask = ((uint64_t)1 << ADDRESS_BITS) - 1;
    uint64_t head = axp__get(list);
    uint64_t tag;
    do {
        axp__put((uint64_t *)memory, head & mask);
        tag = (head & ~mask) + ((uint64_t)1 << ADDRESS_BITS);
    } while (!axp__cas(list, &head, tag | (uintptr_t)memory));
}

static void *carve_from(struct axp__space *s, struct axp__extent *e,
                        size_t bytes)
{
    uint32_t n = (uint32_t)(bytes / AXP__EXTENT_UNIT);
    uint32_t at = axp__add(&e->used, n);
    char *m = (char *)(uintptr_t)e->address + (size_t)at * AXP__EXTENT_UNIT;
    if ((uint64_t)(at + n) * AXP__EXTENT_UNIT > e->bytes ||
        !axp__extent_back(s, m, bytes))
        return NULL;
    return m;
}

static bool is_used_up(const struct axp__extent *e, size_t bytes)
{
    return (uint64_t)axp__get(&e->used) * AXP__EXTENT_UNIT + bytes > e->bytes;
}

/* Each new extent of a kind is twice as large as the one before. Pieces are
 * backed as they are taken: of several threads that find an extent used up all
 * map a new one and one of them is kept, which may cost no memory. */
static void *carve(struct axp__space *s, enum axp__extent_kind kind,
                   size_t bytes)
{
    for (;;) {
        uint32_t now = axp__get_acquire(&s->carved[kind]);
        struct axp__extent *e = now ? &s->extent[now - 1] : NULL;
        void *m = e && !is_used_up(e, bytes) ? carve_from(s, e, bytes) : NULL;
        if (m) return m;
        if (e && !is_used_up(e, bytes)) return NULL; /* no room in the file */
        uint64_t size = e ? e->bytes * 2 : FIRST_CARVED;
        size = size < LAST_CARVED ? size : LAST_CARVED;
        size = axp__round_up(size > bytes ? size : bytes, axp__page_bytes());
        struct axp__extent *fresh = axp__extent_add(s, kind, size, 0);
        if (!fresh) return NULL;
        if (!axp__cas(&s->carved[kind], &now,
                      (uint32_t)(fresh - s->extent) + 1))
            axp__extent_drop(s, fresh, 0); /* another was faster */
    }
}

static bool is_carved(enum axp__extent_kind kind, size_t bytes)
{
    return kind != AXP__EXTENT_CHUNKS && bytes <= LARGEST_CARVED;
}

static void *map_in(struct axp__space *s, enum axp__extent_kind kind,
                    size_t bytes)
{
    if (!is_carved(kind, bytes)) {
        uint64_t all = axp__round_up(bytes, axp__page_bytes());
        struct axp__extent *e =
            axp__extent_add(s, kind, all, kind == AXP__EXTENT_CHUNKS ? 0 : all);
        return e ? (void *)(uintptr_t)e->address : NULL;
    }
    if (kind != AXP__EXTENT_OTHER) /* never given back */
        return carve(s, kind, axp__round_up(bytes, AXP__EXTENT_UNIT));
    unsigned c = class_of(bytes);
    void *m = pop_free(&s->free_list[c]);
    return m ? memset(m, 0, bytes)
             : carve(s, kind, (size_t)AXP__EXTENT_UNIT << c);
}

/* Chunks are worth less than what comes after them: an eighth of a small file
 * system is left to it. */
static bool has_room(const struct axp__space *s, uint64_t bytes)
{
    struct statfs fs;
    if (statfs((const char *)(uintptr_t)s->path, &fs)) return true;
    uint64_t unit = (uint64_t)fs.f_frsize;
    uint64_t left = (uint64_t)fs.f_blocks * unit / 8;
    if (left > LEFT_BY_CHUNKS) left = LEFT_BY_CHUNKS;
    return (uint64_t)fs.f_bavail * unit >= bytes + left;
}

void *axp__space_map(struct axp__space *s, enum axp__extent_kind kind,
                     size_t bytes)
{
    int keep = errno;
    if (!s) return axp__map(bytes);
    void *m = map_in(s, kind, bytes);
    if (!m && (kind == AXP__EXTENT_LANES || kind == AXP__EXTENT_OTHER))
        m = axp__map(bytes);
    errno = keep;
    return m;
}

bool axp__space_fill(struct axp__space *s, void *memory, size_t bytes)
{
    int keep = errno;
    bool is_there = axp__get(&s->backed_bytes) + bytes <= s->limit_bytes &&
                    has_room(s, bytes) && axp__extent_make_sure(memory, bytes);
    errno = keep;
    return is_there;
}

void axp__space_show(struct axp__space *s, const void *memory, size_t bytes)
{
    struct axp__extent *e = axp__extent_of(s, memory);
    if (!e) return;
    uint32_t used = axp__get(&e->used);
    uint64_t end = (uintptr_t)memory + bytes - e->address;
    while (used < end / AXP__EXTENT_UNIT &&
           !axp__cas(&e->used, &used, (uint32_t)(end / AXP__EXTENT_UNIT)))
        ;
    axp__add(&s->backed_bytes, bytes);
}

bool axp__space_holds(struct axp__space *s, const void *memory)
{
    return axp__extent_of(s, memory) != NULL;
}

void axp__space_unmap(struct axp__space *s, void *memory, size_t bytes)
{
    int keep = errno;
    if (!s) {
        axp__unmap(memory, bytes);
        return;
    }
    struct axp__extent *e = memory ? axp__extent_of(s, memory) : NULL;
    if (e && is_carved(e->kind, bytes)) {
        if (e->kind == AXP__EXTENT_OTHER)
            push_free(&s->free_list[class_of(bytes)], memory);
    } else if (e) {
        bool is_chunks = e->kind == AXP__EXTENT_CHUNKS;
        axp__extent_drop(
            s, e, is_chunks ? (uint64_t)e->used * AXP__EXTENT_UNIT : e->bytes);
    } else {
        axp__unmap(memory, bytes);
    }
    errno = keep;
}

bool axp__space_move_in(struct axp__space *s, enum axp__extent_kind kind,
                        void *memory, size_t bytes, size_t used)
{
    uint64_t page = axp__page_bytes();
    if (bytes % page || (uintptr_t)memory % page) return false;
    /* First elsewhere, with the content; then the same pages here. */
    used = axp__round_up(used, page);
    struct axp__extent *e = axp__extent_add(s, AXP__EXTENT_NONE, bytes, used);
    if (!e) return false;
    void *copy = (void *)(uintptr_t)e->address;
    memcpy(copy, memory, used);
    axp__extent_own(s, e, true, (uintptr_t)memory);
    if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory) ==
        MAP_FAILED) {
        munmap(copy, bytes);
        axp__extent_own(s, e, false, 0);
        return false;
    }
    axp__put(&e->address, (uintptr_t)memory);
    axp__put(&e->used, (uint32_t)(used / AXP__EXTENT_UNIT));
    axp__put_release(&e->kind, (uint32_t)kind);
    return true;
}

/* ---- life ------------------------------------------------------------------------------ */

/* The file has all of its length at once, as far as a limit allows, and takes
 * no room yet. */
static uint64_t stretch(int fd, uint64_t bytes)
{
    struct rlimit limit; /* past it would be SIGXFSZ */
    uint64_t page = axp__page_bytes();
    if (!getrlimit(RLIMIT_FSIZE, &limit) && bytes > limit.rlim_cur)
        bytes = limit.rlim_cur;
    for (; bytes >= LEAST_BYTES; bytes /= 2) {
        bytes = bytes / page * page;
        if (!ftruncate(fd, (off_t)bytes)) return bytes;
        if (errno != EFBIG && errno != EINVAL) return 0;
    }
    errno = EFBIG;
    return 0;
}

/* Emulators refuse it, and so may a sandbox. */
static bool can_map_behind(const struct axp__space *s)
{
    uint64_t page = axp__page_bytes();
    void *m = axp__extent_map_behind((uintptr_t)s, page, page);
    if (m) munmap(m, page);
    return m;
}

static void begin(struct axp__space *s, const uint8_t *id, const char *path)
{
    uint64_t page = axp__page_bytes();
    memcpy(s->magic, AXP__SPACE_MAGIC, sizeof s->magic);
    s->layout = AXP__SPACE_LAYOUT;
    s->machine = AXP__SPACE_MACHINE;
    memcpy(s->id, id, sizeof s->id);
    s->pid = (uint64_t)getpid();
    s->path = (uintptr_t)path;
    s->step_bytes =
        axp__round_up(s->length_bytes / AXP__SPACE_ANCHORS + LEAST_STEP, page);
    s->anchor[0] = (uintptr_t)s;
    s->n_extents = 1;
    s->extent[0] =
        (struct axp__extent){(uintptr_t)s, 0, s->end_bytes, AXP__EXTENT_HEAD,
                             (uint32_t)(s->end_bytes / AXP__EXTENT_UNIT)};
    axp__extent_own(s, &s->extent[0], true, (uintptr_t)s);
}

/* The head of the file, with the first page of the table. */
static struct axp__space *map_head(int fd, uint64_t bytes)
{
    uint64_t sure = offsetof(struct axp__space, extent) + AXP__EXTENT_UNIT;
    void *m = axp__fd_map(fd, PROT_READ | PROT_WRITE, 0, bytes);
    if (!m) return NULL;
    if (axp__extent_make_sure(m, axp__round_up(sure, axp__page_bytes())))
        return m;
    munmap(m, bytes);
    errno = ENOSPC;
    return NULL;
}

struct axp__space *axp__space_create(int fd, const char *path,
                                     uint64_t limit_bytes, const uint8_t *id)
{
    uint64_t bytes =
        axp__round_up(sizeof(struct axp__space), axp__page_bytes());
    /* Twice, since there are holes. */
    uint64_t length = stretch(fd, 2 * (bytes + limit_bytes));
    struct stat st;
    if (!length || !axp__fd_stat(fd, &st)) return NULL;
    struct axp__space_own *own = axp__map(sizeof *own);
    struct axp__space *s = own ? map_head(fd, bytes) : NULL;
    if (!s) {
        axp__space_release(own);
        return NULL;
    }
    (void)flock(fd, LOCK_EX | LOCK_NB); /* not everywhere */
    own->is_by_path = !can_map_behind(s);
    s->own = own;
    s->end_bytes = bytes;
    s->length_bytes = length;
    s->limit_bytes = bytes + limit_bytes;
    s->backed_bytes = bytes;
    s->device = (uint64_t)st.st_dev;
    s->inode = (uint64_t)st.st_ino;
    begin(s, id, path);
    return s;
}

/* Replaces what is shared by private pages: with the content where that may
 * still be looked at, else empty. */
static void detach(const struct axp__extent *e, bool keep)
{
    void *at = (void *)(uintptr_t)e->address;
    void *copy = keep ? axp__map(e->bytes) : NULL;
    uint64_t used = (uint64_t)axp__get(&e->used) * AXP__EXTENT_UNIT;
    if (!used || used > e->bytes) used = e->bytes;
    if (copy) (void)axp__copy_mapped(copy, at, used);
    if (copy && mremap(copy, e->bytes, e->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                       at) != MAP_FAILED)
        return;
    axp__unmap(copy, e->bytes);
    (void)mmap(at, e->bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
               AXP_OWN_MAPPING);
}

static bool is_kept(const struct axp__extent *e)
{
    return e->kind == AXP__EXTENT_LANES || e->kind == AXP__EXTENT_SLOT;
}

static void end_space(struct axp__space *s)
{
    for (uint32_t i = 1; i < AXP__SPACE_ANCHORS; i++)
        if (s->anchor[i])
            munmap((void *)(uintptr_t)s->anchor[i], axp__page_bytes());
    axp__extent_own(s, &s->extent[0], false, 0);
    munmap(s, s->extent[0].bytes);
}

void axp__space_close(struct axp__space *s)
{
    int keep = errno;
    if (!s) return;
    for (uint32_t i = 1; i < s->n_extents; i++) {
        const struct axp__extent *e = &s->extent[i];
        if (is_kept(e)) detach(e, true);
        axp__extent_own(s, e, false, 0);
        if (axp__extent_is_mapped(e->kind) && !is_kept(e))
            munmap((void *)(uintptr_t)e->address, e->bytes);
    }
    end_space(s);
    errno = keep;
}

void axp__space_leave(struct axp__space *s)
{
    int keep = errno;
    if (!s) return;
    for (uint32_t i = 1; i < s->n_extents; i++) {
        const struct axp__extent *e = &s->extent[i];
        if (axp__extent_is_mapped(e->kind))
            detach(e, e->kind != AXP__EXTENT_CHUNKS);
        axp__extent_own(s, e, false, 0);
    }
    end_space(s);
    errno = keep;
}

/* ---- in the child of a fork --------------------------------------------------------- */

void axp__space_copy(struct axp__space_own *own, bool is_all)
{
    uint32_t n = axp__get(&own->n);
    for (uint32_t i = 0; i < n; i++) {
        struct axp__mapped *m = &own->at[i];
        uint64_t address = axp__get_acquire(&m->address);
        uint64_t bytes = axp__get(&m->bytes);
        if (!address || m->copy || !(is_all || axp__get(&m->stays))) continue;
        void *copy = axp__map(bytes);
        if (copy)
            axp__copy_mapped(copy, (const void *)(uintptr_t)address, bytes);
        axp__put_release(&m->copy, copy);
    }
}

void axp__space_drop_copies(struct axp__space_own *own)
{
    for (uint32_t i = 0; i < axp__get(&own->n); i++) {
        void *copy = own->at[i].copy;
        axp__put(&own->at[i].copy, NULL);
        axp__unmap(copy, own->at[i].bytes);
    }
}

void axp__space_release(struct axp__space_own *own)
{
    axp__unmap(own, own ? sizeof *own : 0);
}

void axp__space_forget(struct axp__space_own *own)
{
    int keep = errno;
    bool is_in_use = own->at[0].copy; /* by the event that was interrupted */
    for (uint32_t i = 0; i < own->n; i++) {
        struct axp__mapped *m = &own->at[i];
        void *at = (void *)(uintptr_t)m->address;
        if (!at) continue;
        if (m->copy && i == 0) /* it has no anchors here */
            ((struct axp__space *)m->copy)->step_bytes = 0;
        if (m->copy && mremap(m->copy, m->bytes, m->bytes,
                              MREMAP_MAYMOVE | MREMAP_FIXED, at) == at)
            continue;
        (void)mmap(at, m->bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                   AXP_OWN_MAPPING);
    }
    if (!is_in_use) axp__space_release(own);
    errno = keep;
}
