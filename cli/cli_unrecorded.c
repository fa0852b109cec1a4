/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who could not be recorded, and why; see cli_unrecorded.h. */
#include "cli/cli_unrecorded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli_parts.h"
#include "cli/cli_say.h"

/* Its bytes are written: in a hole of a full disk they would end whoever first
 * stores one. */
void cli_unrecorded_begin(cli_unrecorded *u, const char *folder)
{
    static const axp_unrecorded none;
    if (!folder) return;
    char *path = cli_format("%s/" CLI_PARTS_UNRECORDED, folder);
    void *page = MAP_FAILED;
    errno = 0; /* a write that is cut short sets none */
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, &none, sizeof none) == (ssize_t)sizeof none)
        page = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
    u->error = page != MAP_FAILED ? 0 : errno ? errno : ENOSPC;
    if (fd >= 0) close(fd);
    if (page == MAP_FAILED) {
        u->folder = folder;
        free(path);
        return;
    }
    u->path = path;
    u->page = page;
}

void cli_unrecorded_fini(cli_unrecorded *u)
{
    if (u->page) munmap(u->page, sizeof *u->page);
    free(u->path);
    *u = (cli_unrecorded){0};
}

static axp_unrecorded look(const cli_unrecorded *u)
{
    axp_unrecorded now = {0};
    if (u->page) now = *(const volatile axp_unrecorded *)u->page;
    return now;
}

/* What the first of them did, or what the system said. */
static const char *why_of(const axp_unrecorded *now)
{
    switch (now->why) {
    case AXP_UNRECORDED_ROOT: return "changed its root folder";
    case AXP_UNRECORDED_USER: return "changed its user";
    case AXP_UNRECORDED_FILTER: return "set a filter of system calls";
    case AXP_UNRECORDED_ERROR: break;
    }
    return now->error > 0 ? strerror(now->error) : "reason unknown";
}

void cli_unrecorded_record(const cli_unrecorded *u, axp_profiler *p,
                           bool is_any)
{
    axp_unrecorded now = look(u);
    if (u->error && !is_any) /* nobody can tell how many */
        axp_outside_unrecorded(p, 1, strerror(u->error));
    else
        axp_outside_unrecorded(p, now.n_processes, why_of(&now));
}

bool cli_unrecorded_say(const cli_unrecorded *u, bool is_any)
{
    axp_unrecorded now = look(u);
    bool is_error = now.why == AXP_UNRECORDED_ERROR;
    bool is_filter = now.why == AXP_UNRECORDED_FILTER;
    char others[48] = "";
    if (u->error && !is_any)
        cli_note("nothing could be recorded of what it does: no file can be "
                 "written in %s: %s",
                 u->folder, strerror(u->error));
    if (!now.n_processes) return u->error && !is_any;
    if (now.n_processes > 1)
        snprintf(others, sizeof others, " and %llu more",
                 (unsigned long long)now.n_processes - 1);
    cli_note("what process %llu%s did and allocated is not recorded: %s%s%s",
             (unsigned long long)now.process_id, others,
             is_error ? "its file could not be made: " : "it had ",
             why_of(&now),
             is_filter  ? ", and was left alone from then on"
             : is_error ? ""
                        : " before its first event");
    return true;
}
