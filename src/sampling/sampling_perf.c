/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* perf_event_open and its rings; see sampling_perf.h. */
#include "sampling/sampling_perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os_clock.h"
#include "sampling/sampling_cpus.h"
#include "sampling/sampling_record.h"
#include "sampling/sampling_regs.h"

/* Of one CPU; one of the clocks is on. */
enum { STORY, LARGE, LITTLE, EVENTS };

#define RING_MOST ((size_t)2 << 20) /* of one CPU */
#define RING_LEAST ((size_t)64 << 10)
#define LEAVES_HZ 97u /* of a thread that leaves: so many have a stack … */
#define LEAVE_STACK 1024u /* … so much of it: who called, and from where */
#define STACK_LESS 8192u  /* bytes of a stack where the ring is not of … */
#define RING_OF_LARGE ((size_t)1 << 20)
#define RECORD_MOST 65536u
#define RECORD_HEAD 1024.0      /* of a sample without its stack, and a chain */
#define MOST_PACE 1.1           /* of a clock: period_of */
#define READY_AFTER_NS 2000000u /* longer than the kernel writes a record */
#define SHIFT_NS 20000000u      /* a clock is left alone for that long … */
#define SHIFT_SHARE 1000u /* … and for so many times what a shift takes */
#define BRIEF_NS                                                               \
    1000000u /* one that is on for the other's sake: once or twice */

#define TURNS 8u /* of the clocks, that are remembered */

/* From then on what this clock says is counted, and no other's. */
struct turn {
    uint64_t ns;
    size_t of;
};

struct ring {
    int fd[EVENTS];
    uint64_t period[EVENTS]; /* of its clocks */
    struct turn turns[TURNS];
    struct perf_event_mmap_page *page;
    uint64_t head;    /* as it was last read; what is before it is whole */
    uint64_t next_ns; /* of the record at its tail; 0: not looked at */
};

struct axp__perf {
    struct ring *rings;
    size_t n, page_bytes, ring_bytes;
    bool has_kernel, is_blind;
    double hz;
    struct axp__tiers tiers;
    size_t on;          /* which clock is */
    size_t n_shifts;    /* so far … */
    size_t n_turns;     /* … and those to another clock */
    uint64_t shift_ns;  /* when it is moved, or gives way to another */
    uint64_t ready_ns;  /* records before that may be given */
    struct ring *given; /* whose record the caller has … */
    uint64_t given_end; /* … which ends there */
    uint8_t across[RECORD_MOST];
};

/* ---- opening ------------------------------------------------------------ */

/* From 0 to 1: steps of the golden section fill a stretch evenly, however many
 * there are. */
static double part_of(size_t i)
{
    double part = 0.5 + 0.6180339887498949 * (double)i;
    return part - (double)(uint64_t)part;
}

/* Near 1 / hz, and no two alike. */
static uint64_t period_of(const struct axp__perf *p, size_t ring, size_t clock)
{
    double part = part_of(ring * EVENTS + clock);
    return (uint64_t)(1e9 / p->hz * (0.9 + 0.2 * part));
}

static uint32_t stack_of(const struct axp__perf *p, size_t clock)
{
    uint32_t bytes = p->tiers.at[clock != LARGE].bytes;
    bool is_small = p->ring_bytes < RING_OF_LARGE;
    return is_small && bytes > STACK_LESS ? STACK_LESS : bytes;
}

