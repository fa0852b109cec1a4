/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axp_file_pack: one clean file of what a run left behind. */
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "file/file_open.h"
#include "file/file_write.h"
#include "outside/outside_recover.h"
#include "record/record_thread.h"

static axp_status write_whole(struct axp__opened *o, const char *path,
                              const char *out)
{
    if (o->is_alive)
        return axp__fail(AXP_E_STATE,
                         "%s is still being recorded by process %llu", path,
                         (unsigned long long)o->file->head.process_id);
    struct axp__to_write what = {.capture = o->capture,
                                 .head = &o->file->head,
                                 .about = &o->about,
                                 .epoch = o->epoch};
    axp_status status = axp__file_write(out ? out : path, !out, &what);
    /* What the spool had is in the file now, or was before. */
    if (!status && !out)
        axp__spool_unlink_for(o->file->fd, path);
    return status;
}

axp_status axp_file_pack(const char *path, const char *out)
{
    struct axp__opened o;
    if (!path)
        return axp__fail(AXP_E_INVALID, "axp_file_pack needs the path of a "
                                        "recording");
    axp_status status = axp__trace_open(path, &o);
    if (status) return status;
    status = write_whole(&o, path, out);
    o.capture->release(o.capture);
    return status;
}
