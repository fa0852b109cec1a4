/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The processes of a run and what is recorded about them.
 *
 * New processes are found by comparing the pids in /proc with those of the
 * last look: only what is new is opened. Those of the run keep their stat file
 * open, so that a look is one read a process.
 */
#include "cli/cli_processes.h"

#include "cli/cli_clock.h"
#include "cli/cli_count.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000ull
#define SECOND 1000000000ull

enum {
    PROCESSES_MAX = 4096, /* more of one run at a time are not looked at */
    MOST_SEEN = 8,        /* whose groups are asked for in a look */
    NAMED_MAX = 64,       /* processes with a counter of their own */
    COST_FACTOR = 200,    /* of what a look costs, until the next … */
    DEAR_FACTOR = 2000,   /* … and of what smaps_rollup does */
    CPU_WINDOW_MS = 100
};

/* Counters that are written when they change. */
typedef enum counter {
    COUNT,
    THREADS,
    RSS,
    RSS_PEAK,
    PSS,
    SWAP,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    GROUP_BYTES,
    GROUP_LIMIT,
    GROUP_KILLS,
    N_COUNTERS
} counter;
static const char *const counter_names[N_COUNTERS] = {
    [COUNT] = "process.count",
    [THREADS] = "process.threads",
    [RSS] = "process.rss_bytes",
    [RSS_PEAK] = "process.rss_peak_bytes",
    [PSS] = "process.pss_bytes",
    [SWAP] = "process.swap_bytes",
    [MINOR_FAULTS] = "process.minor_faults",
    [MAJOR_FAULTS] = "process.major_faults",
    [GROUP_BYTES] = "cgroup.memory_bytes",
    [GROUP_LIMIT] = "cgroup.limit_bytes",
    [GROUP_KILLS] = "cgroup.oom_kills"};

typedef struct process {
    pid_t pid;
    int fd;         /* its stat file */
    char label[80]; /* of its span */
    uint64_t first_seen_ns, last_rss;
    cli_proc_stat stat;
    bool has_counter;
} process;

typedef struct pid_list {
    pid_t *pids;
    size_t n, cap;
} pid_list;

struct cli_processes {
    axp_profiler *p;
    DIR *proc;
    pid_list seen, look; /* in /proc at the last look, and at this one */
    pid_list all;        /* of the run, ever */
    process *list;       /* the first process first, while it lives */
    size_t n, cap;
    pid_t first;
    unsigned n_named, n_looks;
    uint64_t interval_ns, next_memory_ns, next_anonymous_ns, last_cost_ns;
    uint64_t cpu_mark_ns, cpu_mark_at_ns;
    const char *count; /* the file that its processes count themselves in */
    cli_own_fn own;    /* NULL: nothing is ours */
    void *own_ctx;
    cli_cgroup group;
    cli_oom oom;
    uint64_t last[N_COUNTERS];
    cli_processes_now now;
};

/* What we have used of the processor: on a busy machine a look may take long
 * and cost little. */
static uint64_t cost_ns(void)
{
    return cli_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- the list ----------------------------------------------------------- */

static bool grow(void **items, size_t *cap, size_t n, size_t size)
{
    if (n < *cap) return true;
    size_t larger = *cap ? 2 * *cap : 64;
    void *fresh = realloc(*items, larger * size);
    if (!fresh) return false;
    *items = fresh;
    *cap = larger;
    return true;
}

static process *find(cli_processes *s, pid_t pid)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].pid == pid) return &s->list[i];
    return NULL;
}

static void begin_process(cli_processes *s, process *q, const char *name)
{
    snprintf(q->label, sizeof q->label, "%s", name);
    axp_process_begin(s->p, q->label, (uint64_t)q->pid);
}

static void add(cli_processes *s, int fd, const cli_proc_stat *stat,
                uint64_t now, const char *name)
{
    if (s->n >= PROCESSES_MAX ||
        !grow((void **)&s->list, &s->cap, s->n, sizeof *s->list)) {
        close(fd);
        return;
    }
    process *q = &s->list[s->n++];
    *q = (process){
        .pid = stat->pid, .fd = fd, .first_seen_ns = now, .stat = *stat};
    s->now.n_processes_seen++;
    if (grow((void **)&s->all.pids, &s->all.cap, s->all.n, sizeof *s->all.pids))
        s->all.pids[s->all.n++] = stat->pid;
    begin_process(s, q, name);
}