static int open_event(const struct axp__perf *p, struct perf_event_attr *attr,
                      pid_t pid, int cpu)
{
    attr->type = PERF_TYPE_SOFTWARE;
    attr->size = sizeof *attr;
    attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                        PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER |
                        PERF_SAMPLE_STACK_USER;
    if (AXP__HAS_CHAIN) attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
    attr->exclude_callchain_kernel = 1;
    attr->disabled = attr->inherit = attr->exclude_hv = attr->sample_id_all = 1;
    attr->exclude_kernel = !p->has_kernel;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC_RAW;
    attr->watermark = 1;
    attr->wakeup_watermark = (uint32_t)(p->ring_bytes / 2);
    attr->sample_regs_user = AXP__REGS_MASK;
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

/* What threads and mappings do; it is on from the beginning. Some times that a
 * thread leaves its processor it has a sample, too: the kernel sees to it that they
 * are not too many, by a period that is far below any clock's, by which read_sample
 * knows it. It is the kernel that leaves: who may not see it cannot know. */
static int open_story(const struct axp__perf *p, pid_t pid, int cpu)
{
    struct perf_event_attr attr = {.config = PERF_COUNT_SW_DUMMY,
                                   .enable_on_exec = 1,
                                   .mmap = 1,
                                   .mmap2 = 1,
                                   .comm = 1,
                                   .comm_exec = 1,
                                   .task = 1,
                                   .context_switch = 1,
                                   .sample_stack_user = LEAVE_STACK};
    if (p->has_kernel) {
        attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
        attr.freq = 1;
        attr.sample_freq = LEAVES_HZ;
    }
    return open_event(p, &attr, pid, cpu);
}

static int open_clock(const struct axp__perf *p, uint64_t period, size_t clock,
                      pid_t pid, int cpu)
{
    struct perf_event_attr attr = {.config = PERF_COUNT_SW_CPU_CLOCK,
                                   .enable_on_exec = clock == LARGE,
                                   .sample_period = period,
                                   .sample_stack_user = stack_of(p, clock)};
    return open_event(p, &attr, pid, cpu);
}

static const struct ring no_ring = {.fd = {-1, -1, -1}};
_Static_assert(EVENTS == 3, "no_ring");

static void close_ring(const struct axp__perf *p, struct ring *r)
{
    if (r->page) munmap(r->page, p->page_bytes + p->ring_bytes);
    for (int i = 0; i < EVENTS; i++)
        if (r->fd[i] >= 0) close(r->fd[i]);
    *r = no_ring;
}

/* errno, 0: done. */
static int map_ring(const struct axp__perf *p, struct ring *r)
{
    if (p->is_blind) return 0;
    void *page = mmap(NULL, p->page_bytes + p->ring_bytes,
                      PROT_READ | PROT_WRITE, MAP_SHARED, r->fd[STORY], 0);
    if (page == MAP_FAILED) return errno;
    r->page = page;
    return 0;
}

static int open_ring(struct axp__perf *p, struct ring *r, pid_t pid, int cpu)
{
    *r = no_ring;
    r->fd[STORY] = open_story(p, pid, cpu);
    if (r->fd[STORY] < 0) return errno;
    int error = map_ring(p, r);
    if (error) return error;
    size_t last = p->tiers.n > 1 ? LITTLE : LARGE;
    for (size_t i = LARGE; i <= last; i++) {
        r->period[i] = period_of(p, p->n, i);
        int fd = r->fd[i] = open_clock(p, r->period[i], i, pid, cpu);
        if (fd < 0) return errno;
        if (r->page && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd[STORY]))
            return errno;
    }
    return 0;
}

/* A CPU that is off has no event, and nothing runs there; nor does it on one that
 * the control group does not have. */
static int open_rings(struct axp__perf *p, const struct axp__perf_options *o)
{
    long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct axp__cpus reach;
    int error = n_cpus > 0 ? 0 : EINVAL;
    p->rings = calloc((size_t)n_cpus + 1, sizeof *p->rings);
    if (!p->rings) return ENOMEM;
    axp__cpus_reach(&reach);
    for (int cpu = 0; !error && cpu < n_cpus; cpu++) {
        if (!axp__cpus_has(&reach, cpu)) continue;
        error = open_ring(p, &p->rings[p->n], o->pid, cpu);
        if (error) close_ring(p, &p->rings[p->n]);
        if (error == ENODEV)
            error = 0;
        else if (!error)
            p->n++;
    }
    if (!error && !p->n) error = ENODEV;
    if (!error) return 0;
    while (p->n)
        close_ring(p, &p->rings[--p->n]);
    free(p->rings);
    p->rings = NULL;
    return error;
}

/* What the user may not lock as much memory for, or have as many files open for,
 * is tried with less. */
static int open_any(struct axp__perf *p, const struct axp__perf_options *o)
{
    int error = EPERM;
    axp__tiers_init(&p->tiers);
    p->ring_bytes = RING_MOST;
    while (p->ring_bytes >= RING_LEAST) {
        error = open_rings(p, o);
        if (error == EMFILE && p->tiers.n > 1)
            p->tiers.n--;
        else if (error == EPERM || error == ENOMEM)
            p->ring_bytes /= 2;
        else
            break;
    }
    return error;
}

struct axp__perf *axp__perf_open(const struct axp__perf_options *o, int *error)
{
    struct axp__perf *p = calloc(1, sizeof *p);
    *error = ENOMEM;
    if (!p) return NULL;
    p->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    p->hz = o->hz;
    p->is_blind = o->is_blind;
    p->has_kernel = true;
    p->on = LARGE;
    *error = open_any(p, o);
    if (*error == EACCES || *error == EPERM) {
        p->has_kernel = false;
        *error = open_any(p, o);
    }
    if (!*error) return p;
    free(p);
    return NULL;
}

