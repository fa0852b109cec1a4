/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A capture out of a spool.
 *
 * The spool is the profiler's memory as it was when the process died: structs
 * that point at each other by addresses of that process. The table of extents
 * says where each lies in the file; whatever is looked at is asked for by
 * address and length, and what no extent holds is not there.
 *
 * Place    what record_capture.c is for a profiler that lives.
 * Input    untrusted, and perhaps still being written to: read into memory of
 *          our own first, then checked. Lists are followed for so many steps
 *          as the file could hold records.
 * Halves   a record that was being changed has an odd version: it is taken as
 *          it is. It is off by at most the event that was not finished.
 * Words    of chunks stay in the file until they are asked for.
 */
#include "record/record_recover.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/record_lane.h"
#include "record/record_spool.h"
#include "tally/tally_memory.h"
#include "wire/wire_decode.h"

#if defined(__x86_64__)
#define MACHINE 62u /* ELF's numbers */
#elif defined(__aarch64__)
#define MACHINE 183u
#else
#define MACHINE 0u
#endif

struct image {
    struct axp__cap_source source; /* first: it is found by it */
    int fd;
    uint64_t bytes; /* of the file */
    struct axp__space *head;
    char **extent; /* as read; NULL: not yet */
    struct axp__cap_name *names;
    uint32_t n_names;
    uint32_t epoch;
    struct axp__capture *c;
};

/* ---- bytes by address ---------------------------------------------------------- */

