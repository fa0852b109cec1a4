/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The snapshot that PyTorch's memory viewer reads (pytorch.org/memory_viz): a
 * pickle of dicts and lists. Each process and each track that has memory is a
 * device; each allocation and free an entry of its trace, with its stack, where
 * that was recorded, and the scopes that were open as its frames; what is live at the end lies in segments.
 *
 * Pickle     protocol 2, only opcodes that the viewer's own reader knows.
 *            Keys, frames and lists of frames are written once and then
 *            referred to, so that an event is some 60 bytes.
 * Devices    the format wants one list each, one after the other. The timeline
 *            is read once for several of them: what happens on the first is
 *            written at once, that of the others kept for as long: 65,536
 *            events, or an eighth of all, so that it is read a few times
 *            however many devices there are.
 * Segments   64 MiB pieces of address space in which blocks were seen, since
 *            the viewer finds each block in one.
 */
#include <stdlib.h>

#include "emit/emit_blocks.h"
#include "emit/emit_export.h"
#include "emit/emit_frame.h"
#include "emit/emit_live.h"
#include "record/record_thread.h"
#include "wire/wire_word.h"

#define MOST_FRAMES 64u /* of an allocation; the outermost are left out */

enum key {
#define X(id, text) K_##id,
#include "emit/emit_memory_viz.def"
#undef X
    N_KEYS
};

struct event { /* of a device */
    uint64_t address, bytes;
    axp_ns time_ns;
    uint32_t path, name; /* of an allocation */
    bool is_alloc;
};

struct viz {
    const axp_view *v;
    struct axp__out *o;
    struct axp__out *text; /* one string, made valid */
    struct axp__stream *s;
    struct axp__live live; /* its places are the devices */
    struct axp__paths paths;
    uint32_t *path_memo, *name_memo; /* 0: not written yet */
    uint32_t cap_path_memo, next_memo;
    bool is_known[N_KEYS]; /* key: written, and remembered as its number */
    struct event *kept;
    uint64_t *next_kept; /* by device: where its next one goes */
    uint64_t n_kept;     /* of all devices that are read together */
    struct axp__block_map blocks;
    struct axp__made_blocks made;
    struct axp__regions regions;
    struct segment_list *segments; /* of devices done */
    bool has_failed;
};

/* ---- pickle ------------------------------------------------------------------------- */

static void put_memo(struct viz *z, char small, char large, uint32_t i)
{
    char bytes[5] = {large, (char)i, (char)(i >> 8), (char)(i >> 16),
                     (char)(i >> 24)};
    if (i < 256) bytes[0] = small;
    axp__out_bytes(z->o, bytes, i < 256 ? 2 : 5);
}

static void get(struct viz *z, uint32_t memo)
{
    put_memo(z, 'h', 'j', memo);
}

static void remember(struct viz *z, uint32_t memo)
{
    put_memo(z, 'q', 'r', memo);
}

static void put_int(struct viz *z, uint64_t value)
{
    char bytes[11];
    size_t n = 0;
    if (value < 65536) {
        bytes[n++] = value < 256 ? 'K' : 'M';
        bytes[n++] = (char)value;
        if (value >= 256) bytes[n++] = (char)(value >> 8);
    } else {
        n = 2; /* LONG1: length, then bytes to a sign bit of 0 */
        for (uint64_t left = value; left; left >>= 8)
            bytes[n++] = (char)left;
        if (bytes[n - 1] & (char)0x80) bytes[n++] = 0;
        bytes[0] = (char)0x8a;
        bytes[1] = (char)(n - 2);
    }
    axp__out_bytes(z->o, bytes, n);
}

static void put_string(struct viz *z, const char *text)
{
    axp__out_init(z->text, NULL);
    axp__out_utf8(z->text, text, axp__len_to(text, AXP__MOST_NAME));
    uint32_t n = (uint32_t)z->text->len;
    char head[5] = {'X', (char)n, (char)(n >> 8), (char)(n >> 16),
                    (char)(n >> 24)};
    axp__out_bytes(z->o, head, 5);
    axp__out_bytes(z->o, z->text->buffer, n);
}

static void put_key(struct viz *z, enum key key)
{
    static const char *const keys[] = {
#define X(id, text) text,
#include "emit/emit_memory_viz.def"
#undef X
    };
    if (z->is_known[key]) {
        get(z, key);
        return;
    }
    put_string(z, keys[key]);
    remember(z, key);
    z->is_known[key] = true;
}

