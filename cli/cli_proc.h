/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What /proc and the control group say about a process.
 *
 * Cost       stat and anonymous (statm) 10 to 20 us; memory (smaps_rollup)
 *            walks the page tables under the process's map lock, some ms a GB:
 *            ask rarely.
 * Input      a process may end at any moment, and its name is its own choice.
 */
#ifndef CLI_PROC_H
#define CLI_PROC_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct cli_proc_stat {
    pid_t pid, parent;
    char name[32];
    char state;
    uint64_t n_threads, rss_bytes, start_ticks;
    int exit_signal; /* that its parent gets; 0: none */
    /* Its own, and of its children that were waited for. */
    uint64_t minor_faults, major_faults, cpu_ns;
} cli_proc_stat;

typedef struct cli_proc_memory {
    uint64_t pss_bytes, swap_bytes;
    uint64_t pss_shared_bytes; /* of pss_bytes: files and shared memory */
} cli_proc_memory;

/* Of a process's memory what is not the program's but the recorder's: files that
 * are shared with who reads them, and anonymous. */
typedef struct cli_own {
    uint64_t shared_bytes, private_bytes;
} cli_own;

typedef struct cli_cgroup {
    char folder[512]; /* "": none known */
    bool is_v1;
} cli_cgroup;

/* false: it has ended, or may not be looked at. fd: of its stat file, to be
 * read again and again. */
int cli_proc_open(pid_t pid);
bool cli_proc_read(int fd, cli_proc_stat *out);
bool cli_proc_read_memory(pid_t pid, cli_proc_memory *out);
/* Resident memory that is of no file and not shared. 0: unknown. */
uint64_t cli_proc_anonymous_bytes(pid_t pid);
/* Signals that were sent to it and wait; bit n - 1 is signal n. */
uint64_t cli_proc_pending(pid_t pid);
/* Whether it was given that variable with that value when its program began. */
bool cli_proc_was_given(pid_t pid, const char *name, const char *value);

void cli_cgroup_find(pid_t pid, cli_cgroup *out);
/* UINT64_MAX: no limit. false: unknown. */
bool cli_cgroup_read(const cli_cgroup *group, uint64_t *bytes, uint64_t *limit);

#endif