static bool read_all(int fd, void *to, size_t n, uint64_t at)
{
    char *p = to;
    while (n) {
        ssize_t k = pread(fd, p, n, (off_t)at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        p += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return true;
}

static bool is_in_file(const struct image *m, const struct axp__extent *e)
{
    return e->kind && e->bytes && e->offset <= m->bytes &&
           e->bytes <= m->bytes - e->offset;
}

static uint32_t n_extents(const struct image *m)
{
    uint32_t n = m->head->n_extents;
    return n < AXP__SPACE_EXTENTS ? n : AXP__SPACE_EXTENTS;
}

static const struct axp__extent *find_extent(const struct image *m,
                                             uint64_t address, size_t bytes)
{
    for (uint32_t i = 1; i < n_extents(m); i++) {
        const struct axp__extent *e = &m->head->extent[i];
        if (is_in_file(m, e) && address >= e->address &&
            address - e->address < e->bytes &&
            bytes <= e->bytes - (address - e->address))
            return e;
    }
    return NULL;
}

/* What lay at an address; NULL: nothing that we have. */
static const void *at(struct image *m, const void *pointer, size_t bytes)
{
    uint64_t address = (uintptr_t)pointer;
    const struct axp__extent *e = find_extent(m, address, bytes);
    if (!e || address % 8 || e->kind == AXP__EXTENT_CHUNKS) return NULL;
    char **copy = &m->extent[e - m->head->extent];
    if (!*copy) {
        *copy = malloc(e->bytes);
        if (*copy && !read_all(m->fd, *copy, e->bytes, e->offset)) {
            free(*copy);
            *copy = NULL;
        }
    }
    return *copy ? *copy + (address - e->address) : NULL;
}

/* ---- records by ref ----------------------------------------------------------------- */

struct tally { /* one that is being read */
    struct image *m;
    const struct axp__lane *lane;
};

static const void *by_ref(const struct tally *t, axp__ref ref, size_t bytes)
{
    const struct axp__arena *a = &t->lane->tally.arena;
    uint32_t seg = ref >> AXP__SEG_SHIFT;
    size_t offset = (size_t)(ref & ((1u << AXP__SEG_SHIFT) - 1)) * 8;
    const char *base;
    if (!ref || offset + bytes > AXP__SEG_BYTES) return NULL;
    if (seg < AXP__SEGS_NEAR) {
        base = a->near_segs[seg];
    } else {
        char *const *far = at(t->m, a->far_segs, AXP__SEGS_FAR * sizeof *far);
        if (!far || seg - AXP__SEGS_NEAR >= AXP__SEGS_FAR) return NULL;
        base = far[seg - AXP__SEGS_NEAR];
    }
    return base ? at(t->m, base + offset, bytes) : NULL;
}

/* How many records a list could have at most, so that one in a circle ends. */
static uint64_t most_records(const struct image *m)
{
    return m->bytes / 32;
}

#define EACH(t, type, r, first)                                                \
    const type *r = by_ref(t, first, sizeof(type));                            \
    r;                                                                         \
    r = by_ref(t, r->next, sizeof(type))

#define COUNT(t, type, first, n)                                               \
    do {                                                                       \
        uint64_t most_ = most_records((t)->m);                                 \
        for (EACH(t, type, r_, first)) {                                       \
            if ((n) == most_) break;                                           \
            (n)++;                                                             \
        }                                                                      \
    } while (0)

static void add_hists(const struct tally *t, struct axp__cap_lane *to,
                      uint32_t cap, const struct axp__op *op, uint32_t index)
{
    for (uint32_t i = 0; i < AXP__HIST_PAGES; i++) {
        const struct axp__hist_page *page =
            op->hist[i] ? by_ref(t, op->hist[i], sizeof *page) : NULL;
        if (!page) continue;
        if (to->n_hists == cap) return;
        struct axp__cap_hist *h = &to->hists[to->n_hists++];
        h->op = index;
        h->page = i;
        memcpy(h->count, page->count, sizeof h->count);
    }
}

static void get_op(struct axp__cap_op *to, const struct axp__op *op)
{
    to->name = op->name;
    to->loose_calls = op->loose_calls;
    to->loose_ticks = op->loose_ticks;
    to->repeat_ticks = op->repeat_ticks;
    to->min_ticks = op->min_ticks;
    to->max_ticks = op->max_ticks;
    to->n_dims = op->n_dims <= 6 ? op->n_dims : 0;
    memcpy(to->dims, op->dims, sizeof to->dims);
    to->lifetime_ticks = op->lifetime_ticks;
}

static void get_node(const struct tally *t, struct axp__cap_node *to,
                     const struct axp__node *n)
{
    const struct axp__node_extra *x =
        n->extra ? by_ref(t, n->extra, sizeof *x) : NULL;
    to->name = n->name;
    to->category = n->category;
    to->is_recursive = n->is_recursive;
    to->calls = n->calls;
    to->total_ticks = n->total_ticks;
    to->self_ticks = n->self_ticks;
    if (!x) return;
    to->allocated_bytes = x->allocated_bytes;
    to->flops = x->flops;
    to->bytes = x->bytes;
    to->n_flops_calls = x->n_flops_calls;
    to->n_bytes_calls = x->n_bytes_calls;
    to->flops_ticks = x->flops_ticks;
    to->bytes_ticks = x->bytes_ticks;
    to->dtype = x->dtype;
}

static int32_t index_of(const axp__ref *refs, uint32_t n, axp__ref ref)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (refs[mid] < ref)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && refs[low] == ref ? (int32_t)low : AXP__CAP_ROOT;
}

/* In order of creation, as the recorder lists them: refs rise. */
static bool get_nodes(const struct tally *t, struct axp__cap_lane *to,
                      axp__ref *refs)
{
    axp__ref ref = t->lane->tally.first.nodes;
    uint32_t i = 0;
    for (EACH(t, struct axp__node, n, ref)) {
        if (i == to->n_nodes) break;
        if (i && ref <= refs[i - 1]) break; /* no such list */
        refs[i] = ref;
        get_node(t, &to->nodes[i], n);
        to->nodes[i].parent = index_of(refs, i, n->parent);
        if (i && to->nodes[i].parent < 0) to->nodes[i].parent = 0;
        ref = n->next;
        i++;
    }
    to->n_nodes = i;
    return i > 0;
}

static void get_ops(const struct tally *t, struct axp__cap_lane *to)
{
    uint32_t i = 0, cap = to->n_hists;
    to->n_hists = 0;
    for (EACH(t, struct axp__op, op, t->lane->tally.first.ops)) {
        if (i == to->n_ops) break;
        get_op(&to->ops[i], op);
        add_hists(t, to, cap, op, i++);
    }
    to->n_ops = i;
    if (to->steps) add_hists(t, to, cap, &to->steps->stats, UINT32_MAX);
}

static void get_small(const struct tally *t, struct axp__cap_lane *to)
{
    uint32_t i = 0;
    for (EACH(t, struct axp__traffic, r, t->lane->tally.first.traffic)) {
        if (i == to->n_traffic) break;
        to->traffic[i++] =
            (struct axp__cap_traffic){r->name, r->n_allocs, r->n_frees,
                                      r->allocated_bytes, r->freed_bytes};
    }
    i = 0;
    for (EACH(t, struct axp__counter, r, t->lane->tally.first.counters)) {
        if (i == to->n_counters) break;
        to->counters[i++] = (struct axp__cap_counter){
            r->name, r->n, r->last_ticks, r->last, r->min, r->max, r->sum};
    }
}

static uint32_t count_hists(const struct tally *t)
{
    uint64_t n = AXP__HIST_PAGES, most = most_records(t->m), i = 0;
    for (EACH(t, struct axp__op, op, t->lane->tally.first.ops)) {
        if (i++ == most) break;
        for (uint32_t k = 0; k < AXP__HIST_PAGES; k++)
            n += op->hist[k] != 0;
    }
    return (uint32_t)(n < most ? n : most);
}

static bool size_lane(const struct tally *t, struct axp__cap_lane *to)
{
    struct axp__capture *c = t->m->c;
    const struct axp__lists *first = &t->lane->tally.first;
    COUNT(t, struct axp__node, first->nodes, to->n_nodes);
    COUNT(t, struct axp__op, first->ops, to->n_ops);
    COUNT(t, struct axp__traffic, first->traffic, to->n_traffic);
    COUNT(t, struct axp__counter, first->counters, to->n_counters);
    to->n_hists = count_hists(t);
    to->nodes = axp__cap_take(c, to->n_nodes, sizeof *to->nodes);
    to->ops = axp__cap_take(c, to->n_ops, sizeof *to->ops);
    to->traffic = axp__cap_take(c, to->n_traffic, sizeof *to->traffic);
    to->counters = axp__cap_take(c, to->n_counters, sizeof *to->counters);
    to->hists = axp__cap_take(c, to->n_hists, sizeof *to->hists);
    const struct axp__steps *steps =
        first->steps ? by_ref(t, first->steps, sizeof *steps) : NULL;
    if (steps) {
        to->steps = axp__cap_take(c, 1, sizeof *steps);
        if (to->steps) *to->steps = *steps;
    }
    return to->nodes && to->ops && to->traffic && to->counters && to->hists &&
           (to->steps || !steps);
}

/* ---- open scopes ---------------------------------------------------------------------- */

static void get_frame(const struct tally *t, struct axp__cap_frame *to,
                      const struct axp__frame *f, const axp__ref *refs,
                      uint32_t n_refs)
{
    const struct axp__node *node = at(t->m, f->node, sizeof *node);
    to->node = node ? index_of(refs, n_refs, (axp__ref)(node->key >> 32))
                    : AXP__CAP_ROOT;
    to->flags = axp__frame_flags(f);
    to->begin_ticks = f->begin_ticks;
    to->charged_ticks =
        to->flags & AXP__F_MOVED ? f->charged_ticks : f->begin_ticks;
    to->child_ticks = axp__frame_child_ticks(f);
    if (to->flags & AXP__F_NAMED) { /* ended by another, not settled yet? */
        const struct axp__named *slot = at(t->m, f->site, sizeof *slot);
        if (slot && slot->state && !(slot->state & 1)) to->node = AXP__CAP_ROOT;
    }
}

static bool get_frames(const struct tally *t, struct axp__cap_lane *to,
                       const axp__ref *refs)
{
    const struct axp__tally *from = &t->lane->tally;
    uint64_t depth = (uint64_t)((uintptr_t)from->top - (uintptr_t)from->frames);
    if (depth % sizeof(struct axp__frame)) return true;
    depth /= sizeof(struct axp__frame);
    if (!depth || depth > AXP__MAX_DEPTH) return true;
    const struct axp__frame *f =
        at(t->m, from->frames, (depth + 1) * sizeof *f);
    if (!f) return true;
    to->frames = axp__cap_take(t->m->c, depth, sizeof *to->frames);
    if (!to->frames) return false;
    for (uint64_t i = 0; i < depth; i++)
        get_frame(t, &to->frames[to->n_frames++], f + 1 + i, refs, to->n_nodes);
    return true;
}

/* ---- lanes and rows --------------------------------------------------------------------- */

static bool get_lane(struct image *m, const struct axp__lane *lane, int32_t row)
{
    struct tally t = {m, lane};
    struct axp__cap_lane *to = &m->c->lanes[m->c->n_lanes];
    memset(to, 0, sizeof *to);
    to->row = row;
    to->is_track = lane->track != 0;
    if (!size_lane(&t, to)) return false;
    axp__ref *refs = malloc((to->n_nodes + 1) * sizeof *refs);
    if (!refs) return false;
    bool ok = true;
    if (get_nodes(&t, to, refs)) {
        get_ops(&t, to);
        get_small(&t, to);
        ok = get_frames(&t, to, refs);
        m->c->n_lanes++;
    }
    free(refs);
    return ok;
}

/* Events that a lane has logged in its present chunk. */
static uint64_t events_here(const struct axp__lane *lane)
{
    uint64_t words = ((uintptr_t)lane->cur - (uintptr_t)lane->words) / 8;
    return words <= AXP__CHUNK_WORDS && words >= lane->n_extra
               ? words - lane->n_extra
               : 0;
}

static void get_row(struct image *m, const struct axp__lane *lane,
                    struct axp__cap_row *to)
{
    *to = (struct axp__cap_row){
        .id = lane->row,
        .track = lane->track,
        .name = lane->name,
        .tid = lane->tid,
        .process_id = m->c->process_id,
        .rank = m->c->rank,
        .first = lane->track ? lane->first_ns : lane->first_ticks,
        .last = lane->track ? lane->last_ns : lane->last_ticks,
        .n_events = lane->n_logged + lane->n_unlogged + events_here(lane),
        .is_ended = lane->state == AXP__LANE_ENDED};
    if (!lane->track && lane->last_ticks > m->c->end_ticks)
        m->c->end_ticks = lane->last_ticks;
}

static bool is_shown(const struct axp__lane *lane, uint64_t epoch)
{
    return (lane->state == AXP__LANE_ACTIVE ||
            lane->state == AXP__LANE_ENDED) &&
           lane->epoch == epoch && lane->first_ticks;
}

static bool get_rows(struct image *m, const struct axp__prof *p)
{
    struct axp__capture *c = m->c;
    uint32_t n = p->n_merged_rows;
    const struct axp__row *rows = at(m, p->rows, (size_t)n * sizeof *rows);
    if (!rows) return true;
    for (uint32_t i = 0; i < n; i++) {
        const struct axp__row *r = &rows[i];
        c->rows[c->n_rows++] =
            (struct axp__cap_row){.id = r->id,
                                  .track = r->track,
                                  .name = r->name,
                                  .n_merged = r->n_merged,
                                  .tid = r->tid,
                                  .process_id = c->process_id,
                                  .rank = c->rank,
                                  .first = r->first_ticks,
                                  .last = r->last_ticks,
                                  .busy = r->busy_ticks,
                                  .n_events = r->n_events,
                                  .is_ended = true};
    }
    return true;
}

static bool get_lanes(struct image *m, const struct axp__prof *p,
                      uint64_t epoch)
{
    struct axp__capture *c = m->c;
    uint64_t n = 0, most = m->bytes / sizeof(struct axp__lane) + 1;
    const struct axp__lane *l;
    for (l = at(m, p->lanes, sizeof *l); l && n < most;
         l = at(m, l->next, sizeof *l))
        n++;
    if (p->n_merged_rows > AXP__MAX_ROWS) return true;
    c->rows = axp__cap_take(c, n + p->n_merged_rows, sizeof *c->rows);
    c->lanes = axp__cap_take(c, n + 1, sizeof *c->lanes);
    if (!c->rows || !c->lanes || !get_rows(m, p)) return false;
    const struct axp__lane *merged =
        p->merged ? at(m, p->merged, sizeof *merged) : NULL;
    if (merged && !get_lane(m, merged, -1)) return false;
    for (l = at(m, p->lanes, sizeof *l); l && n--;
         l = at(m, l->next, sizeof *l)) {
        if (!is_shown(l, epoch)) continue;
        if (!get_lane(m, l, (int32_t)c->n_rows)) return false;
        get_row(m, l, &c->rows[c->n_rows++]);
    }
    return true;
}

/* ---- words --------------------------------------------------------------------------------- */

static void unload(struct axp__cap_words *w)
{
    free(w->memory);
}

static bool load(const struct axp__cap_source *s,
                 const struct axp__cap_chunk *chunk, struct axp__cap_words *out)
{
    const struct image *m = (const struct image *)s;
    uint64_t *words = malloc(chunk->n_words * 8);
    if (!words ||
        !read_all(m->fd, words, chunk->n_words * 8,
                  chunk->place + offsetof(struct axp__chunk, words))) {
        free(words);
        return false;
    }
    *out = (struct axp__cap_words){words, chunk->n_words, chunk->base_ticks,
                                   unload, words};
    return true;
}

/* The words of a chunk that was being written to end before a head of 0. */
static uint64_t find_end(const struct axp__chunk *chunk)
{
    struct axp__decoder d;
    struct axp__wire_event e;
    uint64_t n = 0;
    axp__decoder_init(&d, chunk->words, AXP__CHUNK_WORDS, chunk->base_ticks);
    while (axp__decoder_next(&d, &e))
        n = d.at;
    return d.is_damaged ? n : d.at;
}

static void get_chunk(struct image *m, const struct axp__chunk *chunk,
                      uint64_t place, uint32_t epoch)
{
    struct axp__capture *c = m->c;
    if (!chunk->seq || chunk->epoch != epoch || chunk->state == AXP__CHUNK_FREE)
        return;
    bool is_full = chunk->n_words && chunk->n_words <= AXP__CHUNK_WORDS;
    uint64_t n = is_full ? chunk->n_words : find_end(chunk);
    if (!n) return;
    c->chunks[c->n_chunks++] = (struct axp__cap_chunk){
        .row = chunk->row,
        .seq = chunk->seq,
        .base_ticks = chunk->base_ticks,
        .source = &m->source,
        .place = place,
        .n_words = (size_t)n,
        .n_events = is_full ? chunk->n_events : UINT64_MAX};
}

static bool get_chunks(struct image *m, uint32_t epoch)
{
    struct axp__chunk *chunk = malloc(sizeof *chunk);
    uint64_t n = 0;
    for (uint32_t i = 1; i < n_extents(m); i++)
        if (is_in_file(m, &m->head->extent[i]) &&
            m->head->extent[i].kind == AXP__EXTENT_CHUNKS)
            n += m->head->extent[i].bytes / sizeof *chunk;
    if (n > m->bytes / sizeof *chunk) n = m->bytes / sizeof *chunk;
    m->c->chunks = axp__cap_take(m->c, n, sizeof *m->c->chunks);
    bool ok = chunk && m->c->chunks;
    for (uint32_t i = 1; ok && i < n_extents(m); i++) {
        const struct axp__extent *e = &m->head->extent[i];
        if (!is_in_file(m, e) || e->kind != AXP__EXTENT_CHUNKS) continue;
        for (uint64_t k = 0; k + sizeof *chunk <= e->bytes; k += sizeof *chunk)
            if (m->c->n_chunks < n &&
                read_all(m->fd, chunk, sizeof *chunk, e->offset + k))
                get_chunk(m, chunk, e->offset + k, epoch);
    }
    free(chunk);
    return ok;
}

/* ---- names ------------------------------------------------------------------------------------ */

static struct axp__cap_name name_at(const struct axp__capture *c, uint32_t id)
{
    static const char *const special[] = {"(root)", "(other)", "(unnamed)"};
    const struct image *m = c->own;
    if (id <= AXP__NAME_UNNAMED)
        return (struct axp__cap_name){special[id], NULL, 0, 0};
    if (id < m->n_names && m->names[id].text) return m->names[id];
    return (struct axp__cap_name){special[1], NULL, 0, 0};
}

static const char *keep_text(struct image *m, const char *from, uint32_t len)
{
    char *to = axp__cap_take(m->c, (size_t)len + 1, 1);
    return to ? memcpy(to, from, len) : NULL;
}

static bool add_name(struct image *m, const struct axp__spool_name *r)
{
    if (r->id >= AXP__MAX_NAMES) return true;
    if (r->id >= m->n_names) {
        uint32_t n = r->id + 1 > 2 * m->n_names ? r->id + 1 : 2 * m->n_names;
        struct axp__cap_name *wider = realloc(m->names, n * sizeof *wider);
        if (!wider) return false;
        memset(wider + m->n_names, 0, (n - m->n_names) * sizeof *wider);
        m->names = wider;
        m->n_names = n;
    }
    const char *text = (const char *)(r + 1);
    struct axp__cap_name *n = &m->names[r->id];
    if (n->text) return true;
    n->text = keep_text(m, text, r->text_len);
    if (r->file_len) n->file = keep_text(m, text + r->text_len, r->file_len);
    n->line = r->line;
    n->flags = r->flags;
    return n->text != NULL;
}

static bool get_names(struct image *m)
{
    uint64_t most = m->bytes / sizeof(struct axp__spool_names) + 1;
    const struct axp__spool_names *b;
    uint64_t address = m->head->root[AXP__ROOT_NAMES];
    for (; address && most--; address = b->older) {
        b = at(m, (const void *)(uintptr_t)address, sizeof *b);
        if (!b) break;
        uint64_t used = b->used < sizeof b->bytes ? b->used : sizeof b->bytes;
        for (uint64_t k = 0; k + sizeof(struct axp__spool_name) <= used;) {
            const struct axp__spool_name *r =
                (const struct axp__spool_name *)(const void *)(b->bytes + k);
            if (!r->bytes || r->bytes % 8 || r->bytes > used - k) break;
            if (r->id && r->text_len <= r->bytes - sizeof *r &&
                r->file_len <= r->bytes - sizeof *r - r->text_len &&
                !add_name(m, r))
                return false;
            k += r->bytes;
        }
    }
    return true;
}

/* ---- memory, warnings, the rest ----------------------------------------------------------------- */

static bool get_warnings(struct axp__capture *c, const struct axp__prof *p)
{
    static const char *const codes[] = {
#define X(id, code, text) code,
#include "record/record_warning.def"
#undef X
    };
    static const char *const texts[] = {
#define X(id, code, text) text,
#include "record/record_warning.def"
#undef X
    };
    c->warnings = axp__cap_take(c, AXP__N_WARNINGS, sizeof *c->warnings);
    if (!c->warnings) return false;
    for (int i = 0; i < AXP__N_WARNINGS; i++)
        c->warnings[c->n_warnings++] = (struct axp__cap_warning){
            codes[i], texts[i], p->warning[i].count, p->warning[i].name};
    return true;
}

static uint64_t at_least_0(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

static void get_live(struct image *m, const struct axp__memory *mem,
                     const struct axp__live_name *live)
{
    m->c->live[m->c->n_live++] = (struct axp__cap_live){
        .name = live->name,
        .kind = live->kind,
        .current_bytes = at_least_0(live->current_bytes),
        .peak_bytes = live->peak_bytes,
        .at_peak_bytes = live->epoch == mem->epoch
                             ? live->saved_bytes
                             : at_least_0(live->current_bytes),
        .first_step_bytes = live->first_step_bytes,
        .since_ticks = live->since_ticks,
        .since_row = live->since_row};
}

/* Counts first, then copies. */
static uint64_t each_live(struct image *m, const struct axp__memory *mem,
                          uint64_t cap)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < AXP__LIVE_PAGES; i++) {
        struct axp__live_name *const *page =
            mem->page[i] ? at(m, mem->page[i], AXP__LIVE_PAGE * sizeof *page)
                         : NULL;
        for (uint32_t k = 0; page && k < AXP__LIVE_PAGE; k++) {
            const struct axp__live_name *live =
                page[k] ? at(m, page[k], sizeof *live) : NULL;
            if (!live) continue;
            if (n++ < cap) get_live(m, mem, live);
        }
    }
    return n;
}

