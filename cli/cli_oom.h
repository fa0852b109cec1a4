/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether the kernel killed a process of the run for want of memory.
 *
 * It counts whom it killed in each control group, of version 2 in memory.events
 * and of version 1 in memory.oom_control; what the groups of the run's processes
 * count more at its end is the run's. A group that is gone by then, as systemd's
 * are, is counted with the one above it (version 2). Where no group that was seen
 * counted any, but the machine did, and the program was ended by SIGKILL, it is
 * taken for that one.
 *
 * Threads    one, the parent's.
 */
#ifndef CLI_OOM_H
#define CLI_OOM_H
#include "cli/cli_proc.h"

#define CLI_OOM_GROUPS 16

typedef struct cli_oom_group {
    cli_cgroup group;
    uint64_t limit_bytes; /* UINT64_MAX: none */
    uint64_t before, above_before;
} cli_oom_group;

typedef struct cli_oom {
    cli_oom_group group[CLI_OOM_GROUPS];
    size_t n;
    uint64_t machine_before;
} cli_oom;

typedef struct cli_oom_kills {
    uint64_t n;
    uint64_t limit_bytes; /* of the group; UINT64_MAX: not known */
} cli_oom_kills;

void cli_oom_begin(cli_oom *o);
/* A process of the run, as often as it is looked at: it may change groups. */
void cli_oom_see(cli_oom *o, pid_t pid);
/* After the run; is_killed: the program was ended by SIGKILL. */
cli_oom_kills cli_oom_end(const cli_oom *o, bool is_killed);

/* The number after "oom_kill" at the beginning of a line; false: there is none. */
bool cli_oom_parse(const char *text, uint64_t *out);

#endif
