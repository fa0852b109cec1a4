/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The run as seen from outside: its processes, from /proc, over time.
 *
 * Recorded into a profiler of the parent's own, so that it is part of the
 * run's files and of every report. Its row, counters and spans are of kinds of
 * their own (axprof_adapter.h), whatever they are called:
 *
 *   NAME                    a span for each process (its id is the pid)
 *   process.count           processes of the run at one time
 *   process.threads         and these below, summed over them
 *   process.rss_bytes       resident, the recorder's spool taken off; shared
 *                           pages count once a process
 *   process.pss_bytes       resident likewise; shared pages divided among those
 *   process.swap_bytes      who share them. Both at most once a second
 *   process.cpu_cores       CPU time a second
 *   process.minor_faults    since the start, children that ended included
 *   process.major_faults
 *   cgroup.memory_bytes     of the control group that the program is in
 *   cgroup.limit_bytes
 *   cgroup.oom_kills        processes that the kernel killed for want of memory
 *   NAME[PID].rss_bytes     of a process beside the first that lives a second
 *
 * A process belongs to the run when its parent does when it is first seen, or
 * when it was given what the run's are given (AXPROF_COUNT); if it is orphaned
 * later it still does. Processes shorter than the interval
 * may never be seen: their CPU time and faults are in their parents' sums, and
 * those that an adapter is in have counted themselves (process.missed). Of
 * a run that was over before a second look there is what the kernel tells at
 * its end: the largest process's memory, and faults.
 *
 * Cost       the interval begins at 10 ms and grows to 250 ms, and is never
 *            less than 200 times what a sample took: 0.5 % of one core.
 * Threads    one, the parent's.
 */
#ifndef CLI_PROCESSES_H
#define CLI_PROCESSES_H
#include <sys/resource.h>

#include <axprof/axprof_adapter.h>

#include "cli/cli_oom.h"
#include "cli/cli_proc.h"

typedef struct cli_processes cli_processes;

/* What a status line and a last line want to know. */
typedef struct cli_processes_now {
    uint64_t n_processes, n_threads, rss_bytes, cpu_ns;
    uint64_t n_processes_seen, max_threads, max_rss_bytes;
    uint64_t peak_bytes; /* of the largest process, at its end */
    uint64_t n_left;     /* that go on though the program has ended */
    uint64_t n_missed;   /* were over before they were looked at */
    cli_oom_kills killed;
} cli_processes_now;

/* NULL without memory. p is the caller's and outlives it; name is what the
 * first process is called, since the kernel cuts names at 15 bytes. */
cli_processes *cli_processes_create(axp_profiler *p, pid_t first,
                                    const char *name);
void cli_processes_destroy(cli_processes *s);
/* Who knows what is ours: it is taken off. */
typedef cli_own (*cli_own_fn)(void *ctx, pid_t pid);
void cli_processes_set_own(cli_processes *s, cli_own_fn own, void *ctx);
/* The file in which processes count themselves (the exec adapter does it for them):
 * the run's are given its path as AXPROF_COUNT. The caller's. */
void cli_processes_set_count(cli_processes *s, const char *path);
/* Looks, records, and returns when to look next (CLOCK_MONOTONIC). */
uint64_t cli_processes_look(cli_processes *s, uint64_t now_ns);
/* The first process has ended and was waited for; status and usage are what wait
 * told. */
void cli_processes_end(cli_processes *s, int status,
                       const struct rusage *usage);
/* Once more, who goes on: that is recorded. So many are known to record: one that
 * began at the very end, and whose parent is gone, no look finds. */
void cli_processes_record_left(cli_processes *s, uint64_t n_recording);
cli_processes_now cli_processes_info(const cli_processes *s);

#endif