/* After an exec the process goes on under another name. */
static void settle_name(cli_processes *s, process *q,
                        const cli_proc_stat *fresh)
{
    if (!strcmp(q->stat.name, fresh->name)) return;
    /* The first was called what we are until it became the program. */
    if (!strncmp(q->label, fresh->name, strlen(fresh->name))) return;
    axp_process_end(s->p, q->label, (uint64_t)q->pid);
    q->stat = *fresh;
    begin_process(s, q, q->stat.name);
}

static void drop(cli_processes *s, process *q)
{
    axp_process_end(s->p, q->label, (uint64_t)q->pid);
    close(q->fd);
    s->n--;
    memmove(q, q + 1, (size_t)(s->list + s->n - q) * sizeof *q);
}

/* ---- looking ------------------------------------------------------------ */

/* A daemon's parent may have ended before anybody looked: the variable that the
 * run's processes alone are given tells. */
static bool is_of_run(cli_processes *s, const cli_proc_stat *stat)
{
    return find(s, stat->parent) ||
           (s->count &&
            cli_proc_was_given(stat->pid, "AXPROF_COUNT", s->count));
}

static void take_new(cli_processes *s, pid_t pid, uint64_t now)
{
    cli_proc_stat stat;
    int fd = cli_proc_open(pid);
    if (fd < 0) return;
    /* Without a signal at its end: the recorder's own, for an instant. */
    if (cli_proc_read(fd, &stat) && stat.exit_signal && !find(s, stat.pid) &&
        is_of_run(s, &stat))
        add(s, fd, &stat, now, stat.name);
    else
        close(fd);
}

/* The pids that there are now, in ascending order, as /proc lists them. */
static bool list_pids(cli_processes *s, pid_list *list)
{
    list->n = 0;
    rewinddir(s->proc);
    for (struct dirent *e; (e = readdir(s->proc));) {
        if (e->d_name[0] < '1' || e->d_name[0] > '9') continue;
        if (!grow((void **)&list->pids, &list->cap, list->n, sizeof(pid_t)))
            return false;
        list->pids[list->n++] = (pid_t)strtol(e->d_name, NULL, 10);
    }
    return true;
}

static void find_new(cli_processes *s, uint64_t now)
{
    size_t old = 0;
    if (!list_pids(s, &s->look)) return;
    for (size_t i = 0; i < s->look.n; i++) {
        pid_t pid = s->look.pids[i];
        while (old < s->seen.n && s->seen.pids[old] < pid)
            old++;
        if (old == s->seen.n || s->seen.pids[old] != pid) take_new(s, pid, now);
    }
    pid_list swap = s->seen;
    s->seen = s->look;
    s->look = swap;
}

/* All processes are new at the first look, and to ask each for its parent
 * would take ms: those that are older than the run's first are known not to
 * belong to it. */
static void see_older(cli_processes *s)
{
    size_t n = 0;
    if (!s->proc || !list_pids(s, &s->seen)) return;
    while (n < s->seen.n && s->seen.pids[n] < s->first)
        n++;
    s->seen.n = n;
}

static cli_own own_of(const cli_processes *s, pid_t pid)
{
    return s->own ? s->own(s->own_ctx, pid) : (cli_own){0};
}

static uint64_t less(uint64_t bytes, uint64_t own)
{
    return bytes > own ? bytes - own : 0;
}

/* Resident memory without ours. */
static uint64_t resident(const cli_processes *s, pid_t pid, uint64_t bytes)
{
    cli_own own = own_of(s, pid);
    return less(less(bytes, own.shared_bytes), own.private_bytes);
}

static bool is_alive(const process *q, cli_proc_stat *fresh)
{
    return cli_proc_read(q->fd, fresh) && fresh->pid == q->pid &&
           fresh->state != 'Z' && fresh->state != 'X';
}

static void read_all(cli_processes *s)
{
    for (size_t i = s->n; i-- > 0;) {
        process *q = &s->list[i];
        cli_proc_stat fresh;
        if (!is_alive(q, &fresh)) {
            drop(s, q);
            continue;
        }
        settle_name(s, q, &fresh);
        q->stat = fresh;
        q->stat.rss_bytes = resident(s, q->pid, fresh.rss_bytes);
    }
}

/* ---- recording ---------------------------------------------------------- */

static void count(cli_processes *s, counter which, uint64_t value)
{
    if (value == s->last[which]) return;
    s->last[which] = value;
    axp_outside_counter(s->p, counter_names[which], (double)value);
}

