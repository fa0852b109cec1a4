/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* axp_file_info_write: what `axprof info` prints of each file.
 *
 * From index and accumulators alone: the timeline is not read, so that it
 * costs the same however long a recording is. What a file says is untrusted:
 * nothing but printable text reaches the terminal. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "axprof/axprof_file.h"
#include "file/file_open.h"
#include "file/file_samples.h"
#include "file/file_stacks.h"
#include "file/file_walk.h"
#include "os/os_clock.h"
#include "record/record_thread.h"
#include "wire/wire_decode.h"

static bool put_about(FILE *to, const struct axp__opened *o, const char *label,
                      const char *key)
{
    const struct axp__about *a = &o->about;
    for (size_t i = a->n; i--;) {
        if (strcmp(a->pair[i].key, key) != 0) continue;
        fprintf(to, "%s", label);
        axp__text_put(to, a->pair[i].value, a->pair[i].len);
        return true;
    }
    return false;
}

static void put_hex(FILE *to, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%02x", bytes[i]);
}

/* ---- parts ----------------------------------------------------------------------- */

/* Which of the recordings in its file it is. */
struct place {
    size_t i, n;
};

static void put_file(FILE *to, const struct axp__opened *o, struct place at)
{
    static const char *const origins[] = {
        [AXP__FROM_FILE] = "complete",
        [AXP__FROM_SPOOL] = "not ended by its process: read with its spool",
        [AXP__FROM_WORDS] = "without statistics: counted again",
    };
    const struct axp__file *f = o->file;
    axp__text_put(to, f->path, strlen(f->path));
    if (at.n > 1) fprintf(to, ", %zu of %zu", at.i + 1, at.n);
    fprintf(to, "\n  format    version %u, %" PRIu64 " bytes, %s\n",
            f->head.version, f->bytes,
            o->is_alive ? "still being recorded"
            : o->origin == AXP__FROM_FILE && !f->is_finished
                ? "statistics, but no index"
                : origins[o->origin]);
    if (f->fault.what)
        fprintf(to, "  damage    byte %" PRIu64 ": %s\n", f->fault.at,
                f->fault.what);
    if (f->n_damaged)
        fprintf(to, "  damage    %" PRIu64 " block%s passed over\n",
                f->n_damaged, f->n_damaged == 1 ? "" : "s");
    if (f->n_unknown)
        fprintf(to, "  unknown   %" PRIu64 " block%s of kind %u\n",
                f->n_unknown, f->n_unknown == 1 ? "" : "s", f->unknown);
}

static void put_run(FILE *to, const struct axp__opened *o)
{
    const struct axp__file_head *h = &o->file->head;
    const struct axp__capture *c = o->capture;
    char when[32] = "";
    time_t seconds = (time_t)(h->clock.realtime_ns / 1000000000u);
    struct tm tm;
    if (gmtime_r(&seconds, &tm))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
    fprintf(to, "  run       ");
    put_hex(to, h->run_id, sizeof h->run_id);
    fprintf(to, ", title \"");
    axp__text_put(to, c->title, strlen(c->title));
    fprintf(to, "\"\n  process   %" PRIu64, h->process_id);
    if (h->rank >= 0) fprintf(to, ", rank %d", h->rank);
    fprintf(to, ", begun %s\n", when);
    if (put_about(to, o, "  program   ", "arguments") ||
        put_about(to, o, "  program   ", "program"))
        fputc('\n', to);
    if (put_about(to, o, "  host      ", "host")) {
        put_about(to, o, ", ", "machine");
        put_about(to, o, ", ", "system");
        put_about(to, o, ", ", "cpu");
        if (put_about(to, o, ", ", "cpus.allowed")) fprintf(to, " CPUs");
        fputc('\n', to);
    }
}

/* By the accumulators. */
struct kinds {
    uint64_t scopes, allocs, frees, counters, steps;
};

