/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The drain from outside: axprof run moves full chunks from the spool of a
 * process into its trace, while the process runs.
 *
 * The spool is mapped, since chunks change hands by compare-and-swap; its
 * owner may do anything with it. So nothing in it is believed: a chunk is
 * copied first, checked, and written from the copy, and addresses are looked
 * up in the table of extents, which is copied too. A spool that its owner has
 * shortened would be SIGBUS: the length is asked for before each pass, and the
 * window that remains ends this process alone, never the target.
 *
 * If this process dies, chunks that it was draining stay as they are in the
 * spool, where readers find them, and the target goes on with the others.
 */
#include "outside/outside_drain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_about.h"
#include "os/os_namespace.h"
#include "outside/outside_ids.h"
#include "outside/outside_keep.h"
#include "outside/outside_recover.h"
#include "record/record_lane.h"
#include "record/record_profiler.h"
#include "record/record_thread.h"
#include "record/record_spool.h"
#include "record/record_trace.h"
#include "wire/wire_decode.h"

#define BATCH 256u
#define MODULES_EVERY_NS 1000000000u
/* A large block packs well, is packed once, and wakes this process seldom. */
#define ENOUGH_CHUNKS 64u
#define WRITE_AFTER_NS 1000000000u

struct axp__outside {
    int fd; /* the spool */
    struct axp__space *head;
    struct axp__prof *prof;           /* mapped; its slot */
    char *extent[AXP__SPACE_EXTENTS]; /* mapped; CHUNKS alone */
    uint64_t extent_bytes[AXP__SPACE_EXTENTS];
    struct axp__trace trace;
    char *path;
    struct axp__chunk *copy; /* BATCH of them */
    uint64_t n_events;       /* moved so far */
    struct axp__keep *keep;  /* NULL: everything */
    struct axp__ids *ids;    /* of another namespace; NULL: of ours */
    size_t n_ids;            /* that were told */
    uint64_t told_ns;        /* when its modules were told */
    uint64_t taken_ns;       /* when chunks were last taken */
    bool is_told;            /* that writing failed */
};

static void *map_at(int fd, uint64_t offset, uint64_t bytes)
{
    struct stat st;
    if (fstat(fd, &st) || offset > (uint64_t)st.st_size ||
        bytes > (uint64_t)st.st_size - offset)
        return NULL;
    void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                   (off_t)offset);
    return m == MAP_FAILED ? NULL : m;
}

/* ---- ids ------------------------------------------------------------------------- */

static void tell_number(struct axp__pen *pen, const char *key, uint64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64, value);
    axp__pen_tell(pen, key, text, (size_t)n);
}

static void tell_thread(struct axp__pen *pen, const struct axp__id *id)
{
    char key[40], text[48];
    snprintf(key, sizeof key, AXP__ABOUT_THREAD "%" PRIu32, id->inner);
    int n = snprintf(text, sizeof text, "%" PRIu32 " %" PRIu64, id->outer,
                     id->since_ticks);
    axp__pen_tell(pen, key, text, (size_t)n);
}

/* What who is outside calls it and its threads: when they are gone nobody can
 * tell. */
static void tell_ids(struct axp__outside *o)
{
    struct axp__pen *pen = &o->trace.pen;
    size_t n;
    if (!axp__ids_look(o->ids, false)) return;
    const struct axp__id *list = axp__ids_list(o->ids, &n);
    axp__pen_gather(pen, AXP__B_ABOUT, 0);
    if (!o->n_ids) {
        tell_number(pen, AXP__ABOUT_NAMESPACE, axp__pid_namespace(0));
        tell_number(pen, AXP__ABOUT_PROCESS, axp__ids_process(o->ids));
    }
    while (o->n_ids < n)
        tell_thread(pen, &list[o->n_ids++]);
    axp__pen_flush(pen);
}

/* ---- opening ---------------------------------------------------------------------- */

