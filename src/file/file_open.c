/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From a path to a capture; see file_open.h. */
#include "file/file_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "axprof/axprof_file.h"
#include "file/file_fold.h"
#include "file/file_image.h"
#include "file/file_pack.h"
#include "file/file_part.h"
#include "file/file_recount.h"
#include "file/file_samples.h"
#include "file/file_stacks.h"
#include "file/file_states.h"
#include "file/file_walk.h"
#include "outside/outside_recover.h"
#include "record/record_thread.h"
#include "record/record_trace.h"

static axp_status no_memory(const char *path)
{
    return axp__fail(AXP_E_NO_MEMORY, "no memory to read %s", path);
}

/* What ran, where and when, as the file says it. */
static void keep_about(const struct axp__file *f, const struct axp__about *a,
                       struct axp__capture *c)
{
    c->about = (struct axp__cap_about){
        .program = axp__about_text(a, "program"),
        .arguments = axp__about_text(a, "arguments"),
        .host = axp__about_text(a, "host"),
        .cpu = axp__about_text(a, "cpu"),
        .machine = c->about.machine, /* a name said it */
        .memory_bytes = axp__about_number(a, "memory.bytes", 0),
        .n_cpus = axp__about_number(a, "cpus.allowed", 0),
        .pid_namespace = axp__about_number(a, "pid_namespace", 0),
        .address_limit_bytes =
            axp__about_number(a, "limit.address_space_bytes", 0),
    };
    axp__cap_start_at(c, f->head.clock.ticks, f->head.clock.realtime_ns);
}

/* ---- warnings ------------------------------------------------------------------ */

static bool add_warning(struct axp__capture *c, const char *code,
                        const char *text, uint64_t count)
{
    struct axp__cap_warning *wider =
        axp__cap_take(c, c->n_warnings + 1, sizeof *wider);
    if (!count) return true;
    if (!wider) return false;
    if (c->n_warnings)
        memcpy(wider, c->warnings, c->n_warnings * sizeof *wider);
    wider[c->n_warnings] = (struct axp__cap_warning){code, text, count, 0};
    c->warnings = wider;
    c->n_warnings++;
    return true;
}

static bool has_open(const struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_lanes; i++)
        for (uint32_t k = 0; k < c->lanes[i].n_frames; k++)
            if (c->lanes[i].frames[k].node > 0) return true;
    return false;
}

/* What was not as it should be, or is not all. One that ended by _exit, or was
 * killed between two scopes, has all that it did. Nothing is, of a file of a
 * whole run that ended well. */
static bool add_warnings(const struct axp__opened *o, uint32_t n_missing)
{
    struct axp__capture *c = o->capture;
    const struct axp__file *f = o->file;
    /* What was cut off there is in the spool still, if that is here; behind
     * statistics it was the index alone. */
    uint64_t n_cut = f->is_finished ? 0 : f->bytes - f->end;
    const char *window = axp__part_text(&o->about, c);
    return add_warning(
               c, "recovered",
               "processes that were ended in the middle of a scope: read "
               "from their spools, up to the last event",
               o->origin == AXP__FROM_SPOOL && !o->is_alive &&
                   !c->is_finished && has_open(c)) &&
           add_warning(c, "still_recording",
                       "processes that are still running: what they had "
                       "recorded when they were read",
                       o->is_alive) &&
           add_warning(c, AXP__CODE_NO_END,
                       "recordings without their statistics: counted "
                       "again from the timeline, and miss what it misses",
                       o->origin == AXP__FROM_WORDS && !o->is_unbegun) &&
           add_warning(c, "folded_paths",
                       "scopes whose call path found no room when they were "
                       "counted again; counted in their operation, shown "
                       "under (other) in the call tree",
                       o->n_folded) &&
           add_warning(c, AXP__CODE_CUT,
                       "bytes after the last whole block of the file; ignored",
                       o->origin == AXP__FROM_WORDS ? n_cut : 0) &&
           add_warning(c, AXP__CODE_CUT_INDEX,
                       "bytes of an index that is cut off; nothing that was "
                       "recorded is missing",
                       o->origin == AXP__FROM_FILE ? n_cut : 0) &&
           add_warning(c, AXP__CODE_DAMAGED, AXP__TEXT_DAMAGED, f->n_damaged) &&
           add_warning(c, AXP__CODE_MISSING,
                       "recordings of other processes that the file had, and "
                       "has no more: it was cut",
                       n_missing) &&
           add_warning(c, "unknown_blocks",
                       "blocks of a kind that this version does not know",
                       f->n_unknown) &&
           add_warning(c, "window", window, window != NULL);
}

