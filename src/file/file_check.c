/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axp_file_check: every block of a file, and whether its timeline and its
 * accumulators tell the same story. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "axprof/axprof_file.h"
#include "file/file_compare.h"
#include "file/file_fold.h"
#include "file/file_open.h"
#include "file/file_pack.h"
#include "file/file_samples.h"
#include "file/file_stacks.h"
#include "file/file_states.h"
#include "file/file_texts.h"
#include "file/file_walk.h"
#include "record/record_thread.h"
#include "wire/wire_decode.h"

struct check {
    const struct axp__opened *o;
    FILE *to;
    uint64_t n_wrong;
    uint64_t n_events; /* in the timeline */
};

static void tell(struct check *c, uint64_t at, enum axp__block_kind kind,
                 const char *what)
{
    c->n_wrong++;
    fprintf(c->to, "  byte %" PRIu64 ", %s block: %s\n", at,
            axp__block_kind_name(kind), what);
}

/* ---- blocks ------------------------------------------------------------------------ */

static bool is_stack(const struct axp__capture *c, uint32_t id)
{
    return id == AXP__STACK_NO_ROOM || axp__cap_stack(c, id);
}

/* Whether the words are whole events, as many as the block says, and the stacks
 * that they refer to are there: what is wrong, or NULL. */
static const char *check_words(const struct axp__capture *c,
                               const uint64_t *words,
                               const struct axp__unpacked_chunk *k)
{
    struct axp__decoder d;
    struct axp__wire_event e;
    uint64_t n = 0, n_lost = 0;
    axp__decoder_init(&d, words, k->n_words, k->base_ticks);
    while (axp__decoder_next(&d, &e)) {
        bool is_ext = e.kind == AXP__W_EXT;
        n += axp__word_events(e.kind, is_ext ? e.ext : (enum axp__ext_kind)0);
        if (is_ext && e.ext == AXP__X_STACK_REF)
            n_lost += !is_stack(c, e.argument);
    }
    if (d.is_damaged || d.at != k->n_words || n != k->n_events)
        return "its words are not the events it claims";
    return n_lost ? "it refers to stacks that are not in the file" : NULL;
}

static const char *check_timeline(const struct axp__capture *c,
                                  const struct axp__block *b, uint8_t *body)
{
    if (b->kind == AXP__B_CHUNK)
        return check_words(
            c, (const uint64_t *)(const void *)body,
            &(struct axp__unpacked_chunk){.base_ticks = b->base_ticks,
                                          .n_words = b->n_words,
                                          .n_events = b->n_events});
    struct axp__unpacked u;
    const char *wrong = NULL;
    enum axp__unpack_result result = axp__file_unpack(b, body, &u);
    if (result) wrong = "its columns cannot be unpacked";
    for (size_t i = 0; !wrong && i < u.n_chunks; i++)
        wrong = check_words(c, u.words + u.chunk[i].first, &u.chunk[i]);
    axp__unpacked_fini(&u);
    return wrong;
}

/* Whether nothing but zeros lies between a block and the next. */
static bool has_clean_padding(const struct axp__file *f,
                              const struct axp__index_entry *e)
{
    uint8_t pad[8] = {0};
    uint64_t at = e->at + AXP__BLOCK_HEAD + e->block.body_bytes;
    size_t n = (size_t)(e->at + axp__block_span(&e->block) - at);
    if (!axp__file_read_at(f, at, pad, n)) return false;
    for (size_t i = 0; i < n; i++)
        if (pad[i]) return false;
    return true;
}

static void check_block(struct check *c, const struct axp__index_entry *e)
{
    const struct axp__file *f = c->o->file;
    const struct axp__block *b = &e->block;
    axp_status status;
    if (!axp__file_entry_is_true(f, e)) {
        tell(c, e->at, b->kind, "its head is not what the index says");
        return;
    }
    uint8_t *body = axp__file_body(f, e, &status);
    if (!body) {
        tell(c, e->at, b->kind,
             status == AXP_E_NO_MEMORY ? "no memory to read it"
                                       : "its checksum is wrong");
        return;
    }
    const char *wrong = NULL;
    if (axp__block_is_timeline(b))
        wrong = check_timeline(c->o->capture, b, body);
    if (b->kind == AXP__B_STACKS && !axp__file_stacks_check(b, body))
        wrong = "it is not the stacks it claims";
    if (b->kind == AXP__B_STATES && !axp__file_states_check(b, body))
        wrong = "it is not the states of threads it claims";
    if (b->kind == AXP__B_SAMPLES && !axp__file_samples_read(b, body, NULL))
        wrong = "it is not the samples it claims";
    if (wrong) tell(c, e->at, b->kind, wrong);
    if (!has_clean_padding(f, e))
        tell(c, e->at, b->kind, "something lies between it and the next");
    free(body);
}

/* Between what the index lists there is nothing. */
static void check_gap(struct check *c, uint64_t at, uint64_t end)
{
    if (c->o->file->is_finished && at < end)
        tell(c, at, AXP__B_NONE, "the index does not know it");
}

/* The index itself was compared when the file was opened. */
static void check_index(struct check *c)
{
    const struct axp__file *f = c->o->file;
    struct axp__index_entry index = {.at = f->end};
    if (!f->is_finished) return;
    if (!axp__file_head_at(f, f->end, &index.block) ||
        !has_clean_padding(f, &index) ||
        f->end + axp__block_span(&index.block) + AXP__FILE_TAIL != f->bytes)
        tell(c, f->end, AXP__B_INDEX,
             "something lies between it and the trailer");
}