static bool map_slot(struct axp__outside *o)
{
    uint64_t address = axp__get(&o->head->root[AXP__ROOT_PROF]);
    uint32_t n = axp__get_acquire(&o->head->n_extents);
    for (uint32_t i = 1; i < n && i < AXP__SPACE_EXTENTS; i++) {
        struct axp__extent e = o->head->extent[i];
        if (e.kind != AXP__EXTENT_SLOT || e.address != address ||
            e.bytes != AXP__PROF_BYTES)
            continue;
        o->prof = map_at(o->fd, e.offset, e.bytes);
        return o->prof != NULL;
    }
    return false;
}

static bool open_trace(struct axp__outside *o, int fd, const char *path)
{
    struct stat st;
    o->path = strdup(path);
    o->trace.pen.fd = fd;
    if (!o->path || fstat(fd, &st)) return false;
    o->trace.path = o->path;
    o->trace.device = (uint64_t)st.st_dev;
    o->trace.inode = (uint64_t)st.st_ino;
    o->trace.pen.end = ((uint64_t)st.st_size + 7) & ~(uint64_t)7;
    return axp__trace_prepare(&o->trace);
}

/* What it calls itself is another's number here. */
static void find_ids(struct axp__outside *o)
{
    uint64_t its = o->head->pid_namespace, ours = axp__pid_namespace(0);
    bool is_elsewhere = its && ours && its != ours;
    if (!is_elsewhere || o->head->pid > UINT32_MAX) return;
    o->ids = axp__ids_create(its, (uint32_t)o->head->pid);
    if (o->ids) tell_ids(o);
}

struct axp__outside *axp__outside_open(int trace_fd, int spool_fd,
                                       const char *trace_path)
{
    struct axp__outside *o = calloc(1, sizeof *o);
    if (!o) {
        close(trace_fd);
        close(spool_fd);
        axp__fail(AXP_E_NO_MEMORY, "no memory to drain a spool");
        return NULL;
    }
    o->fd = spool_fd;
    o->trace.pen.fd = trace_fd;
    o->copy = malloc(BATCH * sizeof *o->copy);
    o->head = map_at(spool_fd, 0, sizeof *o->head);
    bool ok = o->copy && o->head &&
              !memcmp(o->head->magic, AXP__SPACE_MAGIC, 8) &&
              o->head->layout == AXP__SPACE_LAYOUT &&
              axp__get_acquire(&o->head->is_complete) && map_slot(o) &&
              open_trace(o, trace_fd, trace_path);
    if (ok) find_ids(o);
    if (ok) return o;
    axp__outside_close(o);
    axp__fail(AXP_E_FORMAT, "%s has no spool that can be drained", trace_path);
    return NULL;
}

void axp__outside_close(struct axp__outside *o)
{
    if (!o) return;
    axp__ids_destroy(o->ids);
    if (o->keep) axp__keep_finish(o->keep, &o->trace);
    axp__keep_destroy(o->keep);
    for (uint32_t i = 0; i < AXP__SPACE_EXTENTS; i++)
        if (o->extent[i]) munmap(o->extent[i], o->extent_bytes[i]);
    if (o->prof) munmap(o->prof, AXP__PROF_BYTES);
    if (o->head) munmap(o->head, sizeof *o->head);
    axp__trace_close(&o->trace);
    close(o->fd);
    free(o->copy);
    free(o->path);
    free(o);
}

/* ---- chunks ------------------------------------------------------------------------- */

static void map_new(struct axp__outside *o, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        if (o->extent[i] ||
            axp__get_acquire(&o->head->extent[i].kind) != AXP__EXTENT_CHUNKS)
            continue;
        struct axp__extent e = o->head->extent[i]; /* as its kind has it */
        o->extent[i] = map_at(o->fd, e.offset, e.bytes);
        if (o->extent[i]) o->extent_bytes[i] = e.bytes;
    }
}

/* What is there of an extent of chunks: a load from what is not might find no
 * room, which is SIGBUS. */
