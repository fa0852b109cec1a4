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

/* What is written, and what showed while it was. */
struct work {
    struct axp__writer *to;
    uint64_t from_ticks;
    bool is_copied;  /* recordings that are complete, as they are */
    bool is_careful; /* no block is given up */
    bool is_told;    /* whoever asks wants to know if something is missing */
    bool has_spool;  /* what a spool had is written too */
    bool is_damaged;
};

/* Blocks are missing that may be mended one day. */
static bool is_broken(const struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_warnings; i++)
        if (!strcmp(c->warnings[i].code, AXP__CODE_DAMAGED) &&
            c->warnings[i].count)
            return true;
    for (const struct axp__cap_source *s = c->sources; s; s = s->next)
        if (axp__get(&s->n_failed)) return true;
    return false;
}

static void forget(struct axp__capture *c, const char *code)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n_warnings; i++)
        if (strcmp(c->warnings[i].code, code) != 0)
            c->warnings[kept++] = c->warnings[i];
    c->n_warnings = kept;
}

static axp_status refuse(const char *path)
{
    return axp__fail(AXP_E_DAMAGED,
                     "blocks of %s are damaged, and packing it in place would "
                     "give them up: write what is left to another file (-o)",
                     path);
}

/* One recording of a file. */
static axp_status add_span(struct work *w, const char *path,
                           const struct axp__span *span)
{
    struct axp__opened o;
    axp_status status = axp__trace_open_span(path, span, &o);
    if (status) return status;
    struct axp__to_write what = {.capture = o.capture,
                                 .head = &o.file->head,
                                 .about = &o.about,
                                 .epoch = o.epoch,
                                 .from_ticks = w->from_ticks};
    forget(o.capture, AXP__CODE_CUT_INDEX); /* what is written has one */
    /* … and what found no room before: here is all that there is */
    if (w->is_told && o.origin == AXP__FROM_SPOOL)
        forget(o.capture, AXP__CODE_UNWRITTEN);
    if (o.is_alive)
        status = still_recorded(&o, path);
    else if (w->is_copied && is_complete(&o))
        axp__writer_copy(w->to, o.file);
    else
        axp__writer_add(w->to, &what);
    w->has_spool |= o.origin == AXP__FROM_SPOOL || o.is_unbegun;
    w->is_damaged |= axp__cap_damage(o.capture) > 0;
    if (!status && w->is_careful && is_broken(o.capture)) status = refuse(path);
    o.capture->release(o.capture);
    return status;
}

static axp_status add_file(struct work *w, const char *path)
{
    struct axp__spans spans;
    axp_status status = axp__spans_find(path, &spans);
    for (size_t i = 0; !status && i < spans.n; i++)
        status = add_span(w, path, &spans.span[i]);
    axp__spans_fini(&spans);
    return status;
}

/* What the spool had is in the file now, or was before. */
static void remove_spool(int fd, const char *path)
{
    if (fd >= 0) axp__spool_unlink_for(fd, path);
}

static axp_status pack(const char *path, const char *out, uint64_t from_ticks,
                       bool is_told)
{
    struct work w = {.to = axp__writer_open(out ? out : path),
                     .from_ticks = from_ticks,
                     .is_told = is_told,
                     .is_careful = is_told && !out};
    if (!w.to) return AXP_E_NO_MEMORY;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    axp_status status = add_file(&w, path);
    axp_status closed = axp__writer_close(w.to, !status, !out);
    if (!status) status = closed;
    if (!status && !out && w.has_spool) remove_spool(fd, path);
    if (fd >= 0) close(fd);
    if (!status && is_told && w.is_damaged)
        status = axp__fail(AXP_E_DAMAGED,
                           "packed, but parts of the recording are damaged or "
                           "missing: axprof report says which");
    return status;
}

axp_status axp_file_pack(const char *path, const char *out)
{
    if (!path)
        return axp__fail(AXP_E_INVALID, "axp_file_pack needs the path of a "
                                        "recording");
    return pack(path, out, 0, true);
}

axp_status axp_file_join(const char *const *paths, size_t n, const char *out,
                         bool may_replace)
{
    if (!paths || !n || !out)
        return axp__fail(AXP_E_INVALID, "axp_file_join needs recordings and a "
                                        "path for the one that it makes");
    struct work w = {.to = axp__writer_open(out), .is_copied = true};
    axp_status status = w.to ? AXP_OK : AXP_E_NO_MEMORY;
    for (size_t i = 0; !status && i < n; i++)
        status = add_file(&w, paths[i]);
    axp_status closed =
        w.to ? axp__writer_close(w.to, !status, may_replace) : AXP_OK;
    return status ? status : closed;
}

/* Whoever goes on writing chunks although he is over is not waited for: more than a
 * spool may hold. */
#define LAST_STEPS 8192u

/* The drain gives up old timeline by the pass; what is left of it goes here, by
 * the chunk. */
axp_status axp_drain_close(axp_drain *d, bool is_over)
{
    struct axp__outside *o = (struct axp__outside *)d;
    if (!o) return AXP_OK;
    char *path = is_over ? strdup(axp__outside_path(o)) : NULL;
    for (unsigned i = 0; is_over && i < LAST_STEPS; i++)
        if (!axp__outside_step(o, true)) break;
    uint64_t from_ticks = axp__outside_wanted_from(o);
    axp__outside_close(o);
    if (!is_over) return AXP_OK;
    if (!path) return axp__fail(AXP_E_NO_MEMORY, "no memory to end a drain");
    axp_status status = pack(path, NULL, from_ticks, false);
    free(path);
    return status;
}
