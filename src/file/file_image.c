/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tables to a capture; see file_image.h. */
#include "file/file_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/base_category.h"
#include "tally/tally_image.h"
#include "wire/wire_word.h"

/* Memory that a body of n bytes may ask for: honest ones need some 30 bytes
 * a byte (a page of a histogram is 520, and takes 20 or more), and a little
 * more for each thread's steps. */
#define ROOM_OF(n) (((size_t)64 << 20) + 64 * (size_t)(n))

struct table {
    struct axp__bytes body;
    uint64_t n, n_fields;
};

struct reader {
    struct axp__capture *c;
    struct table table[AXP__T_N_TABLES];
    size_t room;
    bool is_damaged;
    uint64_t *is_op; /* bits by name: an op of the lane */
};

static void *take(struct reader *r, uint64_t count, size_t size)
{
    if (count > r->room / size) {
        r->is_damaged = true;
        return NULL;
    }
    r->room -= (size_t)count * size;
    return axp__cap_take(r->c, (size_t)count, size);
}

/* ---- fields -------------------------------------------------------------------- */

/* Fields of one record, as they come. What a record has not is 0, and what it
 * has too many is passed over. */
struct record {
    struct axp__bytes *b;
    uint64_t n_left;
    const uint64_t *start_ticks; /* itself the first field of all */
    bool is_bad;
};

static uint64_t get_U(struct record *r)
{
    if (!r->n_left) return 0;
    r->n_left--;
    return axp__get_varint(r->b);
}

static int64_t get_I(struct record *r)
{
    return (int64_t)axp__unzigzag(get_U(r));
}

static uint64_t get_T(struct record *r)
{
    return *r->start_ticks + axp__unzigzag(get_U(r));
}

static double get_D(struct record *r)
{
    return axp__f64_of_bits(get_U(r));
}

static void end_record(struct record *r)
{
    while (r->n_left && !r->b->is_bad)
        (void)get_U(r);
}

/* Values must come back from the member as they went in: it may be narrow. */
#define GET(coding, member, ...)                                               \
    do {                                                                       \
        __typeof__(get_##coding(&in)) got = get_##coding(&in);                 \
        to->member = (__typeof__(to->member))got;                              \
        in.is_bad |= memcmp(&(__typeof__(got)){(__typeof__(got))to->member},   \
                            &got, sizeof got) != 0;                            \
    } while (0);

/* n records of a table into an array. */
#define READ(r, T, to_, n_)                                                    \
    do {                                                                       \
        struct table *t_ = &(r)->table[AXP__T_##T];                            \
        for (size_t i_ = 0; i_ < (size_t)(n_) && !(r)->is_damaged; i_++) {     \
            __typeof__(&(to_)[0]) to = &(to_)[i_];                             \
            struct record in = {&t_->body, t_->n_fields, &(r)->c->start_ticks, \
                                false};                                        \
            AXP__FIELDS_##T(GET) end_record(&in);                              \
            if (t_->body.is_bad || in.is_bad) (r)->is_damaged = true;          \
        }                                                                      \
    } while (0)

/* ---- tables ---------------------------------------------------------------------- */

/* Finds where each table is; one that is unknown is passed over. */
static void find_tables(struct reader *r, struct axp__bytes b)
{
    while (b.at < b.end && !b.is_bad) {
        uint64_t number = axp__get_varint(&b);
        struct table t = {.n = axp__get_varint(&b),
                          .n_fields = axp__get_varint(&b)};
        t.body = b;
        uint64_t left = axp__bytes_left(&b);
        if (b.is_bad || t.n_fields > 1024 || t.n > left ||
            (t.n_fields && t.n > left / t.n_fields)) {
            r->is_damaged = true;
            return;
        }
        if (t.n_fields == 0)
            (void)axp__get_bytes(&b, t.n);
        else
            for (uint64_t i = t.n * t.n_fields; i && !b.is_bad; i--)
                (void)axp__get_varint(&b);
        t.body.end = b.at;
        if (number < AXP__T_N_TABLES && !r->table[number].body.at)
            r->table[number] = t;
    }
    if (b.is_bad) r->is_damaged = true;
}

/* So many records of a table are a lane's. */
static bool has(struct reader *r, enum axp__image_table t, uint64_t n)
{
    if (n > r->table[t].n) r->is_damaged = true;
    r->table[t].n -= r->is_damaged ? 0 : n;
    return !r->is_damaged;
}

/* ---- lanes ------------------------------------------------------------------------- */

static bool is_name(uint32_t name)
{
    return name < AXP__MAX_NAMES;
}

static void check_ops(struct reader *r, const struct axp__cap_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_ops; i++) {
        const struct axp__cap_op *op = &lane->ops[i];
        if (!is_name(op->name)) {
            r->is_damaged = true;
            return;
        }
        r->is_op[op->name / 64] |= (uint64_t)1 << op->name % 64;
    }
}

/* For the next lane. Cleared one by one: most lanes have few. */
static void forget_ops(struct reader *r, const struct axp__cap_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_ops && !r->is_damaged; i++)
        r->is_op[lane->ops[i].name / 64] = 0;
}