static uint64_t shown_bytes(const struct axp__outside *o, uint32_t i)
{
    if (!o->extent[i]) return 0;
    uint64_t used = (uint64_t)axp__get_acquire(&o->head->extent[i].used) * 4096;
    return used < o->extent_bytes[i] ? used : o->extent_bytes[i];
}

/* What may be packed: whole events, and nothing after them. */
static bool is_sound(const struct axp__chunk *c, uint32_t epoch)
{
    struct axp__decoder d;
    struct axp__wire_event e;
    if (!c->seq || c->epoch != epoch || !c->n_words ||
        c->n_words > AXP__CHUNK_WORDS || c->n_events > c->n_words * 2)
        return false;
    axp__decoder_init(&d, c->words, c->n_words, c->base_ticks);
    while (axp__decoder_next(&d, &e))
        ;
    return !d.is_damaged && d.at == c->n_words;
}

/* The process's own drain would have warned. */
static void tell_errors(struct axp__outside *o)
{
    if (!o->trace.pen.error || o->is_told) return;
    o->is_told = true;
    axp__add(&o->prof->warning[AXP__WARN_WRITE_FAILED].count, 1);
}

static void give_back(struct axp__outside *o, struct axp__chunk *c)
{
    axp__put(&c->seq, 0);
    axp__put_release(&c->state, AXP__CHUNK_FREE);
    axp__add(&o->prof->pool.n_free, 1);
}

/* What there is of it: most of a thread's that lived for a moment was never
 * touched. The length may change while it is read, so it is read once. */
static void copy_chunk(struct axp__chunk *to, const struct axp__chunk *from)
{
    uint64_t n = axp__get_acquire(&from->n_words);
    if (n > AXP__CHUNK_WORDS) n = 0; /* and is not sound */
    memcpy(to, from, offsetof(struct axp__chunk, words) + n * 8);
    to->n_words = n;
}

/* Takes what is full in one extent, with a copy of each; how many there are
 * now. */
static size_t take_full(struct axp__outside *o, uint32_t i,
                        struct axp__chunk **taken, size_t n)
{
    uint64_t bytes = shown_bytes(o, i);
    for (uint64_t k = 0; k + AXP__CHUNK_BYTES <= bytes && n < BATCH;
         k += AXP__CHUNK_BYTES) {
        struct axp__chunk *c = (struct axp__chunk *)(void *)(o->extent[i] + k);
        uint64_t full = AXP__CHUNK_FULL;
        if (axp__get(&c->state) != full ||
            !axp__cas(&c->state, &full, AXP__CHUNK_DRAINING))
            continue;
        copy_chunk(&o->copy[n], c);
        taken[n++] = c;
    }
    return n;
}

/* The copies that are sound; what could not be written stays in the spool. */
static void write_sound(struct axp__outside *o, struct axp__chunk **taken,
                        size_t n_taken)
{
    struct axp__chunk *sound[BATCH];
    uint32_t epoch = (uint32_t)(axp__get(&o->prof->gate) >> 8);
    size_t n = 0;
    for (size_t i = 0; i < n_taken; i++) {
        if (!is_sound(&o->copy[i], epoch)) continue;
        o->n_events += o->copy[i].n_events;
        sound[n++] = &o->copy[i];
    }
    o->trace.is_hasty = axp__pool_is_pressed(&o->prof->pool);
    size_t n_written = 0;
    if (n && o->keep)
        n_written = axp__keep_take(o->keep, &o->trace, sound, n);
    else if (n)
        n_written = axp__trace_chunks(&o->trace, sound, n);
    for (size_t i = n_written; i < n; i++) {
        struct axp__chunk **c = &taken[sound[i] - o->copy];
        axp__put_release(&(*c)->state, AXP__CHUNK_FULL);
        *c = NULL;
    }
}

/* ---- modules ----------------------------------------------------------------------------- */

/* What the process has loaded, where there are stacks, if that has changed:
 * when it is gone nobody can tell. */
