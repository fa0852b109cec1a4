/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axp_file_pack: one clean file of what a run left behind. axp_drain_close: the
 * same, when it was drained from outside. axp_file_join: one file of several.
 * */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "file/file_open.h"
#include "file/file_write.h"
#include "outside/outside_drain.h"
#include "outside/outside_recover.h"
#include "record/record_thread.h"

static axp_status still_recorded(const struct axp__opened *o, const char *path)
{
    return axp__fail(AXP_E_STATE, "%s is still being recorded by process %llu",
                     path, (unsigned long long)o->file->head.process_id);
}

static bool is_complete(const struct axp__opened *o)
{
    return o->file->is_finished && o->origin == AXP__FROM_FILE &&
           !o->file->n_damaged;
}

/* One recording of a file; *has_spool: what a spool had is written too. */
static axp_status add_span(struct axp__writer *w, const char *path,
                           const struct axp__span *span, uint64_t from_ticks,
                           bool is_copied, bool *has_spool)
{
    struct axp__opened o;
    axp_status status = axp__trace_open_span(path, span, &o);
    if (status) return status;
    struct axp__to_write what = {.capture = o.capture,
                                 .head = &o.file->head,
                                 .about = &o.about,
                                 .epoch = o.epoch,
                                 .from_ticks = from_ticks};
    if (o.is_alive)
        status = still_recorded(&o, path);
    else if (is_copied && is_complete(&o))
        axp__writer_copy(w, o.file);
    else
        axp__writer_add(w, &what);
    *has_spool |= o.origin == AXP__FROM_SPOOL;
    o.capture->release(o.capture);
    return status;
}

static axp_status add_file(struct axp__writer *w, const char *path,
                           uint64_t from_ticks, bool is_copied, bool *has_spool)
{
    struct axp__spans spans;
    axp_status status = axp__spans_find(path, &spans);
    for (size_t i = 0; !status && i < spans.n; i++)
        status =
            add_span(w, path, &spans.span[i], from_ticks, is_copied, has_spool);
    axp__spans_fini(&spans);
    return status;
}

/* What the spool had is in the file now, or was before. */
static void remove_spool(int fd, const char *path)
{
    if (fd >= 0) axp__spool_unlink_for(fd, path);
}

static axp_status pack(const char *path, const char *out, uint64_t from_ticks)
{
    struct axp__writer *w = axp__writer_open(out ? out : path);
    bool has_spool = false;
    if (!w) return AXP_E_NO_MEMORY;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    axp_status status = add_file(w, path, from_ticks, false, &has_spool);
    axp_status closed = axp__writer_close(w, !status, !out);
    if (!status) status = closed;
    if (!status && !out && has_spool) remove_spool(fd, path);
    if (fd >= 0) close(fd);
    return status;
}

axp_status axp_file_pack(const char *path, const char *out)
{
    if (!path)
        return axp__fail(AXP_E_INVALID, "axp_file_pack needs the path of a "
                                        "recording");
    return pack(path, out, 0);
}

axp_status axp_file_join(const char *const *paths, size_t n, const char *out,
                         bool may_replace)
{
    if (!paths || !n || !out)
        return axp__fail(AXP_E_INVALID, "axp_file_join needs recordings and a "
                                        "path for the one that it makes");
    struct axp__writer *w = axp__writer_open(out);
    axp_status status = w ? AXP_OK : AXP_E_NO_MEMORY;
    bool has_spool = false;
    for (size_t i = 0; !status && i < n; i++)
        status = add_file(w, paths[i], 0, true, &has_spool);
    axp_status closed = w ? axp__writer_close(w, !status, may_replace) : AXP_OK;
    return status ? status : closed;
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
    axp_status status = pack(path, NULL, from_ticks);
    free(path);
    return status;
}