/* ---- by the file alone ------------------------------------------------------------- */

/* The newest STATE that can be read into c; false in *found: there is none. */
static axp_status read_state(struct axp__file *f, struct axp__capture *c,
                             uint32_t *epoch, bool *found)
{
    *found = false;
    for (size_t i = f->n_entries; i--;) {
        const struct axp__index_entry *e = &f->entry[i];
        axp_status status;
        if (e->block.kind != AXP__B_STATE) continue;
        uint8_t *body = axp__file_body(f, e, &status);
        if (!body && status == AXP_E_NO_MEMORY) return status;
        if (!body) f->n_damaged++;
        if (!body) continue;
        enum axp__image_result result = axp__image_read(
            c, (struct axp__bytes){body, body + e->block.body_bytes, false});
        free(body);
        if (result == AXP__IMAGE_NO_MEMORY) return AXP_E_NO_MEMORY;
        *found = result == AXP__IMAGE_OK;
        *epoch = e->block.epoch;
        if (*found) return AXP_OK;
        f->n_damaged++;
        /* what was filled so far means nothing */
        *c = (struct axp__capture){.memory = c->memory,
                                   .own = c->own,
                                   .name_at = c->name_at,
                                   .n_names = c->n_names,
                                   .release = c->release};
    }
    return AXP_OK;
}

static uint32_t newest_epoch(const struct axp__file *f)
{
    struct axp__file_walk w;
    uint32_t epoch = 0;
    axp__file_walk_begin(&w, f);
    while (axp__file_walk_next(&w))
        if (axp__block_is_timeline(&w.entry.block) &&
            w.entry.block.epoch > epoch)
            epoch = w.entry.block.epoch;
    return epoch;
}

/* ns = ticks * this / 2^32, of the file's clock. */
static uint64_t rate_of(const struct axp__file *f, const struct axp__about *a)
{
    uint64_t mult = axp__about_number(a, "clock.mult", 0);
    uint64_t ticks = axp__about_number(a, "end.ticks", 0);
    uint64_t ns = axp__about_number(a, "end.monotonic_ns", 0);
    if (mult) return mult;
    if (ticks > f->head.clock.ticks && ns > f->head.clock.monotonic_ns)
        mult = (uint64_t)(((axp__wide)(ns - f->head.clock.monotonic_ns) << 32) /
                          (ticks - f->head.clock.ticks));
    return mult ? mult : (uint64_t)1 << 32;
}

static bool copy_tracks(struct axp__capture *c,
                        const struct axp__row_record *rows, size_t n)
{
    c->rows = axp__cap_take(c, n, sizeof *c->rows);
    if (!c->rows) return false;
    for (size_t i = 0; i < n; i++)
        if (rows[i].track) {
            c->rows[c->n_rows].id = rows[i].id;
            c->rows[c->n_rows++].track = rows[i].track;
        }
    return true;
}

/* Accumulators from the words of c, which has its chunks. */
static bool fold(struct axp__opened *o, struct axp__file *file)
{
    struct axp__capture *c = o->capture;
    struct axp__row_record *rows;
    size_t n;
    c->process_id = file->head.process_id;
    c->rank = file->head.rank;
    c->start_ticks = file->head.start_ticks;
    c->rate_mult = rate_of(file, &o->about);
    c->own_cost.around_ticks =
        axp__about_number(&o->about, "own_cost_ticks", 0);
    c->own_cost.inside_ticks =
        axp__about_number(&o->about, "own_inside_ticks", 0);
    c->own_cost.alloc_ticks =
        axp__about_number(&o->about, "own_alloc_ticks", 0);
    c->timeline_capacity =
        axp__about_number(&o->about, "options.timeline_capacity", 0);
    c->has_timeline = true;
    if (!axp__file_rows(file, c, &rows, &n) || !copy_tracks(c, rows, n))
        return false;
    struct axp__fold *folded = axp__fold_create(c, false);
    c->rows = NULL;
    c->n_rows = 0;
    bool ok = folded && axp__fold_to_capture(folded, c, rows, n);
    if (folded) o->n_folded = axp__fold_lost(folded);
    axp__fold_destroy(folded);
    return ok;
}

