/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Places in a file, mapped; see os_extent.h. */
#include "os/os_extent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/base_atomic.h"
#include "os/os_apart.h"
#include "os/os_file.h"

#include "axprof/axprof_adapter.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* A store by the kernel that changes nothing, in each page: on a full disk an
 * error where ours would be SIGBUS. */
static bool touch_pages(char *at, uint64_t bytes)
{
    static uint32_t nobody;
    for (uint64_t i = 0; i < bytes; i += AXP__EXTENT_UNIT)
        if (syscall(SYS_futex, &nobody, FUTEX_WAKE_OP_PRIVATE, 0, NULL, at + i,
                    FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) < 0)
            return false;
    return true;
}

bool axp__extent_make_sure(void *at, uint64_t bytes)
{
    if (!madvise(at, bytes, MADV_POPULATE_WRITE)) return true;
    if (errno != EINVAL) return false;
    return touch_pages(at, bytes); /* before Linux 5.14 */
}

/* An old length of 0 means the same pages a second time, and as many more as
 * are asked for. */
void *axp__extent_map_behind(uint64_t page_at, uint64_t distance,
                             uint64_t bytes)
{
    int flags = MREMAP_MAYMOVE;
    void *where = NULL;
#ifdef AXP__TSAN
    /* It knows mmap alone: else what others did there long ago, when the
     * address was another mapping's, races with what is done now. */
    where = mmap64(NULL, distance + bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   AXP_OWN_MAPPING);
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

/* The page at a multiple of the step, for nothing but axp__extent_map_behind; 0: none. */
static uint64_t anchor_at(struct axp__space *s, uint64_t i)
{
    uint64_t near = i, page = axp__page_bytes();
    while (!axp__get_acquire(&s->anchor[near])) /* the first is always there */
        near--;
    if (near == i) return axp__get(&s->anchor[i]);
    char *m = axp__extent_map_behind(axp__get(&s->anchor[near]),
                                     (i - near) * s->step_bytes, page);
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
            !axp__extent_make_sure((char *)&s->extent[i] -
                                       (uintptr_t)&s->extent[i] %
                                           AXP__EXTENT_UNIT,
                                   AXP__EXTENT_UNIT))
            return NULL;
    while (!axp__cas(&s->n_extents, &i, i + 1));
    return &s->extent[i];
}

void axp__extent_own(struct axp__space *s, const struct axp__extent *e,
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

bool axp__extent_back(struct axp__space *s, void *memory, uint64_t bytes)
{
    uint64_t before = axp__add(&s->backed_bytes, bytes);
    if (before + bytes <= s->limit_bytes &&
        axp__extent_make_sure(memory, bytes))
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
    int fd = axp__fd_open((const char *)(uintptr_t)s->path,
                          O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return;
    if (axp__fd_stat(fd, &st) && (uint64_t)st.st_dev == s->device &&
        (uint64_t)st.st_ino == s->inode)
        b->memory = axp__fd_map(fd, PROT_READ | PROT_WRITE,
                                (off_t)b->extent->offset, b->extent->bytes);
    axp__fd_close(fd);
}

static void *map_place(struct axp__space *s, const struct axp__extent *e)
{
    uint64_t step = axp__get(&s->step_bytes); /* 0: in the child of a fork */
    if (step && s->own->is_by_path) {
        struct by_path b = {s, e, NULL};
        return axp__apart(map_by_path, &b) ? b.memory : NULL;
    }
    uint64_t anchor = step ? anchor_at(s, e->offset / step) : 0;
    return anchor ? axp__extent_map_behind(anchor, e->offset % step, e->bytes)
                  : NULL;
}

/* Mapped, and backed as far as it is wanted. In this order, so that where
 * nothing can be mapped the file does not grow. */
struct axp__extent *axp__extent_add(struct axp__space *s,
                                    enum axp__extent_kind kind, uint64_t bytes,
                                    uint64_t backed_bytes)
{
    struct axp__extent *e = take_place(s, kind, bytes);
    void *m = e ? map_place(s, e) : NULL;
    if (m && backed_bytes && !axp__extent_back(s, m, backed_bytes)) {
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
    axp__extent_own(s, e, !backed_bytes && kind != AXP__EXTENT_CHUNKS,
                    e->address);
    return e;
}

/* An extent that is not needed any more. What cannot be emptied stays a hole
 * in the table. */
void axp__extent_drop(struct axp__space *s, struct axp__extent *e,
                      uint64_t backed_bytes)
{
    enum axp__extent_kind kind = e->kind;
    void *memory = (void *)(uintptr_t)e->address;
    axp__put(&e->kind, AXP__EXTENT_NONE);
    axp__extent_own(s, e, false, 0);
    bool is_empty = !madvise(memory, e->bytes, MADV_REMOVE);
    munmap(memory, e->bytes);
    if (!is_empty) return;
    axp__add(&s->backed_bytes, -backed_bytes);
    give_place(s, kind, e);
}

struct axp__extent *axp__extent_of(struct axp__space *s, const void *memory)
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