static bool get_memory(struct image *m, const struct axp__prof *p)
{
    struct axp__capture *c = m->c;
    const struct axp__memory *mem = &p->memory;
    uint64_t n = each_live(m, mem, 0);
    c->live = axp__cap_take(c, n, sizeof *c->live);
    if (!c->live) return false;
    each_live(m, mem, n);
    c->current_bytes = at_least_0(mem->current_bytes);
    c->peak_bytes = mem->peak_bytes;
    c->peak_ticks = mem->peak_ticks;
    return true;
}

static bool get_prof(struct image *m)
{
    struct axp__capture *c = m->c;
    const struct axp__space *head = m->head;
    const struct axp__prof *p =
        at(m, (const void *)(uintptr_t)head->root[AXP__ROOT_PROF], sizeof *p);
    if (!p) return false;
    char *title = axp__cap_take(c, 1, sizeof p->title + 1);
    if (!title) return false;
    memcpy(title, p->title, sizeof p->title);
    c->title = title;
    c->process_id = head->pid;
    c->rank = p->rank;
    c->start_ticks = c->end_ticks = p->start_ticks;
    /* Not known yet when it died: the same clock, if this is the machine. */
    c->rate_mult = head->root[AXP__ROOT_RATE] ? head->root[AXP__ROOT_RATE]
                                              : axp__clock_rate().mult;
    c->own_cost_ticks = head->root[AXP__ROOT_COST];
    c->timeline_capacity = p->timeline_capacity;
    c->has_timeline = !(p->flags & AXP_NO_TIMELINE);
    c->n_steps = p->n_steps;
    uint64_t epoch = p->gate >> 8;
    m->epoch = (uint32_t)epoch;
    c->is_finished = p->gate & AXP__GATE_FINISHED;
    if (!get_warnings(c, p) || !get_lanes(m, p, epoch) || !get_memory(m, p) ||
        !get_chunks(m, (uint32_t)epoch))
        return false;
    for (size_t i = 0; i < c->n_rows; i++)
        c->n_events += c->has_timeline ? c->rows[i].n_events : 0;
    return true;
}

