/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A capture written as tables; see tally_image.h. */
#include "tally/tally_image.h"

#include "base/base_bytes.h"

#define BUFFER 4096u

struct writer {
    axp__write_fn write;
    void *ctx;
    uint64_t start_ticks;
    size_t len;
    bool is_failed;
    uint8_t buffer[BUFFER];
};

static void flush(struct writer *w)
{
    if (w->len && !w->is_failed)
        w->is_failed = !w->write(w->ctx, w->buffer, w->len);
    w->len = 0;
}

static void put_U(struct writer *w, uint64_t v)
{
    if (BUFFER - w->len < AXP__VARINT_MAX) flush(w);
    w->len = (size_t)(axp__put_varint(w->buffer + w->len, v) - w->buffer);
}

static void put_I(struct writer *w, int64_t v)
{
    put_U(w, axp__zigzag((uint64_t)v));
}

static void put_T(struct writer *w, uint64_t ticks)
{
    put_U(w, axp__zigzag(ticks - w->start_ticks));
}

static void put_D(struct writer *w, double v)
{
    put_U(w, axp__f64_bits(v));
}

static void put_raw(struct writer *w, const char *bytes, size_t n)
{
    flush(w);
    if (n && !w->is_failed) w->is_failed = !w->write(w->ctx, bytes, n);
}

static void begin_table(struct writer *w, enum axp__image_table table, size_t n,
                        unsigned n_fields)
{
    put_U(w, table);
    put_U(w, n);
    put_U(w, n_fields);
}

#define ONE(...) +1
#define PUT(coding, member, ...) put_##coding(w, r->member);
#define FIELDS(table) (0 AXP__FIELDS_##table(ONE))

/* The records of an array that the whole capture has. */
#define WRITE_ALL(table, type, array, n_records)                               \
    do {                                                                       \
        begin_table(w, AXP__T_##table, n_records, FIELDS(table));              \
        for (size_t k = 0; k < (n_records); k++) {                             \
            const struct type *r = &(array)[k];                                \
            AXP__FIELDS_##table(PUT)                                           \
        }                                                                      \
    } while (0)

/* The records of an array that each lane has. */
#define WRITE_LANES(table, type, array, count)                                 \
    do {                                                                       \
        size_t all = 0;                                                        \
        for (size_t i = 0; i < c->n_lanes; i++)                                \
            all += c->lanes[i].count;                                          \
        begin_table(w, AXP__T_##table, all, FIELDS(table));                    \
        for (size_t i = 0; i < c->n_lanes; i++)                                \
            for (size_t k = 0; k < c->lanes[i].count; k++) {                   \
                const struct type *r = &c->lanes[i].array[k];                  \
                AXP__FIELDS_##table(PUT)                                       \
            }                                                                  \
    } while (0)

/* ---- histograms ------------------------------------------------------------------ */

static struct axp__image_hist page_of(const struct axp__cap_hist *h)
{
    struct axp__image_hist page = {h->op, h->page, 0};
    for (unsigned i = 0; i < AXP__HIST_BUCKETS; i++)
        page.mask |= (uint64_t)(h->count[i] != 0) << i;
    return page;
}

static void write_hists(struct writer *w, const struct axp__capture *c)
{
    size_t n = 0, n_buckets = 0;
    for (size_t i = 0; i < c->n_lanes; i++)
        for (size_t k = 0; k < c->lanes[i].n_hists; k++, n++)
            n_buckets += (size_t)__builtin_popcountll(
                page_of(&c->lanes[i].hists[k]).mask);
    begin_table(w, AXP__T_HIST, n, FIELDS(HIST));
    for (size_t i = 0; i < c->n_lanes; i++)
        for (size_t k = 0; k < c->lanes[i].n_hists; k++) {
            struct axp__image_hist page = page_of(&c->lanes[i].hists[k]);
            const struct axp__image_hist *r = &page;
            AXP__FIELDS_HIST(PUT)
        }
    begin_table(w, AXP__T_BUCKET, n_buckets, 1);
    for (size_t i = 0; i < c->n_lanes; i++)
        for (size_t k = 0; k < c->lanes[i].n_hists; k++)
            for (unsigned b = 0; b < AXP__HIST_BUCKETS; b++)
                if (c->lanes[i].hists[k].count[b])
                    put_U(w, c->lanes[i].hists[k].count[b]);
}

/* ---- steps -------------------------------------------------------------------------- */

static uint32_t kept_recent(const struct axp__steps *s)
{
    return (uint32_t)(s->n_recent < AXP__STEPS_RECENT ? s->n_recent
                                                      : AXP__STEPS_RECENT);
}

static void write_step_list(struct writer *w, const struct axp__step *steps,
                            uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct axp__step *r = &steps[i];
        AXP__FIELDS_STEP(PUT)
    }
}

static void write_steps(struct writer *w, const struct axp__capture *c)
{
    size_t n = 0, n_kept = 0;
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__steps *s = c->lanes[i].steps;
        if (!s) continue;
        n++;
        n_kept += kept_recent(s) + s->n_slowest + s->n_sampled;
    }
    begin_table(w, AXP__T_STEPS, n, FIELDS(STEPS));
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__steps *s = c->lanes[i].steps;
        if (!s) continue;
        const struct axp__image_steps steps = {
            .lane = (uint32_t)i,
            .calls = s->stats.loose_calls,
            .ticks = s->stats.loose_ticks,
            .min_ticks = s->stats.min_ticks,
            .max_ticks = s->stats.max_ticks,
            .stride = s->stride,
            .n_recent = s->n_recent,
            .n_slowest = s->n_slowest,
            .n_sampled = s->n_sampled,
        };
        const struct axp__image_steps *r = &steps;
        AXP__FIELDS_STEPS(PUT)
    }
    begin_table(w, AXP__T_STEP, n_kept, FIELDS(STEP));
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct axp__steps *s = c->lanes[i].steps;
        if (!s) continue;
        write_step_list(w, s->recent, kept_recent(s));
        write_step_list(w, s->slowest, s->n_slowest);
        write_step_list(w, s->sampled, s->n_sampled);
    }
}

