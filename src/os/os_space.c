/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory in a mapped file; see os_space.h. */
#include "os/os_space.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base_atomic.h"
#include "os/os_map.h"

#define UNIT 4096u
#define FIRST_CARVED ((uint64_t)128 << 10)
#define LAST_CARVED ((uint64_t)2 << 20)
#define LARGEST_CARVED ((size_t)256 << 10)
#define LEFT_BY_CHUNKS ((uint64_t)4 << 20)
#define ADDRESS_BITS 48
#define HIGH_FD 400

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

/* ---- descriptors ------------------------------------------------------------- */

bool axp__fd_is(int fd, uint64_t device, uint64_t inode)
{
    struct stat st;
    return fd >= 0 && !fstat(fd, &st) && (uint64_t)st.st_dev == device &&
           (uint64_t)st.st_ino == inode;
}

int axp__fd_move_up(int fd)
{
    if (fd < 0) return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    if (high < 0) return fd; /* few are allowed: stay */
    close(fd);
    return high;
}

bool axp__fd_allocate(int fd, uint64_t offset, uint64_t bytes)
{
    static const char zeros[4096];
    struct rlimit limit; /* past it would be SIGXFSZ */
    if (!getrlimit(RLIMIT_FSIZE, &limit) && offset + bytes > limit.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    if (!fallocate(fd, 0, (off_t)offset, (off_t)bytes)) return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
    for (uint64_t at = offset; at < offset + bytes; at += sizeof zeros)
        if (pwrite(fd, zeros, sizeof zeros, (off_t)at) != sizeof zeros)
            return false;
    return true;
}

/* ---- extents --------------------------------------------------------------------- */

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
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
            e->used != (uint32_t)kind ||
            !axp__cas(&e->kind, &free, (uint32_t)AXP__EXTENT_NONE))
            continue;
        axp__add(&s->n_free_extents, -1);
        e->used = 0;
        return e;
    }
    return NULL;
}

static struct axp__extent *new_entry(struct axp__space *s)
{
    uint32_t i = axp__get(&s->n_extents);
    do
        if (i == AXP__SPACE_EXTENTS) return NULL;
    while (!axp__cas(&s->n_extents, &i, i + 1));
    return &s->extent[i];
}

/* A place in the file, with an entry that says where. Several threads may want
 * one at once, where one of them is enough: so it costs no memory yet. */
static struct axp__extent *take_place(struct axp__space *s,
                                      enum axp__extent_kind kind,
                                      uint64_t bytes)
{
    struct axp__extent *e = take_free(s, kind, bytes);
    if (e) return e;
    e = new_entry(s);
    if (!e) return NULL;
    e->offset = axp__add(&s->end_bytes, bytes);
    e->bytes = bytes;
    return e;
}

/* Nothing is mapped there, nothing is in it. */
static void give_place(struct axp__space *s, enum axp__extent_kind kind,
                       struct axp__extent *e)
{
    e->used = (uint32_t)kind;
    axp__put_release(&e->kind, (uint32_t)AXP__EXTENT_FREE);
    axp__add(&s->n_free_extents, 1);
}

/* Bytes of an extent made sure of; false: there is no room for them. */
static bool back(struct axp__space *s, const struct axp__extent *e, uint64_t at,
                 uint64_t bytes)
{
    uint64_t before = axp__add(&s->backed_bytes, bytes);
    if (before + bytes <= s->limit_bytes &&
        axp__fd_is(s->fd, s->device, s->inode) &&
        axp__fd_allocate(s->fd, e->offset + at, bytes))
        return true;
    axp__add(&s->backed_bytes, -bytes);
    return false;
}

static void *map_place(struct axp__space *s, const struct axp__extent *e)
{
    if (!axp__fd_is(s->fd, s->device, s->inode)) return NULL;
    void *m = mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
                   (off_t)e->offset);
    return m == MAP_FAILED ? NULL : m;
}

/* Mapped, and backed if it is wanted whole; else its last page is, so that all
 * of it lies within the file. In this order, so that where
 * nothing can be mapped the file does not grow. */