void axp__perf_close(struct axp__perf *p)
{
    if (!p) return;
    for (size_t i = 0; i < p->n; i++)
        close_ring(p, &p->rings[i]);
    free(p->rings);
    free(p);
}

bool axp__perf_has_kernel(const struct axp__perf *p)
{
    return p->has_kernel;
}

/* ---- records ------------------------------------------------------------ */

static uint8_t *data_of(const struct axp__perf *p, const struct ring *r)
{
    return (uint8_t *)r->page + p->page_bytes;
}

/* The record at the ring's tail, whole; NULL: there is none. */
static const struct perf_event_header *record_at(struct axp__perf *p,
                                                 const struct ring *r,
                                                 uint64_t *bytes)
{
    uint64_t tail = r->page->data_tail, left = r->head - tail;
    uint64_t at = tail & (p->ring_bytes - 1);
    struct perf_event_header head;
    if (left < sizeof head) return NULL;
    memcpy(&head, data_of(p, r) + at, sizeof head); /* 8 bytes, aligned */
    *bytes = head.size;
    if (head.size < sizeof head || head.size > left) return NULL;
    if (at + head.size <= p->ring_bytes)
        return (const void *)(data_of(p, r) + at);
    size_t first = p->ring_bytes - (size_t)at;
    memcpy(p->across, data_of(p, r) + at, first);
    memcpy(p->across + first, data_of(p, r), head.size - first);
    return (const void *)p->across;
}

/* ---- by time ------------------------------------------------------------ */

static void skip(struct ring *r, uint64_t bytes)
{
    r->next_ns = 0;
    __atomic_store_n(&r->page->data_tail, r->page->data_tail + bytes,
                     __ATOMIC_RELEASE);
}

/* What the caller had is the kernel's again. */
static void give_back(struct axp__perf *p)
{
    if (p->given) skip(p->given, p->given_end);
    p->given = NULL;
}

/* The time of the ring's next record; UINT64_MAX: it has none. */
static uint64_t read_next(struct axp__perf *p, struct ring *r)
{
    struct axp__perf_record record;
    for (;;) {
        uint64_t bytes;
        const struct perf_event_header *h = record_at(p, r, &bytes);
        if (!h) return UINT64_MAX;
        if (axp__perf_read_time(h, &record)) return record.time_ns;
        skip(r, bytes);
    }
}

/* It is asked of all rings for each record of one. */
static uint64_t next_time(struct axp__perf *p, struct ring *r)
{
    if (!r->next_ns) r->next_ns = read_next(p, r);
    return r->next_ns;
}

/* One that was cut is said at the next look, too. */
void axp__perf_used(struct axp__perf *p, uint64_t bytes, enum axp__copy copy)
{
    size_t was = p->tiers.now;
    axp__tiers_used(&p->tiers, bytes, copy);
    if (p->tiers.now < was) p->shift_ns = 1;
}

static bool is_brief(const struct axp__perf *p)
{
    return p->tiers.now && p->on == LARGE;
}

/* Another clock, for a moment, if the one that is on may stay; a clock that gives
 * way to itself is all there is. */
static size_t next_clock(const struct axp__perf *p)
{
    return is_brief(p) ? LITTLE : LARGE;
}

static uint64_t stay_of(const struct axp__perf *p)
{
    if (!is_brief(p)) return SHIFT_NS;
    return (uint64_t)(BRIEF_NS * (1 + part_of(p->n_shifts)));
}

/* Both are on for a moment, and not neither: who is kept from going on in between,
 * as on a busy machine, would miss what runs meanwhile. What the first one still
 * says after its turn is not counted, nor is what the second one says before. */
static void hand_over(struct axp__perf *p, struct ring *r, size_t next)
{
    struct turn *turn = &r->turns[p->n_turns % TURNS];
    ioctl(r->fd[next], PERF_EVENT_IOC_ENABLE, 0);
    *turn = (struct turn){axp__clock_of(CLOCK_MONOTONIC_RAW), next};
    ioctl(r->fd[p->on], PERF_EVENT_IOC_DISABLE, 0);
}

/* Whether it was the turn of the clock with that period. Of turns long ago nobody
 * knows: then it was. */
