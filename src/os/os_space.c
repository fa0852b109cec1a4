/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory in a mapped file; see os_space.h. */
#include "os/os_space.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base_atomic.h"
#include "os/os_apart.h"
#include "os/os_file.h"
#include "os/os_map.h"

#define UNIT 4096u
#define FIRST_CARVED ((uint64_t)128 << 10)
#define LAST_CARVED ((uint64_t)2 << 20)
#define LARGEST_CARVED ((size_t)256 << 10)
#define LEFT_BY_CHUNKS ((uint64_t)4 << 20)
#define ADDRESS_BITS 48
#define LEAST_BYTES ((uint64_t)1 << 20)
#define LEAST_STEP ((uint64_t)4 << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

/* ---- extents --------------------------------------------------------------------- */

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* A store by the kernel that changes nothing, in each page: on a full disk an
 * error where ours would be SIGBUS. */
static bool touch_pages(char *at, uint64_t bytes)
{
    static uint32_t nobody;
    for (uint64_t i = 0; i < bytes; i += UNIT)
        if (syscall(SYS_futex, &nobody, FUTEX_WAKE_OP_PRIVATE, 0, NULL, at + i,
                    FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) < 0)
            return false;
    return true;
}

/* Memory of the file that is there from now on. Once more does no harm. */
static bool make_sure(void *at, uint64_t bytes)
{
    if (!madvise(at, bytes, MADV_POPULATE_WRITE)) return true;
    if (errno != EINVAL) return false;
    return touch_pages(at, bytes); /* before Linux 5.14 */
}

/* Maps what lies so far behind a page that is mapped: an old length of 0
 * means the same pages a second time, and as many more as are asked for. */
static void *map_behind(uint64_t page_at, uint64_t distance, uint64_t bytes)
{
    int flags = MREMAP_MAYMOVE;
    void *where = NULL;
#ifdef AXP__TSAN
    /* It knows mmap alone: else what others did there long ago, when the
     * address was another mapping's, races with what is done now. */
    where = mmap64(NULL, distance + bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (where == MAP_FAILED) return NULL;
    flags |= MREMAP_FIXED;
#endif
    char *m =
        mremap((void *)(uintptr_t)page_at, 0, distance + bytes, flags, where);
    if (m == MAP_FAILED) {
        if (where) munmap(where, distance + bytes);
        return NULL;
    }
    if (distance) munmap(m, distance);
    return m + distance;
}

/* The page at a multiple of the step, for nothing but map_behind; 0: none. */
static uint64_t anchor_at(struct axp__space *s, uint64_t i)
{
    uint64_t near = i, page = page_bytes();
    while (!axp__get_acquire(&s->anchor[near])) /* the first is always there */
        near--;
    if (near == i) return axp__get(&s->anchor[i]);
    char *m = map_behind(axp__get(&s->anchor[near]), (i - near) * s->step_bytes,
                         page);
    if (!m) return 0;
    (void)madvise(m, page, MADV_DONTFORK); /* a child needs none, and no lock */
    uint64_t none = 0;
    if (axp__cas(&s->anchor[i], &none, (uintptr_t)m)) return (uintptr_t)m;
    munmap(m, page);
    return none;
}

/* A place that was given back, of the same length and kind: a reader outside
 * may have it mapped. NULL: there is none. */
static struct axp__extent *take_free(struct axp__space *s,
                                     enum axp__extent_kind kind, uint64_t bytes)
{
    uint32_t n = axp__get(&s->n_extents);
    if (!axp__get(&s->n_free_extents)) return NULL;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t free = AXP__EXTENT_FREE;
        struct axp__extent *e = &s->extent[i];
        if (axp__get_acquire(&e->kind) != free || e->bytes != bytes ||
            axp__get(&e->used) != (uint32_t)kind ||
            !axp__cas(&e->kind, &free, (uint32_t)AXP__EXTENT_NONE))
            continue;
        axp__add(&s->n_free_extents, -1);
        axp__put(&e->used, 0);
        return e;
    }
    return NULL;
}

static struct axp__extent *new_entry(struct axp__space *s)
{
    uint32_t i = axp__get(&s->n_extents);
    do
        if (i == AXP__SPACE_EXTENTS ||
            !make_sure((char *)&s->extent[i] - (uintptr_t)&s->extent[i] % UNIT,
                       UNIT))
            return NULL;
    while (!axp__cas(&s->n_extents, &i, i + 1));
    return &s->extent[i];
}

