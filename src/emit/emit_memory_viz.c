/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The snapshot that PyTorch's memory viewer reads (pytorch.org/memory_viz): a
 * pickle of dicts and lists. Each process and each track that has memory is a
 * device; each allocation and free an entry of its trace, with its stack, where
 * that was recorded, and the scopes that were open as its frames; what is live
 * at the end lies in segments.
 *
 * Devices    the format wants one list each, one after the other. The timeline
 *            is read once for several of them: what happens on the first is
 *            written at once, that of the others kept for as long: 65,536
 *            events, or an eighth of all, so that it is read a few times
 *            however many devices there are.
 * Segments   64 MiB pieces of address space in which blocks were seen, since
 *            the viewer finds each block in one.
 */
#include "emit/emit_memory_viz.h"

#include <stdlib.h>

#include "emit/emit_export.h"
#include "emit/emit_live.h"
#include "record/record_thread.h"
#include "wire/wire_word.h"

struct event { /* of a device */
    uint64_t address, bytes;
    axp_ns time_ns;
    uint32_t path, name; /* of an allocation */
    bool is_alloc;
};

struct viz {
    const axp_view *v;
    struct axp__viz out;
    struct axp__stream *s;
    struct axp__live live; /* its places are the devices */
    struct event *kept;
    uint64_t *next_kept; /* by device: where its next one goes */
    uint64_t n_kept;     /* of all devices that are read together */
    struct axp__block_map blocks;
    struct axp__made_blocks made;
    struct axp__regions regions;
    struct axp__viz_segments *segments; /* of devices done */
};

/* The scopes open now, the stack, and the block's own name as the innermost. */
static uint32_t path_of(struct viz *z, uint32_t name, uint32_t stack)
{
    size_t n;
    const struct axp__scope *open = axp__stream_scopes(z->s, &n);
    uint32_t path = 0;
    size_t most = AXP__VIZ_MOST_FRAMES; /* the outermost are left out */
    for (size_t i = n > most ? n - most : 0; i < n; i++)
        if (open[i].name != AXP__SCOPE_GONE)
            path = axp__paths_get(&z->out.paths, path, open[i].name);
    if (stack && stack < AXP__STACKS_OUTSIDE)
        path = axp__paths_get(&z->out.paths, path, AXP__VIZ_STACK(stack));
    return axp__paths_get(&z->out.paths, path, name);
}

/* ---- the trace of a device ------------------------------------------------------------------ */

static void put_alloc(struct viz *z, axp_ns time_ns,
                      const struct axp__block_at *b)
{
    axp__regions_add(&z->regions, b->address, b->bytes);
    axp__viz_entry(&z->out, AXP__VIZ_ALLOC, time_ns, b);
}

static void put_free(struct viz *z, axp_ns time_ns,
                     const struct axp__block_at *b)
{
    axp__regions_add(&z->regions, b->address, b->bytes);
    axp__viz_entry(&z->out, AXP__VIZ_FREE_REQUESTED, time_ns, b);
    axp__viz_entry(&z->out, AXP__VIZ_FREE_COMPLETED, time_ns, b);
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

/* Both kinds of blocks in one list, by address. */
static void keep_segments(struct viz *z, struct axp__viz_segments *list)
{
    z->out.has_failed |= z->made.map.has_failed;
    for (size_t i = 0; i < z->made.map.n_slots; i++)
        if (z->made.map.at[i].is_live)
            axp__block_map_add(&z->blocks, z->made.map.at[i]);
    axp__made_blocks_fini(&z->made);
    z->out.has_failed |= z->blocks.has_failed || z->regions.has_failed;
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
    axp__viz_begin_list(&z->out);
    axp_status status = read_devices(z, device, end);
    axp__viz_end_item(&z->out);
    keep_segments(z, &z->segments[device]);
    for (uint32_t i = device + 1; i < end && !status; i++) {
        axp__viz_begin_list(&z->out);
        for (uint64_t k = at; k < z->next_kept[i]; k++)
            add_event(z, &z->kept[k]);
        at += n_events[i];
        axp__viz_end_item(&z->out);
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
    z->out.has_failed |= !n_events;
    if (n_events && n > 1) status = count_events(z, n_events, &n_all);
    uint64_t most = n_all / MOST_READS;
    if (most < LEAST_KEPT) most = LEAST_KEPT;
    z->kept = malloc((n > 1 ? most : 1) * sizeof *z->kept);
    z->out.has_failed |= !z->kept;
    for (uint32_t i = 0; i < n && !status && !z->out.has_failed; i = end) {
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
    axp__viz_string(&z->out, "axprof_devices");
    axp__viz_begin_list(&z->out);
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
        axp__viz_string(&z->out, name);
        axp__viz_end_item(&z->out);
    }
}

static axp_status put_all(struct viz *z)
{
    axp__out_bytes(z->out.o, "\x80\x02}(", 4); /* protocol 2; a dict */
    put_devices(z);
    axp__stream_close(z->s);
    z->s = NULL;
    axp__viz_string(&z->out, "device_traces");
    axp__viz_begin_list(&z->out);
    axp_status status = put_traces(z);
    axp__viz_string(&z->out, "segments");
    axp__viz_begin_list(&z->out);
    for (uint32_t i = 0; i < z->live.n_places; i++)
        axp__viz_segments(&z->out, &z->segments[i], i);
    axp__out_bytes(z->out.o, "u.", 2);
    if (!status && (z->out.has_failed || z->out.paths.has_failed))
        status = axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    return status;
}

static bool init(struct viz *z)
{
    if (!axp__live_init(&z->live, z->v, z->s)) return false;
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
    axp__live_fini(&z->live);
    axp__stream_close(z->s);
    axp__viz_fini(&z->out);
}

axp_status axp__emit_memory_viz(const axp_view *v, struct axp__out *o)
{
    struct viz z = {.v = v};
    bool has_room = axp__viz_init(&z.out, v, o);
    axp_status status = axp__stream_open(v, AXP__STREAM_RAW, &z.s);
    if (!status)
        status = has_room && init(&z)
                     ? put_all(&z)
                     : axp__fail(AXP_E_NO_MEMORY, "no memory to export");
    fini(&z);
    return status;
}