static void key_int(struct viz *z, enum key key, uint64_t value)
{
    put_key(z, key);
    put_int(z, value);
}

static void key_key(struct viz *z, enum key key, enum key value)
{
    put_key(z, key);
    put_key(z, value);
}

#define BEGIN_DICT(z) axp__out_bytes((z)->o, "}(", 2)
#define END_DICT(z) axp__out_char((z)->o, 'u')
#define BEGIN_LIST(z) axp__out_char((z)->o, ']')
#define END_ITEM(z) axp__out_char((z)->o, 'a') /* after each of a list */

/* ---- frames ----------------------------------------------------------------------------- */

static void put_frame(struct viz *z, uint32_t name)
{
    uint32_t *memo = &z->name_memo[name & (AXP__MAX_NAMES - 1)];
    if (*memo) {
        get(z, *memo);
        return;
    }
    struct axp__cap_name n = z->v->capture->name_at(z->v->capture, name);
    BEGIN_DICT(z);
    put_key(z, K_FILENAME);
    put_string(z, n.file ? n.file : "");
    key_int(z, K_LINE, n.line > 0 ? (uint64_t)n.line : 0);
    put_key(z, K_NAME);
    put_string(z, n.text);
    END_DICT(z);
    *memo = z->next_memo++;
    remember(z, *memo);
}

/* In a path, after all names: the stack of an allocation. */
#define STACK_NAME(id) (AXP__MAX_NAMES + (id))

static void put_stack(struct viz *z, uint32_t stack)
{
    axp_frame frames[MOST_FRAMES];
    char text[AXP__FRAME_TEXT];
    size_t n = axp_view_stack(z->v, stack, frames, MOST_FRAMES);
    for (size_t i = 0; i < n && i < MOST_FRAMES; i++) {
        const axp_frame *f = &frames[i];
        BEGIN_DICT(z);
        put_key(z, K_FILENAME);
        put_string(z, f->file ? f->file : f->module ? f->module : "");
        key_int(z, K_LINE, f->line > 0 ? (uint64_t)f->line : 0);
        put_key(z, K_NAME);
        put_string(z, axp__frame_text(f, text));
        END_DICT(z);
        END_ITEM(z);
    }
}

static bool widen_memo(struct viz *z)
{
    uint32_t cap = z->cap_path_memo ? z->cap_path_memo * 2 : 256;
    if (z->paths.n <= z->cap_path_memo) return true;
    while (cap < z->paths.n)
        cap *= 2;
    uint32_t *wider = realloc(z->path_memo, cap * sizeof *wider);
    if (!wider) return false;
    memset(wider + z->cap_path_memo, 0,
           (cap - z->cap_path_memo) * sizeof *wider);
    z->path_memo = wider;
    z->cap_path_memo = cap;
    return true;
}

static void put_frames(struct viz *z, uint32_t path)
{
    put_key(z, K_FRAMES);
    if (path && !widen_memo(z)) {
        z->has_failed = true;
        path = 0;
    }
    if (!path) {
        BEGIN_LIST(z);
        return;
    }
    if (z->path_memo[path]) {
        get(z, z->path_memo[path]);
        return;
    }
    BEGIN_LIST(z);
    for (uint32_t i = path; i; i = z->paths.at[i].parent) {
        uint32_t name = z->paths.at[i].name;
        if (name >= AXP__MAX_NAMES) {
            put_stack(z, name - AXP__MAX_NAMES);
            continue;
        }
        put_frame(z, name);
        END_ITEM(z);
    }
    z->path_memo[path] = z->next_memo++;
    remember(z, z->path_memo[path]);
}

/* The scopes open now, the stack, and the block's own name as the innermost. */
static uint32_t path_of(struct viz *z, uint32_t name, uint32_t stack)
{
    size_t n;
    const struct axp__scope *open = axp__stream_scopes(z->s, &n);
    uint32_t path = 0;
    for (size_t i = n > MOST_FRAMES ? n - MOST_FRAMES : 0; i < n; i++)
        if (open[i].name != AXP__SCOPE_GONE)
            path = axp__paths_get(&z->paths, path, open[i].name);
    if (stack && stack < AXP__STACKS_OUTSIDE)
        path = axp__paths_get(&z->paths, path, STACK_NAME(stack));
    return axp__paths_get(&z->paths, path, name);
}

