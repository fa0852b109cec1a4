/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Draining by path: axprof_file.h. The trace says which spool is its own
 * (outside_spool.c); both must be plain files of our own user, so that
 * nobody else can make us append to something. Closing packs: file_repack.c. */
#include "base/base_sized.h"
#include "axprof/axprof_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os_clock.h"
#include "outside/outside_keep.h"
#include "outside/outside_drain.h"
#include "outside/outside_recover.h"
#include "record/record_thread.h"

static int open_own(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 &&
        (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())) {
        close(fd);
        errno = EPERM;
        fd = -1;
    }
    return fd;
}

axp_drain *axp_drain_open(const char *path)
{
    int trace = open_own(path);
    if (trace < 0) {
        axp__fail(AXP_E_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    int spool = axp__spool_open_for(trace, path);
    if (spool < 0) {
        close(trace);
        axp__fail(AXP_E_STATE, "%s has no spool (yet)", path);
        return NULL;
    }
    return (axp_drain *)axp__outside_open(trace, spool, path);
}

size_t axp_drain_step(axp_drain *d)
{
    return axp__outside_step((struct axp__outside *)d, false);
}

static uint64_t ticks_of(axp_ns ns)
{
    return axp__rate_to_ticks(axp__clock_rate(), ns);
}

axp_status axp_drain_set_keep(axp_drain *d, const axp_drain_keep *keep)
{
    axp_drain_keep k;
    if (!axp__sized_take(&k, sizeof k, keep,
                         AXP__SIZE_TO(axp_drain_keep, slow_ns)))
        return axp__fail(AXP_E_INVALID, "axp_drain_keep has no valid size");
    struct axp__keep_rule rule = {.newest_ticks = ticks_of(k.newest_ns),
                                  .newest_steps = k.newest_steps,
                                  .slow_times = k.slow_times,
                                  .slow_ticks = ticks_of(k.slow_ns)};
    if (axp__outside_keep((struct axp__outside *)d, &rule)) return AXP_OK;
    return axp__fail(AXP_E_NO_MEMORY, "no memory to keep a part of a run");
}

void axp_drain_stop(axp_drain *d)
{
    axp__outside_stop((struct axp__outside *)d);
}

bool axp_drain_is_over(const axp_drain *d)
{
    return axp__outside_is_over((const struct axp__outside *)d);
}

void axp_drain_info_sized(const axp_drain *d, axp_drain_info *out, size_t size)
{
    const struct axp__outside *o = (const struct axp__outside *)d;
    axp_drain_info info = {.process_id = (uint64_t)axp__outside_pid(o),
                           .file_bytes = axp__outside_bytes(o),
                           .events = axp__outside_events(o),
                           .steps = axp__outside_steps(o),
                           .spool_bytes = axp__outside_spool_bytes(o),
                           .private_bytes = axp__outside_apart_bytes(o)};
    axp__sized_copy(out, size, &info, sizeof info);
}
