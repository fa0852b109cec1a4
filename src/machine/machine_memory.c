/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bandwidth of each level of memory: reading; and moving, the better of a copy
 * and a triad (one stream written for one and for two that are read). Of sets that fit half of a level and not the one
 * before, and of one that is several times the last cache.
 *
 * Memory   all threads' sets together are as large as the one of a single
 *          thread, and there is room for both: at most a quarter of what is
 *          free. Each thread touches its own first, so that it is near.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "machine/machine_cpu.h"
#include "machine/machine_item.h"
#include "machine/machine_kernel.h"

#define MB (1ull << 20)
#define MOST_MOVERS 8
#define UNIT (6u * AXP__MOVER_BYTES) /* two parts, or three */
#define LEAST_SET (64 * MB)
#define LEAST (4 * MB) /* where there is no room for that */

struct axp__buffers {
    struct axp__mover movers[MOST_MOVERS];
    size_t n_movers;
    void *map[2]; /* of one thread; of all */
    size_t bytes;
    uint32_t n_threads;
    size_t slice;      /* of each, of all */
    void **one, **all; /* where by thread */
};

void axp__buffers_free(struct axp__buffers *b)
{
    if (!b) return;
    for (int i = 0; i < 2; i++)
        if (b->map[i]) munmap(b->map[i], b->bytes);
    free(b->one);
    free(b->all);
    free(b);
}

/* ---- memory ----------------------------------------------------------------- */

static void touch(void *ctx, uint32_t thread)
{
    struct axp__buffers *b = ctx;
    memset(b->all[thread], 1, b->slice);
    if (!thread) memset(b->one[0], 1, b->bytes);
}

static void *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return NULL;
    (void)madvise(at, bytes, MADV_HUGEPAGE); /* not everywhere */
    return at;
}

/* Several times all last caches; less where there is less room. */
static size_t set_bytes(const struct axp__machine *m)
{
    uint64_t caches = 0, most = (m->is_short ? 256 : 1024) * MB;
    for (size_t i = 0; i < m->n_memory; i++) {
        const struct axp__machine_memory *is = &m->memory[i];
        if (is->level == AXP_LEVEL_MEMORY) continue;
        uint64_t n = (m->n_threads + is->shared - 1) / is->shared;
        if (is->bytes * n > caches) caches = is->bytes * n;
    }
    uint64_t want = (m->is_short ? 3 : 4) * caches, room = axp__cpu_room("");
    if (want < LEAST_SET) want = LEAST_SET;
    if (want > most) want = most;
    if (want > room) want = room;
    return want / MB * MB;
}

static struct axp__buffers *make_of(const struct axp__machine *m, size_t bytes)
{
    struct axp__buffers *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->n_movers = axp__movers(b->movers, MOST_MOVERS);
    b->n_threads = m->n_threads;
    b->bytes = bytes;
    b->slice = b->bytes / b->n_threads / UNIT * UNIT;
    b->one = calloc(1, sizeof *b->one);
    b->all = calloc(b->n_threads, sizeof *b->all);
    bool ok = b->one && b->all && b->slice;
    for (int i = 0; i < 2 && ok; i++)
        ok = (b->map[i] = map(b->bytes)) != NULL;
    if (!ok) {
        axp__buffers_free(b);
        return NULL;
    }
    b->one[0] = b->map[0];
    for (uint32_t i = 0; i < b->n_threads; i++)
        b->all[i] = (char *)b->map[1] + i * b->slice;
    return b;
}

/* Smaller ones where there is no room for them. */
static struct axp__buffers *make(struct axp__items *s,
                                 const struct axp__machine *m)
{
    struct axp__buffers *b = NULL;
    for (size_t bytes = set_bytes(m); !b && bytes >= LEAST; bytes /= 2)
        b = make_of(m, bytes);
    if (b) axp__crew_run(s->crew, b->n_threads, touch, b);
    return b;
}

/* ---- items ------------------------------------------------------------------- */

static void run_read(const struct axp__item *item, uint32_t thread,
                     uint64_t passes)
{
    const struct axp__mover *s = item->of;
    while (passes--)
        s->read(item->where[thread], item->bytes);
}

static void run_copy(const struct axp__item *item, uint32_t thread,
                     uint64_t passes)
{
    const struct axp__mover *s = item->of;
    char *at = item->where[thread];
    size_t part = item->bytes / 2;
    while (passes--)
        s->copy(at, at + part, part);
}

static void run_triad(const struct axp__item *item, uint32_t thread,
                      uint64_t passes)
{
    const struct axp__mover *s = item->of;
    char *at = item->where[thread];
    size_t part = item->bytes / 3;
    while (passes--)
        s->triad(at, at + part, at + 2 * part, part);
}

/* Of each thread, when so many run; 0: the level cannot be told from the one
 * below it. */
static size_t bytes_of(const struct axp__buffers *b,
                       const struct axp__machine *m, size_t i, uint32_t threads)
{
    const struct axp__machine_memory *is = &m->memory[i];
    uint64_t bytes = is->bytes / 2;
    size_t whole = threads > 1 ? b->slice : b->bytes;
    if (is->level == AXP_LEVEL_MEMORY) return whole / UNIT * UNIT;
    if (threads > 1) bytes /= threads < is->shared ? threads : is->shared;
    uint64_t below = i ? m->memory[i - 1].bytes : 0;
    if (bytes < 2 * below || bytes < UNIT || bytes > whole) return 0;
    return bytes / UNIT * UNIT;
}

static void add_level(struct axp__items *s, struct axp__buffers *b,
                      struct axp__machine *m, size_t i, bool is_all)
{
    struct axp__machine_memory *to = &m->memory[i];
    struct axp__item item = {.what = to->level == AXP_LEVEL_MEMORY ? "memory"
                                                                   : "caches",
                             .threads = is_all ? m->n_threads : 1,
                             .where = is_all ? b->all : b->one};
    item.bytes = bytes_of(b, m, i, item.threads);
    item.work = (double)item.bytes;
    for (size_t k = 0; k < b->n_movers && item.bytes; k++) {
        const struct axp__mover *mover = &b->movers[k];
        if (mover->is_direct && to->level != AXP_LEVEL_MEMORY) continue;
        item.of = mover;
        item.run = run_read;
        item.to = is_all ? &to->read_all : &to->read_one;
        if (mover->read) axp__items_add(s, item);
        item.to = is_all ? &to->move_all : &to->move_one;
        item.run = run_copy;
        if (mover->copy) axp__items_add(s, item);
        item.run = run_triad;
        if (mover->triad) axp__items_add(s, item);
    }
}

struct axp__buffers *axp__memory_add(struct axp__items *s,
                                     struct axp__machine *m)
{
    struct axp__buffers *b = make(s, m);
    for (size_t i = 0; b && i < m->n_memory; i++) {
        add_level(s, b, m, i, false);
        if (m->n_threads > 1) add_level(s, b, m, i, true);
    }
    return b;
}
