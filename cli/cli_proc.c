/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reading /proc/PID/stat, statm, smaps_rollup and the control group's files. */
#include "cli/cli_proc.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_proc_open(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The whole of a small file as a string. */
static bool read_text(int fd, char *text, size_t size)
{
    ssize_t n = fd >= 0 ? pread(fd, text, size - 1, 0) : -1;
    if (n <= 0) return false;
    text[n] = 0;
    return true;
}

static bool read_path(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = read_text(fd, text, size);
    if (fd >= 0) close(fd);
    return is_read;
}

/* The name stands in brackets and may hold brackets: the last one ends it. */
static const char *take_name(const char *text, cli_proc_stat *out)
{
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');
    if (!begin || !end || end < begin) return NULL;
    snprintf(out->name, sizeof out->name, "%.*s", (int)(end - begin - 1),
             begin + 1);
    for (char *c = out->name; *c; c++)
        if (!isprint((unsigned char)*c)) *c = '?';
    return end + 1;
}

bool cli_proc_read(int fd, cli_proc_stat *out)
{
    char text[1024];
    uint64_t minor, minor_kids, major, major_kids, user, system;
    int64_t user_kids, system_kids, rss;
    if (!read_text(fd, text, sizeof text)) return false;
    out->pid = (pid_t)strtol(text, NULL, 10);
    const char *rest = take_name(text, out);
    long parent = 0;
    if (!rest ||
        sscanf(rest,
               " %c %ld %*d %*d %*d %*d %*u %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNd64
               " %*d %*d %" SCNu64 " %*d %" SCNu64 " %*u %" SCNd64
               " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
               &out->state, &parent, &minor, &minor_kids, &major, &major_kids,
               &user, &system, &user_kids, &system_kids, &out->n_threads,
               &out->start_ticks, &rss, &out->exit_signal) != 14)
        return false;
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    out->parent = (pid_t)parent;
    out->rss_bytes = (uint64_t)rss * (uint64_t)sysconf(_SC_PAGESIZE);
    out->minor_faults = minor + minor_kids;
    out->major_faults = major + major_kids;
    out->cpu_ns =
        (user + system + (uint64_t)user_kids + (uint64_t)system_kids) *
        (1000000000u / (hz ? hz : 100));
    return true;
}

static uint64_t field_kb(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

bool cli_proc_read_memory(pid_t pid, cli_proc_memory *out)
{
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", (long)pid);
    if (!read_path(path, text, sizeof text)) return false;
    out->pss_bytes = field_kb(text, "\nPss:");
    out->pss_shared_bytes =
        field_kb(text, "\nPss_Shmem:") + field_kb(text, "\nPss_File:");
    out->swap_bytes = field_kb(text, "\nSwap:");
    return true;
}

uint64_t cli_proc_anonymous_bytes(pid_t pid)
{
    char path[64], text[256];
    uint64_t resident, shared;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    if (!read_path(path, text, sizeof text) ||
        sscanf(text, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2 ||
        resident < shared)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t cli_proc_pending(pid_t pid)
{
    static const char name[] = "\nShdPnd:";
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    const char *at =
        read_path(path, text, sizeof text) ? strstr(text, name) : NULL;
    return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

/* ---- the control group -------------------------------------------------- */

/* Lines of /proc/PID/cgroup: "4:memory:/path" (version 1), "0::/path" (2). */
bool cli_proc_was_given(pid_t pid, const char *name, const char *value)
{
    char path[64], *line = NULL;
    size_t cap = 0, len = strlen(name);
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    FILE *f = fopen(path, "re");
    while (f && !is_found && getdelim(&line, &cap, 0, f) > 0)
        is_found = !strncmp(line, name, len) && line[len] == '=' &&
                   !strcmp(line + len + 1, value);
    if (f) fclose(f);
    free(line);
    return is_found;
}

static bool find_line(const char *text, const char *controller, char *path,
                      size_t size)
{
    for (const char *line = text; line && *line;) {
        const char *colon = strchr(line, ':');
        const char *second = colon ? strchr(colon + 1, ':') : NULL;
        const char *end = strchr(line, '\n');
        if (!second || !end) return false;
        size_t len = (size_t)(second - colon - 1);
        if (len == strlen(controller) && !strncmp(colon + 1, controller, len)) {
            snprintf(path, size, "%.*s", (int)(end - second - 1), second + 1);
            return true;
        }
        line = end + 1;
    }
    return false;
}

/* In a container the path may be of the host's tree: then the top is ours. */
static bool try_folder(cli_cgroup *g, const char *top, const char *path)
{
    static const char *const files[] = {"memory.current",
                                        "memory.usage_in_bytes"};
    const char *const tries[] = {path, ""};
    for (int i = 0; i < 2; i++) {
        char file[640];
        snprintf(g->folder, sizeof g->folder, "%s%s", top, tries[i]);
        snprintf(file, sizeof file, "%s/%s", g->folder, files[g->is_v1]);
        if (!access(file, R_OK)) return true;
    }
    g->folder[0] = 0;
    return false;
}

void cli_cgroup_find(pid_t pid, cli_cgroup *g)
{
    char file[64], text[4096], path[256];
    *g = (cli_cgroup){0};
    snprintf(file, sizeof file, "/proc/%ld/cgroup", (long)pid);
    if (!read_path(file, text, sizeof text)) return;
    g->is_v1 = find_line(text, "memory", path, sizeof path);
    if (g->is_v1 && try_folder(g, "/sys/fs/cgroup/memory", path)) return;
    g->is_v1 = false;
    if (!find_line(text, "", path, sizeof path)) return;
    if (!try_folder(g, "/sys/fs/cgroup", path))
        try_folder(g, "/sys/fs/cgroup/unified", path);
}

static bool read_number(const cli_cgroup *g, const char *name, uint64_t *out)
{
    char file[640], text[64];
    snprintf(file, sizeof file, "%s/%s", g->folder, name);
    if (!read_path(file, text, sizeof text)) return false;
    *out = isdigit((unsigned char)text[0]) ? strtoull(text, NULL, 10)
                                           : UINT64_MAX; /* "max" */
    return true;
}

bool cli_cgroup_read(const cli_cgroup *g, uint64_t *bytes, uint64_t *limit)
{
    if (!g->folder[0]) return false;
    if (!read_number(g, g->is_v1 ? "memory.usage_in_bytes" : "memory.current",
                     bytes))
        return false;
    if (!read_number(g, g->is_v1 ? "memory.limit_in_bytes" : "memory.max",
                     limit))
        *limit = UINT64_MAX;
    /* Version 1 says "none" with the largest multiple of a page. */
    if (*limit > (uint64_t)1 << 62) *limit = UINT64_MAX;
    return true;
}