static struct kinds count_kinds(const struct axp__capture *c)
{
    struct kinds k = {0};
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__cap_lane *lane = &c->lanes[i];
        for (uint32_t n = 0; n < lane->n_nodes; n++)
            k.scopes += lane->nodes[n].calls;
        for (uint32_t n = 0; n < lane->n_ops; n++)
            k.scopes += lane->ops[n].loose_calls;
        for (uint32_t n = 0; n < lane->n_traffic; n++) {
            k.allocs += lane->traffic[n].n_allocs;
            k.frees += lane->traffic[n].n_frees;
        }
        for (uint32_t n = 0; n < lane->n_counters; n++)
            k.counters += lane->counters[n].n;
        if (lane->steps) k.steps += lane->steps->stats.loose_calls;
    }
    return k;
}

/* A file's blocks say how many events they hold; a spool's chunks do not. */
static uint64_t count_events(const struct axp__cap_chunk *chunk)
{
    struct axp__cap_words w;
    struct axp__decoder d;
    struct axp__wire_event e;
    uint64_t n = 0;
    if (chunk->n_events != UINT64_MAX) return chunk->n_events;
    if (!axp__words_load(chunk, 0, &w)) return 0;
    axp__decoder_init(&d, w.words, w.n_words, w.base_ticks);
    while (axp__decoder_next(&d, &e))
        n += axp__word_events(
            e.kind, e.kind == AXP__W_EXT ? e.ext : (enum axp__ext_kind)0);
    axp__words_unload(&w);
    return n;
}

struct events {
    uint64_t all, in_file; /* the others are in its spool alone */
};

static struct events count_timeline(const struct axp__capture *c)
{
    struct events e = {0};
    for (size_t i = 0; i < c->n_chunks; i++) {
        uint64_t n = count_events(&c->chunks[i]);
        e.all += n;
        if (axp__file_of(&c->chunks[i])) e.in_file += n;
    }
    return e;
}

struct blocks { /* of a kind */
    uint64_t n, bytes;
};

static void count_blocks(const struct axp__file *f,
                         struct blocks blocks[AXP__B_N_KINDS])
{
    struct axp__file_walk w;
    axp__file_walk_begin(&w, f);
    while (axp__file_walk_next(&w)) {
        if (w.entry.block.kind >= AXP__B_N_KINDS) continue;
        blocks[w.entry.block.kind].n++;
        blocks[w.entry.block.kind].bytes += axp__block_span(&w.entry.block);
    }
}

/* Words are plurals, which end in "s". */
static void put_count(FILE *to, uint64_t n, const char *words)
{
    fprintf(to, "%" PRIu64 " %.*s", n, (int)strlen(words) - (n == 1), words);
}

static void put_counted(FILE *to, const struct kinds *k, uint64_t open)
{
    fprintf(to, "  counted   ");
    put_count(to, k->scopes + open, "scopes");
    fprintf(to, " (%" PRIu64 " open), ", open);
    put_count(to, k->allocs, "allocations");
    fprintf(to, ", ");
    put_count(to, k->frees, "frees");
    fprintf(to, ", ");
    put_count(to, k->counters, "counter values");
    fprintf(to, ", ");
    put_count(to, k->steps, "steps");
    fputc('\n', to);
}

static void put_timeline(FILE *to, const struct axp__capture *c, uint64_t bytes)
{
    struct events e = count_timeline(c);
    fprintf(to, "  timeline  ");
    put_count(to, e.all, "events");
    fprintf(to, ", %" PRIu64 " cut",
            c->n_events > e.all ? c->n_events - e.all : 0);
    if (e.in_file)
        fprintf(to, ", %.2f bytes an event", (double)bytes / (double)e.in_file);
    fputc('\n', to);
    if (e.in_file < e.all)
        fprintf(to,
                "  spool     %" PRIu64 " of these events are not in the file\n",
                e.all - e.in_file);
}