/* Says to this process's children where it is. */
static void own_extent(struct axp__space *s, const struct axp__extent *e,
                       bool stays, uint64_t address)
{
    struct axp__space_own *own = s->own;
    uint32_t i = (uint32_t)(e - s->extent), n = axp__get(&own->n);
    axp__put(&own->at[i].bytes, e->bytes);
    axp__put(&own->at[i].stays, stays);
    axp__put_release(&own->at[i].address, address);
    while (n <= i && !axp__cas(&own->n, &n, i + 1))
        ;
}

/* A place in the file, with an entry that says where. Several threads may want
 * one at once, where one of them is enough: so it costs no memory yet. */
static struct axp__extent *take_place(struct axp__space *s,
                                      enum axp__extent_kind kind,
                                      uint64_t bytes)
{
    struct axp__extent *e = take_free(s, kind, bytes);
    if (e) return e;
    uint64_t offset = axp__get(&s->end_bytes);
    do
        if (offset + bytes > s->length_bytes) return NULL;
    while (!axp__cas(&s->end_bytes, &offset, offset + bytes));
    e = new_entry(s);
    if (!e) return NULL;
    e->offset = offset;
    e->bytes = bytes;
    return e;
}

/* Nothing is mapped there, nothing is in it. Others may be looking at it for
 * what they hold: they find that it is not here, before and after. */
static void give_place(struct axp__space *s, enum axp__extent_kind kind,
                       struct axp__extent *e)
{
    axp__put(&e->address, 0);
    axp__put(&e->used, (uint32_t)kind);
    axp__put_release(&e->kind, (uint32_t)AXP__EXTENT_FREE);
    axp__add(&s->n_free_extents, 1);
}

/* Made sure of, within the limit; false: there is no room. */
static bool back(struct axp__space *s, void *memory, uint64_t bytes)
{
    uint64_t before = axp__add(&s->backed_bytes, bytes);
    if (before + bytes <= s->limit_bytes && make_sure(memory, bytes))
        return true;
    axp__add(&s->backed_bytes, -bytes);
    return false;
}

struct by_path {
    const struct axp__space *space;
    const struct axp__extent *extent;
    void *memory; /* NULL: it is not our file any more */
};