static axp_status by_file(struct axp__file *f, struct axp__opened *o)
{
    struct axp__capture *c = o->capture;
    bool found;
    if (!axp__file_names(f, c)) return AXP_E_NO_MEMORY;
    axp_status status = read_state(f, c, &o->epoch, &found);
    if (status) return status;
    if (!found) o->epoch = newest_epoch(f);
    if (!axp__file_about(f, c, &o->about) ||
        !axp__file_stacks(f, &o->about, c) || !axp__file_samples(f, c) ||
        !axp__file_states(f, c) || !axp__file_as_source(f, c, o->epoch))
        return AXP_E_NO_MEMORY;
    o->file = f;
    o->origin = found ? AXP__FROM_FILE : AXP__FROM_WORDS;
    if (!found && !fold(o, f)) return AXP_E_NO_MEMORY;
    c->title = axp__about_text(&o->about, "title");
    if (!c->title) c->title = "";
    return AXP_OK;
}

/* ---- with a spool -------------------------------------------------------------------- */

/* The file's block that holds a chunk of the spool too; they lie from `first`
 * on, by row and seq, each with a chunk of its own. */
static struct axp__cap_chunk *find_in_file(struct axp__capture *c, size_t first,
                                           const struct axp__cap_chunk *chunk,
                                           struct axp__block *block)
{
    struct axp__index_entry e;
    size_t low = first, high = c->n_chunks;
    while (low < high) { /* the first that begins after the chunk */
        size_t mid = (low + high) / 2;
        const struct axp__cap_chunk *k = &c->chunks[mid];
        if (k->row < chunk->row ||
            (k->row == chunk->row && k->seq <= chunk->seq))
            low = mid + 1;
        else
            high = mid;
    }
    if (low == first || c->chunks[low - 1].row != chunk->row) return NULL;
    struct axp__cap_chunk *k = &c->chunks[low - 1];
    if (!axp__file_part(k, 0, &e)) return NULL;
    *block = e.block;
    return chunk->seq - k->seq < e.block.n ? k : NULL;
}

/* Whether the file has it, and has all of it. If the file's is an older copy,
 * of which there is one in its block, that one goes. */
static bool is_in_file(struct axp__capture *c, size_t first,
                       const struct axp__cap_chunk *chunk)
{
    struct axp__block b;
    struct axp__cap_chunk *k = find_in_file(c, first, chunk, &b);
    if (!k) return false;
    if (b.n > 1 || b.n_words >= chunk->n_words) return true;
    memmove(k, k + 1, (size_t)(c->chunks + c->n_chunks - k - 1) * sizeof *k);
    c->n_chunks--;
    return false;
}

/* The spool's come first, then the file's. */
static void leave_out_doubles(struct axp__capture *c, size_t n_spool)
{
    size_t kept = 0;
    for (size_t i = 0; i < n_spool; i++)
        if (!is_in_file(c, n_spool, &c->chunks[i]))
            c->chunks[kept++] = c->chunks[i];
    memmove(c->chunks + kept, c->chunks + n_spool,
            (c->n_chunks - n_spool) * sizeof *c->chunks);
    c->n_chunks -= n_spool - kept;
}

/* NULL in o->capture: there is none that can be read. */
static axp_status by_spool(struct axp__file *f, struct axp__opened *o)
{
    struct axp__recovered r;
    int fd = axp__spool_open_for(f->fd, f->path);
    if (fd < 0) return AXP_OK;
    axp__spool_wait(fd);
    if (f->n_blocks < 2 && !axp__spool_has_begun(fd)) {
        o->is_unbegun = true;
        o->is_alive = axp__spool_is_in_use(fd);
        close(fd);
        return AXP_OK;
    }
    axp_status status = axp__spool_recover(fd, &r);
    if (status == AXP_E_NO_MEMORY) return status;
    if (status) return AXP_OK;
    size_t n_spool = r.capture->n_chunks;
    o->capture = r.capture;
    o->origin = AXP__FROM_SPOOL;
    o->is_alive = r.is_alive;
    o->epoch = r.epoch;
    o->file = f;
    if (!axp__file_about(f, r.capture, &o->about) ||
        !axp__file_stacks(f, &o->about, r.capture) ||
        !axp__file_samples(f, r.capture) ||
        !axp__file_as_source(f, r.capture, r.epoch)) {
        r.capture->release(r.capture);
        o->capture = NULL;
        return AXP_E_NO_MEMORY;
    }
    leave_out_doubles(r.capture, n_spool);
    /* Who finishes waits until nobody is inside: nothing there is half. */
    bool is_whole = r.is_alive || r.capture->is_finished;
    return is_whole ? AXP_OK : axp__recount(&r);
}