/* Parents come first, and every node but the root is of an op. */
static void check_nodes(struct reader *r, struct axp__cap_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_nodes; i++) {
        struct axp__cap_node *n = &lane->nodes[i];
        bool ok = is_name(n->name) && is_name(n->shape) &&
                  n->parent < (int32_t)i && n->parent >= AXP__CAP_ROOT &&
                  (i == 0 || r->is_op[n->name / 64] >> n->name % 64 & 1);
        if (!ok) r->is_damaged = true;
        if (!ok) return;
        if (n->category >= AXP__N_CATEGORIES) n->category = AXP_CAT_NONE;
        if (n->dtype > AXP_C128) n->dtype = AXP_DTYPE_UNKNOWN;
    }
}

static void read_hists(struct reader *r, struct axp__cap_lane *lane)
{
    struct table *buckets = &r->table[AXP__T_BUCKET];
    uint64_t before = 0; /* op << 8 | page: they rise */
    for (uint32_t i = 0; i < lane->n_hists && !r->is_damaged; i++) {
        struct axp__image_hist page = {0}, *one = &page;
        struct axp__cap_hist *h = &lane->hists[i];
        READ(r, HIST, one, 1);
        uint64_t order = ((uint64_t)page.op << 8 | page.page) + 1;
        if (r->is_damaged || page.page >= AXP__HIST_PAGES || order <= before ||
            (page.op >= lane->n_ops && page.op != UINT32_MAX)) {
            r->is_damaged = true;
            return;
        }
        before = order;
        h->op = page.op;
        h->page = page.page;
        for (unsigned k = 0; k < AXP__HIST_BUCKETS; k++)
            if (page.mask >> k & 1)
                h->count[k] = axp__get_varint(&buckets->body);
        if (buckets->body.is_bad || buckets->n_fields != 1)
            r->is_damaged = page.mask != 0;
    }
}

static void check_small(struct reader *r, const struct axp__cap_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_frames; i++)
        if (lane->frames[i].node < AXP__CAP_ROOT ||
            lane->frames[i].node >= (int64_t)lane->n_nodes)
            r->is_damaged = true;
    for (uint32_t i = 0; i < lane->n_traffic; i++)
        if (!is_name(lane->traffic[i].name)) r->is_damaged = true;
    for (uint32_t i = 0; i < lane->n_counters; i++)
        if (!is_name(lane->counters[i].name)) r->is_damaged = true;
    for (uint32_t i = 0; i < lane->n_places; i++)
        if (!is_name(lane->places[i].name)) r->is_damaged = true;
}