static bool was_its_turn(const struct axp__perf *p, const struct ring *r,
                         const struct axp__perf_record *of)
{
    for (size_t n = p->n_turns; n && p->n_turns - n < TURNS; n--) {
        const struct turn *turn = &r->turns[(n - 1) % TURNS];
        if (of->time_ns >= turn->ns)
            return of->sample.weight_ns == r->period[turn->of];
    }
    return true;
}

/* A clock goes on where it was stopped: how long it stood still is how far it has
 * moved against whatever the program does again and again. So now and then it gives
 * way to the other one, for one or two of its periods, no two times alike. The
 * kernel goes through all threads for each CPU, so that it takes the longer the
 * more there are of both. */
static void shift_clocks(struct axp__perf *p, uint64_t now)
{
    bool is_first = !p->shift_ns;
    size_t next = next_clock(p);
    p->shift_ns = now + SHIFT_NS;
    if (is_first) return;
    for (size_t i = 0; i < p->n; i++) {
        struct ring *r = &p->rings[i];
        if (next != p->on) {
            hand_over(p, r, next);
            continue;
        }
        ioctl(r->fd[next], PERF_EVENT_IOC_DISABLE, 0);
        ioctl(r->fd[next], PERF_EVENT_IOC_ENABLE, 0);
    }
    p->n_turns += next != p->on;
    p->on = next;
    p->n_shifts++;
    uint64_t done = axp__clock_of(CLOCK_MONOTONIC_RAW);
    uint64_t took = done - now, stay = stay_of(p);
    if (stay == SHIFT_NS && took * SHIFT_SHARE > stay)
        stay = took * SHIFT_SHARE;
    p->shift_ns = done + stay;
}

/* In which half of a ring is filled, by a thread that always runs: its stack may
 * grow from one sample to the next to as much as is copied. */
static uint64_t filled_in(const struct axp__perf *p)
{
    double record = (double)stack_of(p, p->on) + RECORD_HEAD;
    return (uint64_t)(0.5e9 * (double)p->ring_bytes / (MOST_PACE * p->hz) /
                      record);
}

uint64_t axp__perf_stay(const struct axp__perf *p)
{
    uint64_t now = axp__clock_of(CLOCK_MONOTONIC_RAW);
    if (!is_brief(p)) return filled_in(p);
    return p->shift_ns > now ? p->shift_ns - now : 0;
}

static void look(struct axp__perf *p, bool is_end)
{
    uint64_t now = axp__clock_of(CLOCK_MONOTONIC_RAW);
    if (now >= p->shift_ns) shift_clocks(p, now);
    p->ready_ns = is_end ? UINT64_MAX : now - READY_AFTER_NS;
    for (size_t i = 0; i < p->n; i++) {
        struct ring *r = &p->rings[i];
        r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
        r->next_ns = 0;
    }
}

static struct ring *oldest(struct axp__perf *p)
{
    struct ring *found = NULL;
    uint64_t least = p->ready_ns;
    for (size_t i = 0; i < p->n; i++) {
        uint64_t at = next_time(p, &p->rings[i]);
        if (at >= least) continue;
        least = at;
        found = &p->rings[i];
    }
    return found;
}

/* Reads it, too. */
static bool is_wanted(const struct axp__perf *p, const struct ring *r,
                      const struct perf_event_header *h,
                      struct axp__perf_record *out)
{
    if (!axp__perf_read_time(h, out) || !axp__perf_read(h, out)) return false;
    return out->type != PERF_RECORD_SAMPLE || out->sample.is_leaving ||
           was_its_turn(p, r, out);
}

bool axp__perf_next(struct axp__perf *p, bool is_end,
                    struct axp__perf_record *out)
{
    give_back(p);
    for (bool has_looked = false;;) {
        uint64_t bytes = 0;
        struct ring *r = oldest(p);
        if (!r && has_looked) return false;
        if (!r) {
            look(p, is_end);
            has_looked = true;
            continue;
        }
        const struct perf_event_header *h = record_at(p, r, &bytes);
        *out = (struct axp__perf_record){0};
        if (is_wanted(p, r, h, out)) {
            p->given = r;
            p->given_end = bytes;
            return true;
        }
        skip(r, bytes);
    }
}

double axp__perf_fill(const struct axp__perf *p)
{
    uint64_t most = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct perf_event_mmap_page *page = p->rings[i].page;
        uint64_t used = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) -
                        page->data_tail;
        if (used > most) most = used;
    }
    return (double)most / (double)p->ring_bytes;
}