/* Apart. */
static void map_by_path(void *ctx)
{
    struct by_path *b = ctx;
    const struct axp__space *s = b->space;
    struct stat st;
    int fd = axp__file_open((const char *)(uintptr_t)s->path,
                            O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return;
    if (axp__file_stat(fd, &st) && (uint64_t)st.st_dev == s->device &&
        (uint64_t)st.st_ino == s->inode)
        b->memory = axp__file_map(fd, PROT_READ | PROT_WRITE,
                                  (off_t)b->extent->offset, b->extent->bytes);
    axp__file_close(fd);
}

static void *map_place(struct axp__space *s, const struct axp__extent *e)
{
    uint64_t step = axp__get(&s->step_bytes); /* 0: in the child of a fork */
    if (step && s->own->is_by_path) {
        struct by_path b = {s, e, NULL};
        return axp__apart(map_by_path, &b) ? b.memory : NULL;
    }
    uint64_t anchor = step ? anchor_at(s, e->offset / step) : 0;
    return anchor ? map_behind(anchor, e->offset % step, e->bytes) : NULL;
}

/* Mapped, and backed as far as it is wanted. In this order, so that where
 * nothing can be mapped the file does not grow. */
static struct axp__extent *add_extent(struct axp__space *s,
                                      enum axp__extent_kind kind,
                                      uint64_t bytes, uint64_t backed_bytes)
{
    struct axp__extent *e = take_place(s, kind, bytes);
    void *m = e ? map_place(s, e) : NULL;
    if (m && backed_bytes && !back(s, m, backed_bytes)) {
        (void)madvise(m, bytes, MADV_REMOVE);
        munmap(m, bytes);
        m = NULL;
    }
    if (!m) {
        if (e) give_place(s, kind, e);
        return NULL;
    }
    axp__put(&e->address, (uintptr_t)m);
    axp__put_release(&e->kind, (uint32_t)kind);
    own_extent(s, e, !backed_bytes && kind != AXP__EXTENT_CHUNKS, e->address);
    return e;
}

/* An extent that is not needed any more. What cannot be emptied stays a hole
 * in the table. */
static void drop_extent(struct axp__space *s, struct axp__extent *e,
                        uint64_t backed_bytes)
{
    enum axp__extent_kind kind = e->kind;
    void *memory = (void *)(uintptr_t)e->address;
    axp__put(&e->kind, AXP__EXTENT_NONE);
    own_extent(s, e, false, 0);
    bool is_empty = !madvise(memory, e->bytes, MADV_REMOVE);
    munmap(memory, e->bytes);
    if (!is_empty) return;
    axp__add(&s->backed_bytes, -backed_bytes);
    give_place(s, kind, e);
}

static struct axp__extent *extent_of(struct axp__space *s, const void *memory)
{
    uint32_t n = axp__get(&s->n_extents);
    for (uint32_t i = 0; i < n; i++) {
        struct axp__extent *e = &s->extent[i];
        if (!axp__extent_is_mapped(axp__get_acquire(&e->kind))) continue;
        uint64_t address = axp__get(&e->address);
        if ((uintptr_t)memory >= address &&
            (uintptr_t)memory < address + e->bytes)
            return e;
    }
    return NULL;
}

/* ---- pieces ------------------------------------------------------------------------ */

static unsigned class_of(size_t bytes)
{
    unsigned c = 0;
    while (((size_t)UNIT << c) < bytes)
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
    uint32_t n = (uint32_t)(bytes / UNIT);
    uint32_t at = axp__add(&e->used, n);
    char *m = (char *)(uintptr_t)e->address + (size_t)at * UNIT;
    if ((uint64_t)(at + n) * UNIT > e->bytes || !back(s, m, bytes)) return NULL;
    return m;
}

static bool is_used_up(const struct axp__extent *e, size_t bytes)
{
    return (uint64_t)axp__get(&e->used) * UNIT + bytes > e->bytes;
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
        size = round_up(size > bytes ? size : bytes, page_bytes());
        struct axp__extent *fresh = add_extent(s, kind, size, 0);
        if (!fresh) return NULL;
        if (!axp__cas(&s->carved[kind], &now,
                      (uint32_t)(fresh - s->extent) + 1))
            drop_extent(s, fresh, 0); /* another was faster */
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
        uint64_t all = round_up(bytes, page_bytes());
        struct axp__extent *e =
            add_extent(s, kind, all, kind == AXP__EXTENT_CHUNKS ? 0 : all);
        return e ? (void *)(uintptr_t)e->address : NULL;
    }
    if (kind != AXP__EXTENT_OTHER) /* never given back */
        return carve(s, kind, round_up(bytes, UNIT));
    unsigned c = class_of(bytes);
    void *m = pop_free(&s->free_list[c]);
    return m ? memset(m, 0, bytes) : carve(s, kind, (size_t)UNIT << c);
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
                    has_room(s, bytes) && make_sure(memory, bytes);
    errno = keep;
    return is_there;
}

void axp__space_show(struct axp__space *s, const void *memory, size_t bytes)
{
    struct axp__extent *e = extent_of(s, memory);
    if (!e) return;
    uint32_t used = axp__get(&e->used);
    uint64_t end = (uintptr_t)memory + bytes - e->address;
    while (used < end / UNIT &&
           !axp__cas(&e->used, &used, (uint32_t)(end / UNIT)))
        ;
    axp__add(&s->backed_bytes, bytes);
}

bool axp__space_holds(struct axp__space *s, const void *memory)
{
    return extent_of(s, memory) != NULL;
}

void axp__space_unmap(struct axp__space *s, void *memory, size_t bytes)
{
    int keep = errno;
    if (!s) {
        axp__unmap(memory, bytes);
        return;
    }
    struct axp__extent *e = memory ? extent_of(s, memory) : NULL;
    if (e && is_carved(e->kind, bytes)) {
        if (e->kind == AXP__EXTENT_OTHER)
            push_free(&s->free_list[class_of(bytes)], memory);
    } else if (e) {
        bool is_chunks = e->kind == AXP__EXTENT_CHUNKS;
        drop_extent(s, e, is_chunks ? (uint64_t)e->used * UNIT : e->bytes);
    } else {
        axp__unmap(memory, bytes);
    }
    errno = keep;
}

