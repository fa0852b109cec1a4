/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axp_file_pack: one clean file of what a run left behind. axp_drain_close: the
 * same, when it was drained from outside. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "file/file_open.h"
#include "file/file_write.h"
#include "outside/outside_drain.h"
#include "outside/outside_recover.h"
#include "record/record_thread.h"

/* is_whole: who asks wants to know if it is not. */
static axp_status write_whole(struct axp__opened *o, const char *path,
                              const char *out, uint64_t from_ticks,
                              bool is_whole)
{
    if (o->is_alive)
        return axp__fail(AXP_E_STATE,
                         "%s is still being recorded by process %llu", path,
                         (unsigned long long)o->file->head.process_id);
    struct axp__to_write what = {.capture = o->capture,
                                 .head = &o->file->head,
                                 .about = &o->about,
                                 .epoch = o->epoch,
                                 .from_ticks = from_ticks,
                                 .is_whole = is_whole && !out};
    axp_status status = axp__file_write(out ? out : path, !out, &what);
    /* What the spool had is in the file now, or was before. */
    if (!status && !out) axp__spool_unlink_for(o->file->fd, path);
    uint64_t n = status ? 0 : axp__cap_damage(o->capture);
    if (!n || !is_whole) return status;
    return axp__fail(AXP_E_DAMAGED,
                     "packed, but parts of the recording are damaged or "
                     "missing: axprof report says which");
}

static axp_status pack(const char *path, const char *out, uint64_t from_ticks,
                       bool is_whole)
{
    struct axp__opened o;
    axp_status status = axp__trace_open(path, &o);
    if (status) return status;
    status = write_whole(&o, path, out, from_ticks, is_whole);
    o.capture->release(o.capture);
    return status;
}

axp_status axp_file_pack(const char *path, const char *out)
{
    if (!path)
        return axp__fail(AXP_E_INVALID, "axp_file_pack needs the path of a "
                                        "recording");
    return pack(path, out, 0, true);
}

/* The drain gives up old timeline by the pass; what is left of it goes here, by
 * the chunk. */
axp_status axp_drain_close(axp_drain *d, bool is_over)
{
    struct axp__outside *o = (struct axp__outside *)d;
    if (!o) return AXP_OK;
    char *path = is_over ? strdup(axp__outside_path(o)) : NULL;
    while (is_over && axp__outside_step(o))
        continue;
    uint64_t from_ticks = axp__outside_wanted_from(o);
    axp__outside_close(o);
    if (!is_over) return AXP_OK;
    if (!path) return axp__fail(AXP_E_NO_MEMORY, "no memory to end a drain");
    axp_status status = pack(path, NULL, from_ticks, false);
    free(path);
    return status;
}