static void record_sums(cli_processes *s)
{
    uint64_t threads = 0, rss = 0, minor = 0, major = 0, cpu = 0;
    if (!s->n) return; /* all have ended */
    s->n_looks++;
    for (size_t i = 0; i < s->n; i++) {
        const cli_proc_stat *stat = &s->list[i].stat;
        threads += stat->n_threads;
        rss += stat->rss_bytes;
        minor += stat->minor_faults;
        major += stat->major_faults;
        cpu += stat->cpu_ns;
    }
    count(s, COUNT, s->n);
    count(s, THREADS, threads);
    if (rss) count(s, RSS, rss); /* 0: it is being loaded */
    count(s, MINOR_FAULTS, minor);
    count(s, MAJOR_FAULTS, major);
    s->now.n_processes = s->n;
    s->now.n_threads = threads;
    s->now.rss_bytes = rss;
    if (cpu > s->now.cpu_ns) s->now.cpu_ns = cpu;
    if (threads > s->now.max_threads) s->now.max_threads = threads;
    if (rss > s->now.max_rss_bytes) s->now.max_rss_bytes = rss;
}

/* The kernel counts in ticks of 10 ms: shorter windows would only show it. */
static void record_cpu(cli_processes *s, uint64_t now)
{
    uint64_t span = now - s->cpu_mark_at_ns;
    if (span < CPU_WINDOW_MS * MS) return;
    axp_outside_counter(s->p, "process.cpu_cores",
                        (double)(s->now.cpu_ns - s->cpu_mark_ns) /
                            (double)span);
    s->cpu_mark_ns = s->now.cpu_ns;
    s->cpu_mark_at_ns = now;
}

static void record_others(cli_processes *s, uint64_t now)
{
    char name[64];
    for (size_t i = 0; i < s->n; i++) {
        process *q = &s->list[i];
        if (q->pid == s->first || q->stat.rss_bytes == q->last_rss) continue;
        if (!q->has_counter) {
            if (now - q->first_seen_ns < SECOND || s->n_named >= NAMED_MAX)
                continue;
            q->has_counter = true;
            s->n_named++;
        }
        snprintf(name, sizeof name, "%s[%ld].rss_bytes", q->stat.name,
                 (long)q->pid);
        q->last_rss = q->stat.rss_bytes;
        axp_outside_counter(s->p, name, (double)q->last_rss);
    }
}

/* Once a second, and told also where it stays: what is kept of what was freed
 * shows in readings after that. */
static void record_anonymous(cli_processes *s, uint64_t now)
{
    uint64_t bytes = 0;
    if (now < s->next_anonymous_ns) return;
    s->next_anonymous_ns = now + SECOND;
    for (size_t i = 0; i < s->n; i++) {
        pid_t pid = s->list[i].pid;
        bytes +=
            less(cli_proc_anonymous_bytes(pid), own_of(s, pid).private_bytes);
    }
    if (bytes) axp_outside_counter(s->p, "process.anon_bytes", (double)bytes);
}

/* What is dear to ask, and holds up a program that maps memory meanwhile: at
 * most once a second. */
static void record_memory(cli_processes *s, uint64_t now)
{
    uint64_t pss = 0, swap = 0, bytes, limit;
    if (now < s->next_memory_ns) return;
    uint64_t before = cost_ns();
    for (size_t i = 0; i < s->n; i++) {
        cli_proc_memory memory;
        if (!cli_proc_read_memory(s->list[i].pid, &memory)) continue;
        cli_own own = own_of(s, s->list[i].pid);
        if (own.shared_bytes > memory.pss_shared_bytes)
            own.shared_bytes = memory.pss_shared_bytes;
        pss += less(memory.pss_bytes, own.shared_bytes + own.private_bytes);
        swap += memory.swap_bytes;
    }
    if (pss) {
        count(s, PSS, pss);
        count(s, SWAP, swap);
    }
    if (cli_cgroup_read(&s->group, &bytes, &limit)) {
        count(s, GROUP_BYTES, bytes);
        if (limit != UINT64_MAX) count(s, GROUP_LIMIT, limit);
    }
    uint64_t cost = cost_ns() - before;
    uint64_t least = cost * DEAR_FACTOR;
    s->next_memory_ns = now + (least > SECOND ? least : SECOND);
}

/* ---- the public part ---------------------------------------------------- */