/* ---- the trace of a device ------------------------------------------------------------------ */

static void put_entry(struct viz *z, enum key action, axp_ns time_ns,
                      const struct axp__block_at *b)
{
    BEGIN_DICT(z);
    key_key(z, K_ACTION, action);
    key_int(z, K_ADDR, b->address);
    key_int(z, K_SIZE, b->bytes);
    key_int(z, K_STREAM, 0);
    key_int(z, K_TIME_US, time_ns / 1000);
    key_int(z, K_TIME_NS, time_ns);
    put_frames(z, b->path);
    END_DICT(z);
    END_ITEM(z);
}

static void put_alloc(struct viz *z, axp_ns time_ns,
                      const struct axp__block_at *b)
{
    axp__regions_add(&z->regions, b->address, b->bytes);
    put_entry(z, K_ALLOC, time_ns, b);
}

static void put_free(struct viz *z, axp_ns time_ns,
                     const struct axp__block_at *b)
{
    axp__regions_add(&z->regions, b->address, b->bytes);
    put_entry(z, K_FREE_REQUESTED, time_ns, b);
    put_entry(z, K_FREE_COMPLETED, time_ns, b);
}

static void add_alloc(struct viz *z, const struct event *e)
{
    struct axp__block_at b = {.address = e->address,
                              .bytes = e->bytes,
                              .path = e->path,
                              .name = e->name};
    if (e->address)
        axp__block_map_add(&z->blocks, b);
    else
        b.address = axp__made_blocks_add(&z->made, e->name, e->path, e->bytes);
    put_alloc(z, e->time_ns, &b);
}

/* By name: whole blocks, the newest first; what is left of the last one is
 * a block again. More than there is lowers nothing. */
static void free_by_name(struct viz *z, const struct event *e)
{
    struct axp__block_at b;
    uint64_t left = e->bytes;
    while (left && axp__made_blocks_take(&z->made, e->name, &b)) {
        put_free(z, e->time_ns, &b);
        if (b.bytes <= left) {
            left -= b.bytes;
            continue;
        }
        b.bytes -= left;
        left = 0;
        b.address = axp__made_blocks_add(&z->made, e->name, b.path, b.bytes);
        put_alloc(z, e->time_ns, &b);
    }
}

static void add_free(struct viz *z, const struct event *e)
{
    struct axp__block_at b;
    if (!e->address) {
        free_by_name(z, e);
        return;
    }
    if (!axp__block_map_take(&z->blocks, e->address, &b))
        b = (struct axp__block_at){.address = e->address, .bytes = e->bytes};
    put_free(z, e->time_ns, &b);
}

static void add_event(struct viz *z, const struct event *e)
{
    if (e->is_alloc)
        add_alloc(z, e);
    else
        add_free(z, e);
}

/* ---- segments --------------------------------------------------------------------------------- */

struct segment_list { /* of one device, once its trace is written */
    struct axp__regions regions;
    struct axp__block_map blocks; /* sorted */
};

static void put_block(struct viz *z, uint64_t address, uint64_t bytes,
                      const struct axp__block_at *b)
{
    BEGIN_DICT(z);
    key_int(z, K_ADDRESS, address);
    key_int(z, K_SIZE, bytes);
    key_int(z, K_REQUESTED_SIZE, b ? bytes : 0);
    key_key(z, K_STATE, b ? K_ACTIVE_ALLOCATED : K_INACTIVE);
    put_frames(z, b ? b->path : 0);
    END_DICT(z);
    END_ITEM(z);
}

/* Blocks in order with what is between them; the viewer counts addresses from
 * their sizes. Returns how many bytes are live. */
static uint64_t put_blocks(struct viz *z, const struct axp__block_map *blocks,
                           size_t *next, uint64_t from, uint64_t to)
{
    uint64_t at = from, live = 0;
    put_key(z, K_BLOCKS);
    BEGIN_LIST(z);
    for (; *next < blocks->n && blocks->at[*next].address < to; ++*next) {
        const struct axp__block_at *b = &blocks->at[*next];
        if (b->address < at || b->bytes > to - b->address || !b->bytes)
            continue; /* on top of another one */
        if (b->address > at) put_block(z, at, b->address - at, NULL);
        put_block(z, b->address, b->bytes, b);
        at = b->address + b->bytes;
        live += b->bytes;
    }
    if (at < to) put_block(z, at, to - at, NULL);
    return live;
}

