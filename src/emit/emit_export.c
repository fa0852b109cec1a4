/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of exports and the public calls; see emit_export.h. */
#include "emit/emit_export.h"

#include <stdlib.h>
#include <string.h>

#include "record/record_thread.h"

static const struct axp__export_format formats[] = {
#define X(id, name, function, description)                                     \
    {AXP_EXPORT_##id, name, description, axp__emit_##function},
#include "emit/emit_formats.def"
#undef X
};
#define N_FORMATS (sizeof formats / sizeof *formats)

const struct axp__export_format *axp__export_format_at(axp_export_format id)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (formats[i].id == id) return &formats[i];
    return NULL;
}

/* ---- stacks ------------------------------------------------------------------------- */

#define MOST_FRAMES ((uint64_t)1 << 22)
#define LEAST_DEPTH 64u
#define MOST_BYTES ((uint64_t)1 << 27)
#define LEAST_BYTES 64u

struct sums { /* over the stacks of all places */
    uint64_t n_frames, n_bytes;
};

static bool add_stacks(const axp_view *v, struct sums *all)
{
    struct sums *own = calloc(v->n_tree + 1, sizeof *own);
    for (size_t i = 0; own && i < v->n_tree; i++) {
        int32_t up = v->tree[i].parent;
        own[i] = up >= 0 ? own[up] : (struct sums){0};
        if (up >= 0) {
            own[i].n_frames++;
            own[i].n_bytes += axp__len_to(v->tree[i].name, AXP__MOST_NAME);
        }
        all->n_frames += own[i].n_frames;
        all->n_bytes += own[i].n_bytes;
    }
    bool is_known = own;
    free(own);
    return is_known;
}

bool axp__export_stack(const axp_view *v, struct axp__stack_limit *most)
{
    struct sums all = {0};
    if (!add_stacks(v, &all)) return false;
    *most = (struct axp__stack_limit){SIZE_MAX, AXP__MOST_NAME};
    if (all.n_frames > MOST_FRAMES) {
        size_t frames = MOST_FRAMES / v->n_tree;
        most->n_frames = frames > LEAST_DEPTH ? frames : LEAST_DEPTH;
        all.n_frames = most->n_frames * v->n_tree;
    }
    if (all.n_bytes > MOST_BYTES) {
        size_t bytes = MOST_BYTES / all.n_frames;
        most->name_bytes = bytes > LEAST_BYTES ? bytes : LEAST_BYTES;
    }
    return true;
}

/* ---- names of formats --------------------------------------------------------------- */

static axp_status fail_unknown(const char *what)
{
    char known[160];
    size_t len = 0;
    known[0] = 0;
    for (size_t i = 0; i < N_FORMATS && len < sizeof known; i++)
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%s",
                                i ? ", " : "", formats[i].name);
    return axp__fail(AXP_E_INVALID, "no export format %.40s; there are %s",
                     what, known);
}

/* Names that the table does not show, but people type. */
static const struct {
    axp_export_format id;
    const char *name;
} other_names[] = {
#define X(id, name, function, description)
#define OTHER(id, name) {AXP_EXPORT_##id, name},
#include "emit/emit_formats.def"
#undef X
};

axp_status axp_export_format_by_name(const char *name, axp_export_format *out)
{
    for (size_t i = 0; name && out && i < N_FORMATS; i++)
        if (!strcmp(formats[i].name, name)) {
            *out = formats[i].id;
            return AXP_OK;
        }
    for (size_t i = 0;
         name && out && i < sizeof other_names / sizeof *other_names; i++)
        if (!strcmp(other_names[i].name, name)) {
            *out = other_names[i].id;
            return AXP_OK;
        }
    return fail_unknown(name && *name ? name : "without a name");
}

const char *axp_export_format_name(axp_export_format f,
                                   const char **description)
{
    const struct axp__export_format *format = axp__export_format_at(f);
    if (description) *description = format ? format->description : NULL;
    return format ? format->name : NULL;
}

/* ---- writing ------------------------------------------------------------------------ */

struct job {
    const axp_view *v;
    const struct axp__export_format *format;
};

static axp_status write_job(struct axp__out *o, void *ctx)
{
    const struct job *job = ctx;
    return job->format->write(job->v, o);
}

static axp_status prepare(const axp_view *v, axp_export_format id,
                          struct job *job)
{
    char number[24];
    job->v = v;
    job->format = axp__export_format_at(id);
    if (!v) return axp__fail(AXP_E_INVALID, "an export needs a view");
    if (job->format) return AXP_OK;
    snprintf(number, sizeof number, "number %d", (int)id);
    return fail_unknown(number);
}

axp_status axp_export(const axp_view *v, const char *path, axp_export_format id)
{
    struct job job;
    axp_status status = prepare(v, id, &job);
    return status ? status : axp__out_to_path(path, write_job, &job);
}

axp_status axp_export_write(const axp_view *v, axp_export_format id, FILE *to)
{
    struct job job;
    axp_status status = prepare(v, id, &job);
    if (!status && !to)
        status = axp__fail(AXP_E_INVALID, "an export needs a file to go to");
    return status ? status : axp__out_to_file(to, write_job, &job);
}