#define LANE_ARRAY(T, member)                                                  \
    if (!has(r, AXP__T_##T, lane->n_##member)) return true;                    \
    lane->member = take(r, lane->n_##member, sizeof *lane->member);            \
    if (!lane->member) return false

/* False: no memory, or damaged in the counts. */
static bool read_lane(struct reader *r, struct axp__cap_lane *lane)
{
    LANE_ARRAY(OP, ops);
    LANE_ARRAY(NODE, nodes);
    LANE_ARRAY(HIST, hists);
    LANE_ARRAY(FRAME, frames);
    LANE_ARRAY(TRAFFIC, traffic);
    LANE_ARRAY(COUNTER, counters);
    LANE_ARRAY(PLACE, places);
    READ(r, OP, lane->ops, lane->n_ops);
    if (!r->is_damaged) check_ops(r, lane);
    READ(r, NODE, lane->nodes, lane->n_nodes);
    if (!r->is_damaged) check_nodes(r, lane);
    forget_ops(r, lane);
    read_hists(r, lane);
    READ(r, FRAME, lane->frames, lane->n_frames);
    READ(r, TRAFFIC, lane->traffic, lane->n_traffic);
    READ(r, COUNTER, lane->counters, lane->n_counters);
    READ(r, PLACE, lane->places, lane->n_places);
    check_small(r, lane);
    return true;
}

/* A row has one lane at most. */
static bool check_row(struct reader *r, const struct axp__cap_lane *lane,
                      uint8_t *is_taken)
{
    const struct axp__capture *c = r->c;
    if (lane->row < -1 || lane->row >= (int64_t)c->n_rows ||
        (lane->row >= 0 && is_taken[lane->row]) ||
        (lane->row < 0 && lane->is_track)) {
        r->is_damaged = true;
        return false;
    }
    if (lane->row >= 0) is_taken[lane->row] = 1;
    return true;
}

static bool read_lanes(struct reader *r)
{
    struct axp__capture *c = r->c;
    uint64_t n = r->table[AXP__T_LANE].n;
    c->lanes = take(r, n, sizeof *c->lanes);
    uint8_t *is_taken = take(r, c->n_rows + 1, 1);
    if (!c->lanes || !is_taken) return false;
    READ(r, LANE, c->lanes, n);
    c->n_lanes = (size_t)n;
    for (size_t i = 0; i < c->n_lanes && !r->is_damaged; i++)
        if (check_row(r, &c->lanes[i], is_taken) && !read_lane(r, &c->lanes[i]))
            return false;
    return true;
}

/* ---- steps ---------------------------------------------------------------------------- */

static void read_kept(struct reader *r, struct axp__step *steps, uint64_t n)
{
    if (has(r, AXP__T_STEP, n)) READ(r, STEP, steps, n);
}

static bool read_steps(struct reader *r)
{
    struct axp__capture *c = r->c;
    uint64_t n = r->table[AXP__T_STEPS].n;
    for (uint64_t i = 0; i < n && !r->is_damaged; i++) {
        struct axp__image_steps in_file = {0}, *one = &in_file;
        READ(r, STEPS, one, 1);
        if (r->is_damaged || in_file.lane >= c->n_lanes ||
            c->lanes[in_file.lane].steps ||
            in_file.n_slowest > AXP__STEPS_SLOWEST ||
            in_file.n_sampled > AXP__STEPS_SAMPLED) {
            r->is_damaged = true;
            return true;
        }
        struct axp__steps *s = take(r, 1, sizeof *s);
        if (!s) return false;
        c->lanes[in_file.lane].steps = s;
        s->stats.loose_calls = in_file.calls;
        s->stats.loose_ticks = in_file.ticks;
        s->stats.min_ticks = in_file.min_ticks;
        s->stats.max_ticks = in_file.max_ticks;
        s->stride = in_file.stride;
        s->n_recent = in_file.n_recent;
        s->n_slowest = in_file.n_slowest;
        s->n_sampled = in_file.n_sampled;
        read_kept(r, s->recent,
                  s->n_recent < AXP__STEPS_RECENT ? s->n_recent
                                                  : AXP__STEPS_RECENT);
        read_kept(r, s->slowest, s->n_slowest);
        read_kept(r, s->sampled, s->n_sampled);
    }
    return true;
}

/* Pages of steps stand for steps. */
static void check_step_pages(struct reader *r)
{
    for (size_t i = 0; i < r->c->n_lanes && !r->is_damaged; i++) {
        const struct axp__cap_lane *lane = &r->c->lanes[i];
        if (lane->n_hists && !lane->steps &&
            lane->hists[lane->n_hists - 1].op == UINT32_MAX)
            r->is_damaged = true;
    }
}

/* ---- the rest ------------------------------------------------------------------------- */

/* The next text of the table of texts; "" and damaged if there is none. */
static const char *next_text(struct reader *r)
{
    struct axp__bytes *b = &r->table[AXP__T_TEXT].body;
    const uint8_t *end =
        b->at < b->end ? memchr(b->at, 0, axp__bytes_left(b)) : NULL;
    if (!end) {
        r->is_damaged = true;
        return "";
    }
    size_t n = (size_t)(end - b->at) + 1;
    char *text = take(r, n, 1);
    if (!text) return NULL;
    memcpy(text, b->at, n);
    b->at += n;
    return text;
}

static bool read_warnings(struct reader *r)
{
    struct axp__capture *c = r->c;
    uint64_t n = r->table[AXP__T_WARNING].n;
    c->warnings = take(r, n, sizeof *c->warnings);
    if (!c->warnings) return false;
    READ(r, WARNING, c->warnings, n);
    for (uint64_t i = 0; i < n && !r->is_damaged; i++) {
        c->warnings[i].code = next_text(r);
        c->warnings[i].text = next_text(r);
        if (!c->warnings[i].code || !c->warnings[i].text) return false;
        if (!is_name(c->warnings[i].name)) r->is_damaged = true;
    }
    c->n_warnings = (size_t)n;
    return true;
}

static bool read_live(struct reader *r)
{
    struct axp__capture *c = r->c;
    uint64_t n = r->table[AXP__T_LIVE].n;
    c->live = take(r, n, sizeof *c->live);
    if (!c->live) return false;
    READ(r, LIVE, c->live, n);
    c->n_live = (size_t)n;
    for (uint64_t i = 0; i < n && !r->is_damaged; i++) {
        if (!is_name(c->live[i].name)) r->is_damaged = true;
        if (c->live[i].kind > AXP_MEM_CACHE) c->live[i].kind = AXP_MEM_NONE;
    }
    return true;
}

/* Each device once; the host has none. */
static bool read_domains(struct reader *r)
{
    struct axp__capture *c = r->c;
    uint64_t n = r->table[AXP__T_DOMAIN].n;
    struct axp__cap_domain *in_file = take(r, n, sizeof *in_file);
    c->domains = take(r, n, sizeof *c->domains);
    if (!in_file || !c->domains) return false;
    READ(r, DOMAIN, in_file, n);
    for (uint64_t i = 0; i < n && !r->is_damaged; i++) {
        size_t before = c->n_domains;
        if (in_file[i].device && in_file[i].device < AXP__DEVICES)
            axp__cap_add_domain(c, in_file[i]);
        if (c->n_domains == before) r->is_damaged = true;
    }
    return true;
}

static void read_heap(struct reader *r)
{
    struct axp__cap_heap heap = {0}, *one = &heap;
    uint64_t n = r->table[AXP__T_HEAP].n;
    if (!n || r->is_damaged) return;
    READ(r, HEAP, one, 1);
    if (n != 1 || !is_name(heap.failed_place)) r->is_damaged = true;
    heap.is_seen = true;
    r->c->heap = heap;
}

/* By time, and none in another. */
static bool read_levels(struct reader *r)
{
    struct axp__capture *c = r->c;
    uint64_t n = r->table[AXP__T_LEVEL].n, end = c->start_ticks;
    c->levels = take(r, n, sizeof *c->levels);
    if (!c->levels) return false;
    READ(r, LEVEL, c->levels, n);
    for (uint64_t i = 0; i < n && !r->is_damaged; i++) {
        const struct axp__cap_level *l = &c->levels[i];
        bool is_next = l->at_ticks - c->start_ticks >= end - c->start_ticks;
        end = l->at_ticks + l->length_ticks;
        if (!is_next || end <= l->at_ticks || l->min_bytes > l->max_bytes)
            r->is_damaged = true;
    }
    c->n_levels = (size_t)n;
    return true;
}

static bool read_notes(struct reader *r)
{
    struct axp__capture *c = r->c;
    uint64_t n = r->table[AXP__T_NOTE].n;
    c->notes = take(r, n, sizeof *c->notes);
    if (!c->notes) return false;
    READ(r, NOTE, c->notes, n);
    for (uint64_t i = 0; i < n && !r->is_damaged; i++)
        if (!is_name(c->notes[i].place)) r->is_damaged = true;
    c->n_notes = (size_t)n;
    return true;
}

static bool read_rows(struct reader *r)
{
    struct axp__capture *c = r->c;
    uint64_t n = r->table[AXP__T_ROW].n;
    c->rows = take(r, n, sizeof *c->rows);
    if (!c->rows) return false;
    READ(r, ROW, c->rows, n);
    c->n_rows = (size_t)n;
    for (uint64_t i = 0; i < n && !r->is_damaged; i++)
        if (!is_name(c->rows[i].name)) r->is_damaged = true;
    return true;
}

enum axp__image_result axp__image_read(struct axp__capture *c,
                                       struct axp__bytes body)
{
    struct reader reader = {.c = c, .room = ROOM_OF(axp__bytes_left(&body))};
    struct reader *r = &reader;
    r->is_op = calloc(AXP__MAX_NAMES / 64, 8);
    if (!r->is_op) return AXP__IMAGE_NO_MEMORY;
    find_tables(r, body);
    if (r->table[AXP__T_HEAD].n != 1) r->is_damaged = true;
    READ(r, HEAD, c, 1);
    if (c->rate_mult == 0) r->is_damaged = true;
    bool ok =
        r->is_damaged || (read_rows(r) && read_lanes(r) && read_steps(r) &&
                          read_live(r) && read_domains(r) && read_levels(r) &&
                          read_notes(r) && read_warnings(r));
    check_step_pages(r);
    read_heap(r);
    free(r->is_op);
    if (r->is_damaged) return AXP__IMAGE_DAMAGED;
    return ok ? AXP__IMAGE_OK : AXP__IMAGE_NO_MEMORY;
}