static struct axp__extent *add_extent(struct axp__space *s,
                                      enum axp__extent_kind kind,
                                      uint64_t bytes, bool is_backed)
{
    struct axp__extent *e = take_place(s, kind, bytes);
    void *m = e ? map_place(s, e) : NULL;
    uint64_t from = is_backed ? 0 : bytes - UNIT; /* the file is as long */
    if (m && !back(s, e, from, bytes - from)) {
        munmap(m, bytes);
        m = NULL;
    }
    if (!m) {
        if (e) give_place(s, kind, e);
        return NULL;
    }
    e->address = (uintptr_t)m;
    axp__put_release(&e->kind, (uint32_t)kind);
    return e;
}

/* An extent that is not needed any more. What cannot be emptied stays a hole
 * in the table. */
static void drop_extent(struct axp__space *s, struct axp__extent *e,
                        uint64_t backed_bytes)
{
    enum axp__extent_kind kind = e->kind;
    axp__put(&e->kind, AXP__EXTENT_NONE);
    munmap((void *)(uintptr_t)e->address, e->bytes);
    if (!axp__fd_is(s->fd, s->device, s->inode) ||
        fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)e->offset, (off_t)e->bytes))
        return;
    axp__add(&s->backed_bytes, -backed_bytes);
    give_place(s, kind, e);
}

