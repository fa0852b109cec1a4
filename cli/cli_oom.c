/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counts of control groups, before and after; see cli_oom.h. */
#include "cli/cli_oom.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_oom_parse(const char *text, uint64_t *out)
{
    static const char word[] = "oom_kill ";
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, word, strlen(word)) != 0) continue;
        *out = strtoull(line + strlen(word), NULL, 10);
        return true;
    }
    return false;
}

static bool read_count(const char *path, uint64_t *out)
{
    enum { MOST = 65536 }; /* of the machine there are some 200 lines */
    size_t len = 0;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd < 0 ? NULL : calloc(1, MOST); /* a stack may be as small */
    while (text && len < MOST - 1 &&
           (n = read(fd, text + len, MOST - 1 - len)) > 0)
        len += (size_t)n;
    if (fd >= 0) close(fd);
    bool is_there = text && cli_oom_parse(text, out);
    free(text);
    return is_there;
}

/* Of a group, or of the one above it. */
static bool count_of(const cli_cgroup *g, bool is_above, uint64_t *out)
{
    char path[640];
    int len = (int)strlen(g->folder);
    const char *slash = strrchr(g->folder, '/');
    if (is_above) {
        if (g->is_v1 || !slash) return false; /* it counts its own alone */
        len = (int)(slash - g->folder);
    }
    snprintf(path, sizeof path, "%.*s/%s", len, g->folder,
             g->is_v1 ? "memory.oom_control" : "memory.events");
    return read_count(path, out);
}

static uint64_t machine_count(void)
{
    uint64_t n = 0;
    (void)read_count("/proc/vmstat", &n);
    return n;
}

void cli_oom_begin(cli_oom *o)
{
    *o = (cli_oom){.machine_before = machine_count()};
}

void cli_oom_see(cli_oom *o, pid_t pid)
{
    cli_oom_group fresh = {.limit_bytes = UINT64_MAX};
    uint64_t bytes;
    cli_cgroup_find(pid, &fresh.group);
    if (!fresh.group.folder[0]) return;
    for (size_t i = 0; i < o->n; i++)
        if (!strcmp(o->group[i].group.folder, fresh.group.folder)) return;
    if (o->n == CLI_OOM_GROUPS || !count_of(&fresh.group, false, &fresh.before))
        return;
    (void)count_of(&fresh.group, true, &fresh.above_before);
    (void)cli_cgroup_read(&fresh.group, &bytes, &fresh.limit_bytes);
    o->group[o->n++] = fresh;
}

cli_oom_kills cli_oom_end(const cli_oom *o, bool is_killed)
{
    cli_oom_kills kills = {0, UINT64_MAX};
    for (size_t i = 0; i < o->n; i++) {
        const cli_oom_group *g = &o->group[i];
        uint64_t now = 0, more = 0;
        if (count_of(&g->group, false, &now))
            more = now - g->before;
        else if (count_of(&g->group, true, &now))
            more = now - g->above_before;
        if (!more || more >> 63) continue;
        kills.n += more;
        if (g->limit_bytes < kills.limit_bytes)
            kills.limit_bytes = g->limit_bytes;
    }
    uint64_t machine = machine_count();
    if (!kills.n && is_killed && machine > o->machine_before) kills.n = 1;
    return kills;
}
