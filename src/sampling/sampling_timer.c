/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Samples from a ring; see sampling_timer.h. */
#include "sampling/sampling_timer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "axprof/axprof_ring.h"
#include "base/base_atomic.h"
#include "os/os_clock.h"
#include "os/os_namespace.h"
#include "outside/outside_ids.h"
#include "sampling/sampling_regs.h"

_Static_assert(AXP__REGS_N <= AXP_RING_REGS, "registers of a slot");

#define SLOTS 256u
#define MOST_ELSEWHERE 1024u
#define PATIENCE_NS 1000000000u
/* Looking for processes takes a hundredth of the time, a second's share of it at
 * once. */
#define LOOK_SHARE 100u
#define AT_ONCE_NS 1000000000u

struct axp__timer {
    char *path;
    axp_ring *ring;
    axp_ring_slot *now; /* a copy: its writer may come round */
    uint64_t next;
    uint64_t n_lost;     /* told */
    uint64_t n_dropped;  /* of writers that never came back */
    uint64_t since_ns;   /* that the next one has been awaited; 0: it is not */
    uint64_t name_space; /* ours, of process ids */
    uint64_t turn;       /* how often it was empty */
    struct elsewhere *elsewhere[SLOTS]; /* by its number */
    size_t n_elsewhere;
    uint64_t look_due_ns; /* had looking for them been spread evenly */
};

/* A process in another one. */
struct elsewhere {
    struct elsewhere *next;
    uint64_t name_space;
    uint32_t pid;
    struct axp__ids *ids;
    uint64_t turn; /* in which it was looked at for one that is not known */
};

/* ---- coming and going --------------------------------------------------- */

/* Room that is there: a write into a hole of a full disk would be a signal, and
 * the program's end. */
static axp_ring *make_ring(const char *path, int *error)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        *error = errno;
        return NULL;
    }
    axp_ring *ring = MAP_FAILED;
    *error = posix_fallocate(fd, 0, sizeof *ring);
    if (!*error) {
        ring =
            mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (ring == MAP_FAILED) *error = errno;
    }
    close(fd);
    if (!*error) return ring;
    (void)unlink(path);
    return NULL;
}

struct axp__timer *axp__timer_open(const char *path, double hz, int *error)
{
    struct axp__timer *t = calloc(1, sizeof *t);
    if (t) {
        t->path = strdup(path);
        t->now = malloc(sizeof *t->now);
    }
    *error = ENOMEM;
    if (t && t->path && t->now) t->ring = make_ring(path, error);
    if (t && t->ring) {
        t->name_space = axp__pid_namespace(0);
        t->ring->period_ns = (uint64_t)(1e9 / hz);
        axp__put_release(&t->ring->magic, AXP_RING_MAGIC);
        return t;
    }
    if (t) {
        free(t->path);
        free(t->now);
    }
    free(t);
    return NULL;
}

static void drop_elsewhere(struct axp__timer *t, struct elsewhere **at)
{
    struct elsewhere *e = *at;
    *at = e->next;
    axp__ids_destroy(e->ids);
    free(e);
    t->n_elsewhere--;
}

static void drop_all_elsewhere(struct axp__timer *t)
{
    for (size_t i = 0; i < SLOTS; i++)
        while (t->elsewhere[i])
            drop_elsewhere(t, &t->elsewhere[i]);
}

void axp__timer_close(struct axp__timer *t)
{
    if (!t) return;
    (void)unlink(t->path);
    drop_all_elsewhere(t);
    munmap(t->ring, sizeof *t->ring);
    free(t->path);
    free(t->now);
    free(t);
}

/* ---- records ------------------------------------------------------------ */

double axp__timer_fill(const struct axp__timer *t)
{
    uint64_t n = axp__get_acquire(&t->ring->next) - t->next;
    return n < AXP_RING_SLOTS ? (double)n / AXP_RING_SLOTS : 1;
}

uint64_t axp__timer_lost(struct axp__timer *t)
{
    uint64_t all = axp__get(&t->ring->lost) + t->n_dropped;
    uint64_t n = all - t->n_lost;
    t->n_lost = all;
    return n;
}