static void check_blocks(struct check *c)
{
    const struct axp__file *f = c->o->file;
    uint64_t end = AXP__FILE_HEAD; /* of the block before */
    struct axp__file_walk w;
    if (f->fault.what) {
        c->n_wrong++;
        fprintf(c->to, "  byte %" PRIu64 ": %s\n", f->fault.at, f->fault.what);
    }
    axp__file_walk_begin(&w, f);
    while (axp__file_walk_next(&w)) {
        check_gap(c, end, w.entry.at);
        check_block(c, &w.entry);
        end = w.entry.at + axp__block_span(&w.entry.block);
    }
    check_gap(c, end, f->end);
    check_index(c);
    for (size_t i = 0; i < c->o->capture->n_chunks; i++)
        if (c->o->capture->chunks[i].n_events != UINT64_MAX)
            c->n_events += c->o->capture->chunks[i].n_events;
}

/* ---- statistics ---------------------------------------------------------------------- */

static uint64_t warning_count(const struct axp__capture *c, const char *code)
{
    for (size_t i = 0; i < c->n_warnings; i++)
        if (!strcmp(c->warnings[i].code, code)) return c->warnings[i].count;
    return 0;
}

static axp_status compare(struct check *c, struct axp__fold *fold)
{
    struct axp__capture empty = {0}, *folded;
    const struct axp__capture *stored = c->o->capture;
    folded = axp__cap_take(&empty, 1, sizeof *folded);
    if (!folded) return AXP_E_NO_MEMORY;
    *folded = (struct axp__capture){.memory = empty.memory,
                                    .process_id = stored->process_id,
                                    .rank = stored->rank};
    struct axp__comparison x = {.stored = stored,
                                .folded = folded,
                                .to = c->to,
                                .largest_block = fold->largest_block,
                                .n_with_memory = fold->n_with_memory};
    bool ok = axp__fold_to_capture(fold, folded, NULL, 0);
    if (ok) axp__compare(&x);
    axp__cap_free(folded);
    if (!ok || x.is_out_of_memory) return AXP_E_NO_MEMORY;
    c->n_wrong += x.n_different;
    fprintf(c->to,
            "  %" PRIu64 " events folded again: %" PRIu64 " fields compared, "
            "%" PRIu64 " differ\n",
            c->n_events, x.n_compared, x.n_different);
    return AXP_OK;
}

/* Why the statistics cannot be counted again; NULL: they can. */
static const char *why_not(const struct check *c)
{
    const struct axp__capture *k = c->o->capture;
    if (c->o->origin != AXP__FROM_FILE) return "no statistics are stored";
    if (!k->has_timeline) return "it has no timeline";
    if (k->n_events != c->n_events) return "its timeline was cut";
    if (warning_count(k, "folded_paths"))
        return "paths were folded for want of memory";
    if (warning_count(k, "no_memory"))
        return "events were not recorded for want of memory";
    return NULL;
}

static axp_status check_statistics(struct check *c)
{
    const char *why = why_not(c);
    struct axp__fold *fold =
        why ? NULL : axp__fold_create(c->o->capture, false);
    axp_status status = AXP_OK;
    if (!why && !fold) return AXP_E_NO_MEMORY;
    if (!why && axp__fold_lost(fold)) why = "its call tree is too large for it";
    if (why)
        fprintf(c->to, "  statistics not counted again: %s\n", why);
    else
        status = compare(c, fold);
    axp__fold_destroy(fold);
    return status;
}

/* What is sound may not be all: what the recorder knows to be missing. */
static void tell_missing(const struct axp__capture *c, FILE *to)
{
    static const char *const codes[] = {"unrecorded_processes", "write_failed",
                                        "spool_full", "lost_samples"};
    for (size_t i = 0; i < c->n_warnings; i++) {
        const struct axp__cap_warning *w = &c->warnings[i];
        bool is_one = false;
        for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
            is_one |= w->count && !strcmp(w->code, codes[k]);
        if (is_one) axp__text_put_warning(to, "  missing   ", c, w);
    }
}

static axp_status check_span(const char *path, const struct axp__span *span,
                             FILE *to)
{
    struct axp__opened o;
    axp_status status = axp__trace_open_span(path, span, &o);
    if (status) return status;
    struct check c = {.o = &o, .to = to};
    check_blocks(&c);
    fprintf(to, "  %" PRIu64 " block%s, %" PRIu64 " bytes\n", o.file->n_blocks,
            o.file->n_blocks == 1 ? "" : "s", o.file->bytes);
    status = check_statistics(&c);
    tell_missing(o.capture, to);
    bool is_finished = o.file->is_finished;
    bool was_damaged = axp__cap_damage(o.capture);
    o.capture->release(o.capture);
    if (status) return axp__fail(status, "no memory to check %s", path);
    if (c.n_wrong)
        return axp__fail(AXP_E_FORMAT,
                         c.n_wrong == 1 ? "%llu thing is wrong"
                                        : "%llu things are wrong",
                         (unsigned long long)c.n_wrong);
    if (!is_finished)
        return axp__fail(AXP_E_STATE,
                         "the recording was not ended: axprof pack makes one "
                         "complete file of it");
    if (was_damaged)
        return axp__fail(AXP_E_DAMAGED,
                         "the file is sound, but parts were missing when it "
                         "was packed: axprof report says which");
    return AXP_OK;
}

/* All recordings in it, though one is wrong: what is, of the last. */
axp_status axp_file_check(const char *path, FILE *to)
{
    struct axp__spans spans;
    if (!path || !to)
        return axp__fail(AXP_E_INVALID, "axp_file_check needs a path and a "
                                        "file to write to");
    axp_status worst = axp__spans_find(path, &spans);
    for (size_t i = 0; i < spans.n; i++) {
        axp_status status = check_span(path, &spans.span[i], to);
        if (status) worst = status;
    }
    axp__spans_fini(&spans);
    return worst;
}