/* ---- opening -------------------------------------------------------------------------------------- */

static void free_image(struct image *m)
{
    for (uint32_t i = 0; m->extent && i < AXP__SPACE_EXTENTS; i++)
        free(m->extent[i]);
    free(m->extent);
    m->extent = NULL;
}

static void release(struct axp__capture *c)
{
    struct image *m = c->own;
    axp__cap_free(c);
    free_image(m);
    free(m->names);
    free(m->head);
    close(m->fd);
    free(m);
}

static axp_status check_head(const struct axp__space *h)
{
    if (memcmp(h->magic, AXP__SPACE_MAGIC, sizeof h->magic))
        return axp__fail(AXP_E_FORMAT, "not a spool of axprof");
    if (h->layout != AXP__SPACE_LAYOUT)
        return axp__fail(AXP_E_UNSUPPORTED,
                         "a spool of another version (layout %u, this one "
                         "reads %u): use the axprof that was there when it "
                         "was written",
                         h->layout, AXP__SPACE_LAYOUT);
    if (h->machine != MACHINE)
        return axp__fail(AXP_E_UNSUPPORTED,
                         "a spool of another kind of machine: run axprof "
                         "pack where it was written");
    if (!h->is_complete)
        return axp__fail(AXP_E_FORMAT, "a spool that had not begun");
    return AXP_OK;
}