/* ---- opening ------------------------------------------------------------------------------ */

static struct axp__capture *new_capture(void)
{
    struct axp__capture empty = {0}, *c = axp__cap_take(&empty, 1, sizeof *c);
    if (c)
        *c = (struct axp__capture){.memory = empty.memory,
                                   .release = axp__cap_free};
    return c;
}

static bool has_state(const struct axp__file *f)
{
    for (size_t i = 0; i < f->n_entries; i++)
        if (f->entry[i].block.kind == AXP__B_STATE) return true;
    return false;
}

static void copy_clock(struct axp__capture *c,
                       const struct axp__file_head *head)
{
    c->clock.ticks = head->clock.ticks;
    c->clock.monotonic_ns = head->clock.monotonic_ns;
    c->clock.realtime_ns = head->clock.realtime_ns;
}

axp_status axp__trace_open(const char *path, struct axp__opened *out)
{
    return axp__trace_open_span(path, &(struct axp__span){.bytes = UINT64_MAX},
                                out);
}

axp_status axp__trace_open_span(const char *path, const struct axp__span *span,
                                struct axp__opened *out)
{
    struct axp__opened o = {0};
    struct axp__file *f = NULL;
    axp_status status = axp__file_open_span(path, span, &f);
    if (status) return status;
    if (!has_state(f) && !f->base) status = by_spool(f, &o);
    if (!status && !o.capture) {
        o.capture = new_capture();
        status = o.capture ? by_file(f, &o) : AXP_E_NO_MEMORY;
    }
    if (!status && !add_warnings(&o, span->n_missing)) status = AXP_E_NO_MEMORY;
    if (!status) {
        copy_clock(o.capture, &f->head);
        axp__part_set(&o.about, o.capture);
        keep_about(f, &o.about, o.capture);
        *out = o;
        return AXP_OK;
    }
    bool is_owned = o.capture && o.capture->sources == &f->source;
    if (o.capture) o.capture->release(o.capture);
    if (!is_owned) axp__file_close(f);
    return status == AXP_E_NO_MEMORY ? no_memory(path) : status;
}

/* A header, and perhaps what its program is, but nothing that it did. */
bool axp_file_is_empty(const char *path)
{
    struct axp__file *f = NULL;
    struct stat st;
    if (!path || stat(path, &st) || !S_ISREG(st.st_mode)) return false;
    if (st.st_size < (off_t)AXP__FILE_HEAD) return st.st_size == 0;
    if (axp__file_open(path, &f)) return false;
    bool is_empty = !f->n_damaged && f->end == f->bytes && f->n_blocks < 2 &&
                    (!f->n_entries || f->entry[0].block.kind == AXP__B_ABOUT);
    int spool = is_empty ? axp__spool_open_for(f->fd, path) : -1;
    if (spool >= 0) close(spool);
    axp__file_close(f);
    return is_empty && spool < 0;
}

/* Where libaxprof is, drains pack what they write. */
static __attribute__((constructor)) void give_packing(void)
{
    axp__trace_set_packing(&axp__file_packing);
}

axp_status axp__trace_attach(struct axp__capture *c)
{
    struct axp__file *f = NULL;
    struct axp__about about;
    bool is_whole = c->trace_bytes == UINT64_MAX;
    axp_status status =
        axp__file_open_own(c->trace, c->trace_mapped, c->trace_bytes, &f);
    c->trace = NULL;
    if (status) return status;
    if (axp__file_about(f, c, &about)) {
        keep_about(f, &about, c);
        (void)axp__file_stacks(f, &about, c); /* or without names */
    }
    size_t n = is_whole ? 0 : c->n_chunks; /* else copies of what it has */
    c->n_chunks = n;
    if (!axp__file_as_source(f, c, c->trace_epoch)) {
        axp__file_close(f);
        return no_memory("a recording");
    }
    leave_out_doubles(c, n);
    return AXP_OK;
}