/* ---- warnings ------------------------------------------------------------------------- */

static void write_warnings(struct writer *w, const struct axp__capture *c)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < c->n_warnings; i++)
        n_bytes +=
            strlen(c->warnings[i].code) + 1 + strlen(c->warnings[i].text) + 1;
    begin_table(w, AXP__T_TEXT, n_bytes, 0);
    for (size_t i = 0; i < c->n_warnings; i++) {
        put_raw(w, c->warnings[i].code, strlen(c->warnings[i].code) + 1);
        put_raw(w, c->warnings[i].text, strlen(c->warnings[i].text) + 1);
    }
    WRITE_ALL(WARNING, axp__cap_warning, c->warnings, c->n_warnings);
}

bool axp__image_write(const struct axp__capture *c, axp__write_fn write,
                      void *ctx)
{
    struct writer writer, *w = &writer;
    w->write = write;
    w->ctx = ctx;
    w->start_ticks = c->start_ticks;
    w->len = 0;
    w->is_failed = false;
    WRITE_ALL(HEAD, axp__capture, c, (size_t)1);
    WRITE_ALL(ROW, axp__cap_row, c->rows, c->n_rows);
    WRITE_ALL(LANE, axp__cap_lane, c->lanes, c->n_lanes);
    WRITE_LANES(OP, axp__cap_op, ops, n_ops);
    WRITE_LANES(NODE, axp__cap_node, nodes, n_nodes);
    write_hists(w, c);
    WRITE_LANES(FRAME, axp__cap_frame, frames, n_frames);
    WRITE_LANES(TRAFFIC, axp__cap_traffic, traffic, n_traffic);
    WRITE_LANES(COUNTER, axp__cap_counter, counters, n_counters);
    write_steps(w, c);
    WRITE_ALL(LIVE, axp__cap_live, c->live, c->n_live);
    write_warnings(w, c);
    /* nothing where there is none: as earlier versions wrote it */
    if (c->n_domains)
        WRITE_ALL(DOMAIN, axp__cap_domain, c->domains, c->n_domains);
    if (c->heap.is_seen) {
        WRITE_LANES(PLACE, axp__cap_place, places, n_places);
        WRITE_ALL(HEAP, axp__cap_heap, &c->heap, (size_t)1);
        WRITE_ALL(LEVEL, axp__cap_level, c->levels, c->n_levels);
        WRITE_ALL(NOTE, axp__cap_note, c->notes, c->n_notes);
    }
    flush(w);
    return !w->is_failed;
}