static axp_status open_image(int fd, struct image *m)
{
    struct stat st;
    m->source.load = load;
    m->fd = fd;
    m->head = malloc(sizeof *m->head);
    m->extent = calloc(AXP__SPACE_EXTENTS, sizeof *m->extent);
    if (!m->head || !m->extent)
        return axp__fail(AXP_E_NO_MEMORY, "no memory to read a spool");
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
        !read_all(fd, m->head, sizeof *m->head, 0))
        return axp__fail(AXP_E_FORMAT, "not a spool of axprof");
    m->bytes = (uint64_t)st.st_size;
    return check_head(m->head);
}

axp_status axp__spool_recover(int fd, struct axp__recovered *out)
{
    struct axp__capture empty = {0};
    struct image *m = calloc(1, sizeof *m);
    *out = (struct axp__recovered){0};
    if (!m) {
        close(fd);
        return axp__fail(AXP_E_NO_MEMORY, "no memory to read a spool");
    }
    axp_status status = open_image(fd, m);
    struct axp__capture *c =
        status ? NULL : axp__cap_take(&empty, 1, sizeof *c);
    if (!c) {
        free_image(m);
        free(m->head);
        close(fd);
        free(m);
        return status ? status : axp__fail(AXP_E_NO_MEMORY, "no memory");
    }
    *c = (struct axp__capture){.memory = empty.memory,
                               .own = m,
                               .name_at = name_at,
                               .release = release};
    m->c = c;
    if (!get_names(m) || !get_prof(m)) {
        release(c);
        return axp__fail(AXP_E_FORMAT, "a spool without a profiler in it, or "
                                       "no memory to read it");
    }
    free_image(m); /* all that is needed was copied */
    memcpy(out->id, m->head->id, sizeof out->id);
    out->epoch = m->epoch;
    out->is_alive = !kill((pid_t)m->head->pid, 0) || errno == EPERM;
    out->capture = c;
    return AXP_OK;
}