static void put_segments_of(struct viz *z, const struct segment_list *list,
                            uint32_t device)
{
    size_t next = 0;
    for (size_t i = 0; i < list->regions.n; i++) {
        uint64_t from = list->regions.at[i].from << AXP__BLOCKS_SHIFT;
        uint64_t to = list->regions.at[i].to << AXP__BLOCKS_SHIFT;
        if (to <= from) to = UINT64_MAX;
        BEGIN_DICT(z);
        key_int(z, K_DEVICE, device);
        key_int(z, K_ADDRESS, from);
        key_int(z, K_TOTAL_SIZE, to - from);
        key_int(z, K_STREAM, 0);
        key_key(z, K_SEGMENT_TYPE, K_LARGE);
        put_key(z, K_SEGMENT_POOL_ID);
        put_int(z, 0);
        put_int(z, 0);
        axp__out_char(z->o, (char)0x86); /* TUPLE2 */
        put_frames(z, 0);
        uint64_t live = put_blocks(z, &list->blocks, &next, from, to);
        key_int(z, K_ALLOCATED_SIZE, live);
        key_int(z, K_ACTIVE_SIZE, live);
        key_int(z, K_REQUESTED_SIZE, live);
        END_DICT(z);
        END_ITEM(z);
    }
}

/* Both kinds of blocks in one list, by address. */
static void keep_segments(struct viz *z, struct segment_list *list)
{
    z->has_failed |= z->made.map.has_failed;
    for (size_t i = 0; i < z->made.map.n_slots; i++)
        if (z->made.map.at[i].is_live)
            axp__block_map_add(&z->blocks, z->made.map.at[i]);
    axp__made_blocks_fini(&z->made);
    z->has_failed |= z->blocks.has_failed || z->regions.has_failed;
    axp__block_map_sort(&z->blocks);
    list->blocks = z->blocks;
    list->regions = z->regions;
    z->blocks = (struct axp__block_map){0};
    z->regions = (struct axp__regions){0};
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static bool is_of_memory(const struct axp__record *r)
{
    return r->kind == AXP__R_ALLOC || r->kind == AXP__R_FREE;
}

/* Writes what happens on a device, and keeps it of those after it up to
 * another. */
static axp_status read_devices(struct viz *z, uint32_t device, uint32_t end)
{
    const struct axp__record *r;
    axp_status status = axp__stream_open(z->v, 0, &z->s);
    while (!status && (r = axp__stream_next(z->s))) {
        uint32_t place = z->live.place_of[r->row];
        if (place < device || place >= end || !is_of_memory(r)) continue;
        bool is_alloc = r->kind == AXP__R_ALLOC;
        struct event e = {.address = r->id,
                          .bytes = r->bytes,
                          .time_ns = r->time_ns,
                          .path = is_alloc ? path_of(z, r->name, r->stack) : 0,
                          .name = r->name,
                          .is_alloc = is_alloc};
        if (place == device)
            add_event(z, &e);
        else if (z->next_kept[place] < z->n_kept) /* the file may change */
            z->kept[z->next_kept[place]++] = e;
    }
    if (!status) status = axp__stream_status(z->s);
    axp__stream_close(z->s);
    z->s = NULL;
    return status;
}

/* A trace a device. n_events: of each. */
static axp_status put_group(struct viz *z, const uint64_t *n_events,
                            uint32_t device, uint32_t end)
{
    uint64_t at = 0;
    z->n_kept = 0;
    for (uint32_t i = device + 1; i < end; i++) {
        z->next_kept[i] = z->n_kept;
        z->n_kept += n_events[i];
    }
    BEGIN_LIST(z);
    axp_status status = read_devices(z, device, end);
    END_ITEM(z);
    keep_segments(z, &z->segments[device]);
    for (uint32_t i = device + 1; i < end && !status; i++) {
        BEGIN_LIST(z);
        for (uint64_t k = at; k < z->next_kept[i]; k++)
            add_event(z, &z->kept[k]);
        at += n_events[i];
        END_ITEM(z);
        keep_segments(z, &z->segments[i]);
    }
    return status;
}

static axp_status count_events(struct viz *z, uint64_t *n_events,
                               uint64_t *n_all)
{
    const struct axp__record *r;
    axp_status status = axp__stream_open(z->v, 0, &z->s);
    while (!status && (r = axp__stream_next(z->s)))
        if (is_of_memory(r)) {
            n_events[z->live.place_of[r->row]]++;
            ++*n_all;
        }
    if (!status) status = axp__stream_status(z->s);
    axp__stream_close(z->s);
    z->s = NULL;
    return status;
}

#define LEAST_KEPT ((uint64_t)1 << 16)
#define MOST_READS 8u /* or twice that, if devices are large */

static axp_status put_traces(struct viz *z)
{
    uint32_t n = z->live.n_places, end;
    uint64_t n_all = 0, *n_events = calloc(n + 1, sizeof *n_events);
    axp_status status = AXP_OK;
    z->has_failed |= !n_events;
    if (n_events && n > 1) status = count_events(z, n_events, &n_all);
    uint64_t most = n_all / MOST_READS;
    if (most < LEAST_KEPT) most = LEAST_KEPT;
    z->kept = malloc((n > 1 ? most : 1) * sizeof *z->kept);
    z->has_failed |= !z->kept;
    for (uint32_t i = 0; i < n && !status && !z->has_failed; i = end) {
        uint64_t n_kept = 0;
        for (end = i + 1; end < n && n_kept + n_events[end] <= most; end++)
            n_kept += n_events[end];
        status = put_group(z, n_events, i, end);
    }
    free(n_events);
    return status;
}

static void put_devices(struct viz *z)
{
    uint32_t row = 0;
    put_string(z, "axprof_devices");
    BEGIN_LIST(z);
    for (uint32_t i = 0; i < z->live.n_places; i++) {
        char name[320], rank[24] = "";
        while (z->live.place_of[row] != i) /* they come in this order */
            row++;
        const struct axp__stream_row *r = axp__stream_row(z->s, row);
        if (r->rank >= 0)
            snprintf(rank, sizeof rank, ", rank %d", (int)r->rank);
        snprintf(name, sizeof name, "process %llu%s%s%.256s",
                 (unsigned long long)r->process_id, rank, r->track ? ", " : "",
                 r->track ? r->name : "");
        put_string(z, name);
        END_ITEM(z);
    }
}

static axp_status put_all(struct viz *z)
{
    axp__out_bytes(z->o, "\x80\x02}(", 4); /* protocol 2; a dict */
    put_devices(z);
    axp__stream_close(z->s);
    z->s = NULL;
    put_string(z, "device_traces");
    BEGIN_LIST(z);
    axp_status status = put_traces(z);
    put_string(z, "segments");
    BEGIN_LIST(z);
    for (uint32_t i = 0; i < z->live.n_places; i++)
        put_segments_of(z, &z->segments[i], i);
    axp__out_bytes(z->o, "u.", 2);
    if (!status && (z->has_failed || z->paths.has_failed))
        status = axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    return status;
}

static bool init(struct viz *z)
{
    z->text = malloc(sizeof *z->text);
    z->name_memo = calloc(AXP__MAX_NAMES, sizeof *z->name_memo);
    if (!z->text || !z->name_memo || !axp__live_init(&z->live, z->v, z->s))
        return false;
    z->segments = calloc(z->live.n_places + 1, sizeof *z->segments);
    z->next_kept = calloc(z->live.n_places + 1, sizeof *z->next_kept);
    return z->segments && z->next_kept;
}

static void fini(struct viz *z)
{
    for (uint32_t i = 0; z->segments && i < z->live.n_places; i++) {
        axp__block_map_fini(&z->segments[i].blocks);
        free(z->segments[i].regions.at);
    }
    free(z->segments);
    free(z->next_kept);
    free(z->kept);
    axp__block_map_fini(&z->blocks);
    axp__made_blocks_fini(&z->made);
    free(z->regions.at);
    axp__paths_fini(&z->paths);
    axp__live_fini(&z->live);
    axp__stream_close(z->s);
    free(z->text);
    free(z->name_memo);
    free(z->path_memo);
}

axp_status axp__emit_memory_viz(const axp_view *v, struct axp__out *o)
{
    struct viz z = {.v = v, .o = o, .next_memo = N_KEYS};
    axp_status status = axp__stream_open(v, AXP__STREAM_RAW, &z.s);
    if (!status)
        status = init(&z) ? put_all(&z)
                          : axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    fini(&z);
    return status;
}