bool axp__space_move_in(struct axp__space *s, enum axp__extent_kind kind,
                        void *memory, size_t bytes, size_t used)
{
    uint64_t page = page_bytes();
    if (bytes % page || (uintptr_t)memory % page) return false;
    /* First elsewhere, with the content; then the same pages here. */
    used = round_up(used, page);
    struct axp__extent *e = add_extent(s, AXP__EXTENT_NONE, bytes, used);
    if (!e) return false;
    void *copy = (void *)(uintptr_t)e->address;
    memcpy(copy, memory, used);
    own_extent(s, e, true, (uintptr_t)memory);
    if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory) ==
        MAP_FAILED) {
        munmap(copy, bytes);
        own_extent(s, e, false, 0);
        return false;
    }
    axp__put(&e->address, (uintptr_t)memory);
    axp__put(&e->used, (uint32_t)(used / UNIT));
    axp__put_release(&e->kind, (uint32_t)kind);
    return true;
}

/* ---- life ------------------------------------------------------------------------------ */

/* The file has all of its length at once, as far as a limit allows, and takes
 * no room yet. */
static uint64_t stretch(int fd, uint64_t bytes)
{
    struct rlimit limit; /* past it would be SIGXFSZ */
    uint64_t page = page_bytes();
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
    uint64_t page = page_bytes();
    void *m = map_behind((uintptr_t)s, page, page);
    if (m) munmap(m, page);
    return m;
}

static void begin(struct axp__space *s, const uint8_t *id, const char *path)
{
    uint64_t page = page_bytes();
    memcpy(s->magic, AXP__SPACE_MAGIC, sizeof s->magic);
    s->layout = AXP__SPACE_LAYOUT;
    s->machine = MACHINE;
    memcpy(s->id, id, sizeof s->id);
    s->pid = (uint64_t)getpid();
    s->path = (uintptr_t)path;
    s->step_bytes =
        round_up(s->length_bytes / AXP__SPACE_ANCHORS + LEAST_STEP, page);
    s->anchor[0] = (uintptr_t)s;
    s->n_extents = 1;
    s->extent[0] =
        (struct axp__extent){(uintptr_t)s, 0, s->end_bytes, AXP__EXTENT_HEAD,
                             (uint32_t)(s->end_bytes / UNIT)};
    own_extent(s, &s->extent[0], true, (uintptr_t)s);
}

/* The head of the file, with the first page of the table. */
static struct axp__space *map_head(int fd, uint64_t bytes)
{
    uint64_t sure = offsetof(struct axp__space, extent) + UNIT;
    void *m = axp__file_map(fd, PROT_READ | PROT_WRITE, 0, bytes);
    if (!m) return NULL;
    if (make_sure(m, round_up(sure, page_bytes()))) return m;
    munmap(m, bytes);
    errno = ENOSPC;
    return NULL;
}

struct axp__space *axp__space_create(int fd, const char *path,
                                     uint64_t limit_bytes, const uint8_t *id)
{
    uint64_t bytes = round_up(sizeof(struct axp__space), page_bytes());
    /* Twice, since there are holes. */
    uint64_t length = stretch(fd, 2 * (bytes + limit_bytes));
    struct stat st;
    if (!length || !axp__file_stat(fd, &st)) return NULL;
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
    uint64_t used = (uint64_t)axp__get(&e->used) * UNIT;
    if (!used || used > e->bytes) used = e->bytes;
    if (copy) (void)axp__copy_mapped(copy, at, used);
    if (copy && mremap(copy, e->bytes, e->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                       at) != MAP_FAILED)
        return;
    axp__unmap(copy, e->bytes);
    (void)mmap(at, e->bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static bool is_kept(const struct axp__extent *e)
{
    return e->kind == AXP__EXTENT_LANES || e->kind == AXP__EXTENT_SLOT;
}

static void end_space(struct axp__space *s)
{
    for (uint32_t i = 1; i < AXP__SPACE_ANCHORS; i++)
        if (s->anchor[i]) munmap((void *)(uintptr_t)s->anchor[i], page_bytes());
    own_extent(s, &s->extent[0], false, 0);
    munmap(s, s->extent[0].bytes);
}

void axp__space_close(struct axp__space *s)
{
    int keep = errno;
    if (!s) return;
    for (uint32_t i = 1; i < s->n_extents; i++) {
        const struct axp__extent *e = &s->extent[i];
        if (is_kept(e)) detach(e, true);
        own_extent(s, e, false, 0);
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
        own_extent(s, e, false, 0);
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
                   0);
    }
    axp__space_release(own);
    errno = keep;
}