static void tell_modules(struct axp__outside *o)
{
    struct axp__pen *pen = &o->trace.pen;
    struct stat st;
    uint64_t now = axp__clock_of(CLOCK_MONOTONIC);
    if (!axp__get(&o->prof->stacks.table) ||
        now - o->told_ns < MODULES_EVERY_NS || fstat(o->fd, &st))
        return;
    o->told_ns = now;
    axp__pen_gather(pen, AXP__B_ABOUT, 0);
    bool is_its = axp__about_maps_of((uint64_t)axp__outside_pid(o), &st,
                                     axp__pen_tell, pen);
    uint32_t crc = axp__crc32c(0, pen->body, pen->used);
    if (!is_its || crc == o->trace.maps_crc) return;
    o->trace.maps_crc = crc;
    axp__pen_flush(pen);
}

/* ---- a step --------------------------------------------------------------------------------- */

static size_t count_full(const struct axp__outside *o, uint32_t n, size_t most)
{
    size_t full = 0;
    for (uint32_t i = 1; i < n; i++)
        for (uint64_t k = 0, bytes = shown_bytes(o, i);
             k + AXP__CHUNK_BYTES <= bytes && full < most;
             k += AXP__CHUNK_BYTES) {
            const void *at = o->extent[i] + k;
            const struct axp__chunk *c = at;
            full += axp__get(&c->state) == AXP__CHUNK_FULL;
        }
    return full;
}

/* Whether what is full is worth a block, or has waited for long; a small spool
 * cannot wait. */
static bool is_enough(struct axp__outside *o, uint32_t n)
{
    uint64_t part = axp__get(&o->prof->pool.max_chunks) / 4;
    size_t enough = part < ENOUGH_CHUNKS ? (size_t)part + 1 : ENOUGH_CHUNKS;
    size_t full = count_full(o, n, enough);
    uint64_t now = full ? axp__clock_of(CLOCK_MONOTONIC) : 0;
    if (!full || (full < enough && now - o->taken_ns < WRITE_AFTER_NS))
        return false;
    o->taken_ns = now;
    return true;
}

size_t axp__outside_step(struct axp__outside *o, bool is_last)
{
    struct axp__chunk *taken[BATCH];
    size_t n_taken = 0;
    uint32_t n = axp__get_acquire(&o->head->n_extents);
    if (o->trace.pen.error) return 0; /* the spool goes on as a ring */
    if (n > AXP__SPACE_EXTENTS) n = AXP__SPACE_EXTENTS;
    map_new(o, n);
    if (o->ids) tell_ids(o);
    tell_modules(o);
    if (!is_last && !is_enough(o, n)) return 0;
    for (uint32_t i = 1; i < n && n_taken < BATCH; i++)
        n_taken = take_full(o, i, taken, n_taken);
    write_sound(o, taken, n_taken);
    tell_errors(o);
    for (size_t i = 0; i < n_taken; i++)
        if (taken[i]) give_back(o, taken[i]);
    return o->trace.pen.error ? 0 : n_taken;
}

/* ---- what is wanted --------------------------------------------------------------------- */

bool axp__outside_keep(struct axp__outside *o,
                       const struct axp__keep_rule *rule)
{
    axp__keep_destroy(o->keep);
    o->keep = axp__keep_create(rule);
    return o->keep != NULL;
}

uint64_t axp__outside_wanted_from(const struct axp__outside *o)
{
    return o->keep ? axp__keep_wanted_from(o->keep) : 0;
}

struct mapped {
    char *base; /* NULL: not there */
    uint64_t bytes;
    void *object;
};

/* Maps what lies at an address of the other process, by the table. */
static struct mapped map_object(struct axp__outside *o, uint64_t address,
                                uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint32_t n = axp__get_acquire(&o->head->n_extents);
    struct mapped m = {0};
    for (uint32_t i = 1; i < n && i < AXP__SPACE_EXTENTS; i++) {
        struct axp__extent e = o->head->extent[i];
        uint64_t at = address - e.address;
        if (e.kind != AXP__EXTENT_LANES || at >= e.bytes ||
            bytes > e.bytes - at)
            continue;
        uint64_t begin = (e.offset + at) & ~(page - 1);
        m.bytes = e.offset + at + bytes - begin;
        m.base = map_at(o->fd, begin, m.bytes);
        m.object = m.base + (e.offset + at - begin);
        break;
    }
    return m;
}