cli_processes *cli_processes_create(axp_profiler *p, pid_t first,
                                    const char *name)
{
    cli_processes *s = calloc(1, sizeof *s);
    cli_proc_stat stat;
    if (!s) return NULL;
    s->p = p;
    s->first = first;
    memset(s->last, 0xff, sizeof s->last);
    s->interval_ns = 10 * MS;
    s->proc = opendir("/proc");
    s->cpu_mark_at_ns = cli_clock_ns(CLOCK_MONOTONIC);
    s->next_memory_ns = s->cpu_mark_at_ns + SECOND / 5;
    s->next_anonymous_ns = s->next_memory_ns;
    int fd = cli_proc_open(first);
    if (fd >= 0 && cli_proc_read(fd, &stat))
        add(s, fd, &stat, s->cpu_mark_at_ns, name);
    else if (fd >= 0)
        close(fd);
    record_sums(s);
    see_older(s);
    cli_cgroup_find(first, &s->group);
    cli_oom_begin(&s->oom);
    cli_oom_see(&s->oom, first);
    return s;
}

void cli_processes_set_own(cli_processes *s, cli_own_fn own, void *ctx)
{
    s->own = own;
    s->own_ctx = ctx;
}

void cli_processes_set_count(cli_processes *s, const char *path)
{
    s->count = path;
}

void cli_processes_destroy(cli_processes *s)
{
    if (!s) return;
    while (s->n)
        drop(s, &s->list[s->n - 1]);
    if (s->proc) closedir(s->proc);
    free(s->list);
    free(s->seen.pids);
    free(s->look.pids);
    free(s->all.pids);
    free(s);
}

uint64_t cli_processes_look(cli_processes *s, uint64_t now)
{
    uint64_t before = cost_ns();
    if (s->proc) find_new(s, now);
    read_all(s);
    record_sums(s);
    record_cpu(s, now);
    record_others(s, now);
    record_anonymous(s, now);
    for (size_t i = 0; i < s->n && i < MOST_SEEN; i++)
        cli_oom_see(&s->oom, s->list[i].pid);
    uint64_t cost = cost_ns() - before;
    /* One that took long by itself (the machine's doing) says nothing. */
    uint64_t usual = cost < s->last_cost_ns ? cost : s->last_cost_ns;
    uint64_t least = usual * COST_FACTOR;
    s->last_cost_ns = cost;
    record_memory(s, now);
    s->interval_ns += s->interval_ns / 4;
    if (s->interval_ns > 250 * MS) s->interval_ns = 250 * MS;
    return now + (least > s->interval_ns ? least : s->interval_ns);
}

void cli_processes_end(cli_processes *s, int status, const struct rusage *usage)
{
    bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    s->now.killed = cli_oom_end(&s->oom, is_killed);
    if (s->now.killed.n) {
        count(s, GROUP_KILLS, s->now.killed.n);
        if (s->now.killed.limit_bytes != UINT64_MAX)
            count(s, GROUP_LIMIT, s->now.killed.limit_bytes);
    }
    uint64_t most = resident(s, s->first, (uint64_t)usage->ru_maxrss * 1024);
    s->now.peak_bytes = most;
    count(s, RSS_PEAK, most); /* of the largest: looks may have missed it */
    if (s->n_looks < 3) {
        count(s, RSS, most);
        count(s, MINOR_FAULTS, (uint64_t)usage->ru_minflt);
        count(s, MAJOR_FAULTS, (uint64_t)usage->ru_majflt);
    }
    if (s->proc) find_new(s, cli_clock_ns(CLOCK_MONOTONIC));
    read_all(s);
    s->now.n_missed = cli_count_missed(s->count, s->all.pids, s->all.n);
    if (s->now.n_missed)
        axp_outside_counter(s->p, "process.missed", (double)s->now.n_missed);
    s->now.n_left = s->n;
    s->now.n_processes = s->n;
}

void cli_processes_record_left(cli_processes *s, uint64_t n_recording)
{
    s->now.n_left = 0;
    for (size_t i = 0; i < s->n; i++) {
        cli_proc_stat fresh;
        s->now.n_left += is_alive(&s->list[i], &fresh);
    }
    if (s->now.n_left < n_recording) s->now.n_left = n_recording;
    axp_outside_left(s->p, s->now.n_left);
}

cli_processes_now cli_processes_info(const cli_processes *s)
{
    return s->now;
}