/* The slot of the next number, if it is whole, copied: a program may write
 * whatever it likes to its own mapping meanwhile. */
static bool copy_next(struct axp__timer *t)
{
    axp_ring_slot *slot = &t->ring->slots[t->next % AXP_RING_SLOTS];
    if (axp__get_acquire(&slot->number) != t->next + 1) return false;
    memcpy(t->now, slot, sizeof *slot);
    t->next++;
    t->since_ns = 0;
    axp__put_release(&t->ring->taken, t->next);
    return true;
}

/* Whoever took a number may have been killed before its slot was whole. It is
 * passed over after a while, and who comes back finds that he is too late. */
static bool pass_over(struct axp__timer *t)
{
    axp_ring_slot *slot = &t->ring->slots[t->next % AXP_RING_SLOTS];
    uint64_t was = axp__get_acquire(&slot->number);
    uint64_t now = axp__clock_of(CLOCK_MONOTONIC);
    if (axp__get_acquire(&t->ring->next) == t->next || was == t->next + 1)
        return false;
    if (!t->since_ns) t->since_ns = now;
    if (now - t->since_ns < PATIENCE_NS ||
        !axp__cas(&slot->number, &was, (uint64_t)-1))
        return false;
    t->n_dropped++;
    t->next++;
    t->since_ns = 0;
    axp__put_release(&t->ring->taken, t->next);
    return true;
}

static struct elsewhere **place_of(struct axp__timer *t, uint64_t name_space,
                                   uint32_t pid)
{
    struct elsewhere **at = &t->elsewhere[pid % SLOTS];
    while (*at && ((*at)->pid != pid || (*at)->name_space != name_space))
        at = &(*at)->next;
    return at;
}

static struct elsewhere *get_elsewhere(struct axp__timer *t,
                                       uint64_t name_space, uint32_t pid)
{
    struct elsewhere *e = *place_of(t, name_space, pid);
    if (e) return e;
    /* Those that go on are found again. */
    if (t->n_elsewhere == MOST_ELSEWHERE) drop_all_elsewhere(t);
    e = calloc(1, sizeof *e);
    struct axp__ids *ids = e ? axp__ids_create(name_space, pid) : NULL;
    if (!ids) {
        free(e);
        return NULL;
    }
    struct elsewhere **at = &t->elsewhere[pid % SLOTS];
    *e = (struct elsewhere){*at, name_space, pid, ids, t->turn - 1};
    t->n_elsewhere++;
    return *at = e;
}

/* All that are not found yet. */
static void find_elsewhere(struct axp__timer *t)
{
    struct axp__ids *all[MOST_ELSEWHERE];
    uint64_t begin = axp__clock_of(CLOCK_MONOTONIC);
    size_t n = 0;
    if (begin + AT_ONCE_NS < t->look_due_ns) return;
    for (size_t i = 0; i < SLOTS; i++)
        for (struct elsewhere *e = t->elsewhere[i]; e; e = e->next)
            if (!axp__ids_process(e->ids)) all[n++] = e->ids;
    axp__ids_find(all, n);
    uint64_t took = axp__clock_of(CLOCK_MONOTONIC) - begin;
    if (t->look_due_ns < begin) t->look_due_ns = begin;
    t->look_due_ns += took * LOOK_SHARE;
}

static void look_elsewhere(struct axp__timer *t, struct elsewhere *e)
{
    if (e->turn == t->turn) return;
    e->turn = t->turn;
    if (!axp__ids_process(e->ids)) find_elsewhere(t);
    if (axp__ids_process(e->ids)) (void)axp__ids_look(e->ids, true);
}

/* What a process tells are its own numbers; in another namespace they are others'
 * here. False: it was gone before it was looked for. Of a thread that was there is
 * none (0). */