/* The gate first, then every lane, as axp__prof_stop_lanes does it in the process. */
void axp__outside_stop(struct axp__outside *o)
{
    uint64_t gate = axp__get(&o->prof->gate);
    axp__put(&o->prof->was_disabled, true);
    while (!axp__cas(&o->prof->gate, &gate, gate & ~AXP__GATE_ENABLED))
        continue;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* pairs with admit's */
    uint64_t address = (uintptr_t)axp__get_acquire(&o->prof->lanes);
    for (uint32_t n = 0; address && n < AXP__LANES_A_PAGE * AXP__LANE_PAGES;
         n++) {
        struct mapped m = map_object(o, address, sizeof(struct axp__lane));
        struct axp__lane *lane = m.object;
        if (!m.base) break;
        axp__lane_stop(lane);
        address = (uintptr_t)axp__get(&lane->next);
        munmap(m.base, m.bytes);
    }
    uint64_t not_yet = 0; /* the process may have been first */
    axp__cas(&o->prof->over_ticks, &not_yet, axp__clock_now());
}

/* ---- what a status line says ------------------------------------------------------------ */

uint64_t axp__outside_spool_bytes(const struct axp__outside *o)
{
    struct stat st;
    return fstat(o->fd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

uint64_t axp__outside_apart_bytes(const struct axp__outside *o)
{
    return axp__budget_anonymous(&o->prof->budget) +
           axp__budget_anonymous(&o->prof->heap.budget);
}

uint64_t axp__outside_bytes(const struct axp__outside *o)
{
    return o->trace.pen.end;
}

static uint64_t count_words(const struct axp__chunk *c)
{
    struct axp__decoder d;
    struct axp__wire_event e;
    uint64_t n = 0;
    axp__decoder_init(&d, c->words, AXP__CHUNK_WORDS, c->base_ticks);
    while (axp__decoder_next(&d, &e))
        n += axp__word_events(
            e.kind, e.kind == AXP__W_EXT ? e.ext : (enum axp__ext_kind)0);
    return n;
}

static uint64_t count_chunk(const struct axp__outside *o,
                            const struct axp__chunk *c)
{
    enum { MOST = 2 * AXP__CHUNK_WORDS };
    uint64_t state = axp__get(&c->state), n = axp__get(&c->n_events);
    if (state == AXP__CHUNK_FULL) return n < MOST ? n : MOST;
    if (state != AXP__CHUNK_WRITING) return 0;
    memcpy(&o->copy[0], c, sizeof *c);
    return count_words(&o->copy[0]);
}

/* Those in chunks that are being written to, or wait, too: a program that records
 * little may take minutes to fill one. */
uint64_t axp__outside_events(const struct axp__outside *o)
{
    uint64_t n = o->n_events;
    for (uint32_t i = 1; i < AXP__SPACE_EXTENTS; i++)
        for (uint64_t k = 0; k + AXP__CHUNK_BYTES <= shown_bytes(o, i);
             k += AXP__CHUNK_BYTES)
            n += count_chunk(o, (const void *)(o->extent[i] + k));
    return n;
}

uint64_t axp__outside_steps(const struct axp__outside *o)
{
    return axp__get(&o->prof->n_steps);
}

const char *axp__outside_path(const struct axp__outside *o)
{
    return o->path;
}

bool axp__outside_is_over(const struct axp__outside *o)
{
    return !axp__spool_is_in_use(o->fd);
}

int axp__outside_pid(const struct axp__outside *o)
{
    return (int)(o->ids ? axp__ids_process(o->ids) : o->head->pid);
}