static void put_events(FILE *to, const struct axp__opened *o,
                       const struct blocks blocks[AXP__B_N_KINDS])
{
    const struct axp__capture *c = o->capture;
    struct kinds k = count_kinds(c);
    uint64_t tracks = 0, open = 0;
    for (size_t i = 0; i < c->n_rows; i++)
        tracks += c->rows[i].track != 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        open += c->lanes[i].n_frames;
    char duration[32];
    axp_format_ns(duration, sizeof duration,
                  axp__rate_to_ns((struct axp__rate){c->rate_mult},
                                  c->end_ticks - c->start_ticks));
    fprintf(to, "  duration  %s\n  rows      ", duration);
    put_count(to, c->n_rows - tracks, "threads");
    fprintf(to, ", ");
    put_count(to, tracks, "tracks");
    fputc('\n', to);
    put_counted(to, &k, open);
    put_timeline(to, c, blocks[AXP__B_CHUNK].bytes + blocks[AXP__B_PACK].bytes);
}

static void put_stacks(FILE *to, const struct axp__capture *c)
{
    uint64_t n = axp__file_stacks_count(c);
    if (n)
        fprintf(to, "  stacks    %" PRIu64 ", in %zu %s told\n", n,
                c->n_modules,
                c->n_modules == 1 ? "module that was" : "modules that were");
    n = axp__file_samples_count(c);
    if (n) fprintf(to, "  samples   %" PRIu64 "\n", n);
}

static void put_blocks(FILE *to, const struct blocks blocks[AXP__B_N_KINDS])
{
    for (uint32_t kind = 1; kind < AXP__B_N_KINDS; kind++)
        if (blocks[kind].n)
            fprintf(to, "  blocks    %-6s %6" PRIu64 " of %" PRIu64 " bytes\n",
                    axp__block_kind_name((enum axp__block_kind)kind),
                    blocks[kind].n, blocks[kind].bytes);
}

static void put_warnings(FILE *to, const struct axp__capture *c)
{
    for (size_t i = 0; i < c->n_warnings; i++)
        axp__text_put_warning(to, "  warning   ", c, &c->warnings[i]);
}

static axp_status put_span(FILE *to, const char *path,
                           const struct axp__span *span, struct place at,
                           bool *is_damaged)
{
    struct axp__opened o = {0};
    struct blocks blocks[AXP__B_N_KINDS] = {0};
    axp_status status = axp__trace_open_span(path, span, &o);
    if (status) return status;
    if (at.i) fputc('\n', to);
    put_file(to, &o, at);
    put_run(to, &o);
    count_blocks(o.file, blocks);
    put_events(to, &o, blocks);
    put_stacks(to, o.capture);
    put_blocks(to, blocks);
    put_warnings(to, o.capture);
    *is_damaged |= axp__cap_damage(o.capture) > 0;
    o.capture->release(o.capture);
    return AXP_OK;
}

axp_status axp_file_info_write(const char *const *paths, size_t n, FILE *to)
{
    axp_status status = AXP_OK;
    bool is_damaged = false;
    if (!paths || !n || !to)
        return axp__fail(AXP_E_INVALID, "axp_file_info_write needs paths and a "
                                        "file to write to");
    for (size_t i = 0; !status && i < n; i++) {
        struct axp__spans spans;
        if (!paths[i]) return axp__fail(AXP_E_INVALID, "NULL path");
        if (i) fputc('\n', to);
        status = axp__spans_find(paths[i], &spans);
        for (size_t k = 0; !status && k < spans.n; k++)
            status = put_span(to, paths[i], &spans.span[k],
                              (struct place){k, spans.n}, &is_damaged);
        axp__spans_fini(&spans);
    }
    if (status) return status;
    if (ferror(to)) return axp__fail(AXP_E_IO, "cannot write");
    if (!is_damaged) return AXP_OK;
    return axp__fail(
        AXP_E_DAMAGED,
        "parts of the recording are damaged or missing; what there "
        "is was shown");
}