static bool translate(struct axp__timer *t)
{
    axp_ring_slot *slot = t->now;
    uint64_t its = slot->pid_namespace;
    if (!its || !t->name_space || its == t->name_space) return true;
    struct elsewhere **old = place_of(t, its, slot->process_id);
    bool is_new = slot->kind == AXP_RING_FORK; /* if another had its number */
    if (is_new && *old) drop_elsewhere(t, old);
    struct elsewhere *e = get_elsewhere(t, its, slot->process_id);
    if (!e) return false;
    if (!axp__ids_thread(e->ids, slot->thread_id)) look_elsewhere(t, e);
    if (is_new) {
        const struct elsewhere *by = *place_of(t, its, (uint32_t)slot->regs[0]);
        slot->regs[0] = by ? axp__ids_process(by->ids) : 0;
    }
    slot->process_id = axp__ids_process(e->ids);
    slot->thread_id = axp__ids_thread(e->ids, slot->thread_id);
    return slot->process_id;
}

static bool take_next(struct axp__timer *t)
{
    for (;;) {
        bool is_there = copy_next(t);
        if (is_there && translate(t)) return true;
        if (is_there)
            t->n_dropped += t->now->kind == AXP_RING_SAMPLE;
        else if (!pass_over(t)) {
            t->turn++;
            return false;
        }
    }
}

bool axp__timer_next(struct axp__timer *t, struct axp__perf_record *out)
{
    const axp_ring_slot *slot = t->now;
    if (!take_next(t)) return false;
    *out = (struct axp__perf_record){.type = PERF_RECORD_COMM,
                                     .time_ns = slot->time_ns,
                                     .pid = slot->process_id,
                                     .tid = slot->thread_id};
    if (slot->kind == AXP_RING_BEGIN) {
        out->comm.is_exec = true;
        return true;
    }
    if (slot->kind == AXP_RING_FORK) {
        out->type = PERF_RECORD_FORK;
        out->fork.parent = (uint32_t)slot->regs[0];
        return true;
    }
    out->type = PERF_RECORD_SAMPLE;
    out->sample = (struct axp__perf_sample){
        .ip = slot->regs[axp__reg_place[AXP__DWARF_PC]],
        .weight_ns = slot->weight_ns,
        .regs = slot->regs,
        .stack = slot->stack,
        .n_stack =
            slot->n_stack < AXP_RING_STACK ? slot->n_stack : AXP_RING_STACK};
    return true;
}

/* ---- code that is mapped ------------------------------------------------ */

/* A number, and what stands after it; false: none, or something else there. */
static bool read_number(char **at, int base, char after, uint64_t *out)
{
    char *end;
    *out = strtoull(*at, &end, base);
    if (end == *at || *end != after) return false;
    *at = end + 1;
    return true;
}

/* "55d0-55d1 r-xp 00001000 fd:00 1234   /path of it" */
static bool read_line(char *line, struct axp__perf_record *r)
{
    struct axp__perf_mapping *m = &r->mapping;
    uint64_t end, major, minor;
    char *at = line;
    line[strcspn(line, "\n")] = 0;
    if (!read_number(&at, 16, '-', &m->address) ||
        !read_number(&at, 16, ' ', &end) || end <= m->address)
        return false;
    m->is_code = strlen(at) > 5 && at[2] == 'x';
    if (!m->is_code) return false;
    at += 5;
    if (!read_number(&at, 16, ' ', &m->offset) ||
        !read_number(&at, 16, ':', &major) ||
        !read_number(&at, 16, ' ', &minor) ||
        !read_number(&at, 10, ' ', &m->inode))
        return false;
    at += strspn(at, " ");
    m->bytes = end - m->address;
    m->device = major << 32 | minor; /* as the kernel's records */
    m->path = *at ? at : "//anon";
    return true;
}

bool axp__maps_each(uint32_t pid,
                    void (*give)(void *ctx, const struct axp__perf_record *r),
                    void *ctx)
{
    char path[40], *line = NULL;
    size_t cap = 0;
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", pid);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    while (getline(&line, &cap, f) > 0) {
        struct axp__perf_record r = {
            .type = PERF_RECORD_MMAP2, .pid = pid, .tid = pid};
        if (read_line(line, &r)) give(ctx, &r);
    }
    free(line);
    fclose(f);
    return true;
}