static struct axp__extent *extent_of(struct axp__space *s, const void *memory)
{
    uint32_t n = axp__get(&s->n_extents);
    for (uint32_t i = 0; i < n; i++) {
        struct axp__extent *e = &s->extent[i];
        if (axp__extent_is_mapped(axp__get_acquire(&e->kind)) &&
            (uintptr_t)memory >= e->address &&
            (uintptr_t)memory < e->address + e->bytes)
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

static void *pop_free(uint64_t *list)
{
    const uint64_t mask = ((uint64_t)1 << ADDRESS_BITS) - 1;
    uint64_t head = axp__get_acquire(list);
    while (head & mask) {
        /* Pieces are never unmapped while the space is open: if another has
         * taken this one, what is read here is stale and the tag differs. */
        uint64_t next = axp__get((uint64_t *)(uintptr_t)(head & mask));
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
    if ((uint64_t)(at + n) * UNIT > e->bytes ||
        !back(s, e, (uint64_t)at * UNIT, bytes))
        return NULL;
    return (char *)(uintptr_t)e->address + (size_t)at * UNIT;
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
        struct axp__extent *fresh = add_extent(s, kind, size, false);
        if (!fresh) return NULL;
        if (!axp__cas(&s->carved[kind], &now,
                      (uint32_t)(fresh - s->extent) + 1))
            drop_extent(s, fresh, UNIT); /* another was faster */
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
        struct axp__extent *e =
            add_extent(s, kind, round_up(bytes, page_bytes()), true);
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
    struct statvfs fs;
    if (fstatvfs(s->fd, &fs)) return true; /* the allocation will tell */
    uint64_t left = (uint64_t)fs.f_blocks * fs.f_frsize / 8;
    if (left > LEFT_BY_CHUNKS) left = LEFT_BY_CHUNKS;
    return (uint64_t)fs.f_bavail * fs.f_frsize >= bytes + left;
}

void *axp__space_map(struct axp__space *s, enum axp__extent_kind kind,
                     size_t bytes)
{
    int keep = errno;
    if (!s) return axp__map(bytes);
    bool is_chunks = kind == AXP__EXTENT_CHUNKS;
    void *m = is_chunks && !has_room(s, bytes) ? NULL : map_in(s, kind, bytes);
    if (!m && (kind == AXP__EXTENT_LANES || kind == AXP__EXTENT_OTHER))
        m = axp__map(bytes);
    errno = keep;
    return m;
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
        drop_extent(s, e, e->bytes);
    } else {
        axp__unmap(memory, bytes);
    }
    errno = keep;
}

bool axp__space_move_in(struct axp__space *s, enum axp__extent_kind kind,
                        void *memory, size_t bytes)
{
    uint64_t page = page_bytes();
    if (bytes % page || (uintptr_t)memory % page) return false;
    /* First elsewhere, with the content; then the same pages here. */
    struct axp__extent *e = add_extent(s, AXP__EXTENT_NONE, bytes, true);
    if (!e) return false;
    void *copy = (void *)(uintptr_t)e->address;
    memcpy(copy, memory, bytes);
    /* Not by mmap, which the race detector takes for a write. */
    void *m = (void *)syscall(SYS_mmap, memory, bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_FIXED, s->fd, e->offset);
    munmap(copy, bytes);
    if (m == MAP_FAILED) return false;
    e->address = (uintptr_t)memory;
    axp__put_release(&e->kind, (uint32_t)kind);
    return true;
}

/* ---- life ------------------------------------------------------------------------------ */

struct axp__space *axp__space_create(int fd, uint64_t limit_bytes,
                                     const uint8_t *id)
{
    struct stat st;
    uint64_t bytes = round_up(sizeof(struct axp__space), page_bytes());
    if (fd < 0) return NULL;
    fd = axp__fd_move_up(fd);
    struct axp__space *s = MAP_FAILED;
    if (!fstat(fd, &st) && axp__fd_allocate(fd, 0, bytes))
        s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED) {
        close(fd);
        return NULL;
    }
    (void)flock(fd, LOCK_EX | LOCK_NB); /* not everywhere */
    memcpy(s->magic, AXP__SPACE_MAGIC, sizeof s->magic);
    s->layout = AXP__SPACE_LAYOUT;
    s->machine = MACHINE;
    memcpy(s->id, id, sizeof s->id);
    s->pid = (uint64_t)getpid();
    s->end_bytes = bytes;
    s->limit_bytes = limit_bytes + bytes;
    s->backed_bytes = bytes;
    s->device = (uint64_t)st.st_dev;
    s->inode = (uint64_t)st.st_ino;
    s->fd = fd;
    s->n_extents = 1;
    s->extent[0] = (struct axp__extent){
        (uintptr_t)s, 0, bytes, AXP__EXTENT_HEAD, (uint32_t)(bytes / UNIT)};
    return s;
}

/* Replaces what is shared by private pages: with the content where that may
 * still be looked at, else empty. */
static void detach(struct axp__space *s, const struct axp__extent *e, bool keep)
{
    void *at = (void *)(uintptr_t)e->address;
    int prot = PROT_READ | PROT_WRITE;
    if (keep && axp__fd_is(s->fd, s->device, s->inode) &&
        mmap(at, e->bytes, prot, MAP_PRIVATE | MAP_FIXED, s->fd,
             (off_t)e->offset) != MAP_FAILED)
        return;
    (void)mmap(at, e->bytes, prot,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static bool is_kept(const struct axp__extent *e)
{
    return e->kind == AXP__EXTENT_LANES || e->kind == AXP__EXTENT_SLOT;
}

static void end_space(struct axp__space *s)
{
    int fd = s->fd;
    bool is_ours = axp__fd_is(fd, s->device, s->inode);
    munmap(s, s->extent[0].bytes);
    if (is_ours) close(fd);
}

void axp__space_close(struct axp__space *s)
{
    int keep = errno;
    if (!s) return;
    for (uint32_t i = 1; i < s->n_extents; i++) {
        const struct axp__extent *e = &s->extent[i];
        if (is_kept(e))
            detach(s, e, true);
        else if (axp__extent_is_mapped(e->kind))
            munmap((void *)(uintptr_t)e->address, e->bytes);
    }
    end_space(s);
    errno = keep;
}

/* The thread that forked may be in the middle of an event, in a handler: what
 * it wrote to stays there, as memory of its own. */
void axp__space_leave(struct axp__space *s)
{
    int keep = errno;
    if (!s) return;
    for (uint32_t i = 1; i < s->n_extents; i++)
        if (axp__extent_is_mapped(s->extent[i].kind))
            detach(s, &s->extent[i], s->extent[i].kind != AXP__EXTENT_CHUNKS);
    end_space(s);
    errno = keep;
}
