/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Keys, frames, entries and segments as a pickle; see emit_memory_viz.h. */
#include "emit/emit_memory_viz.h"

#include <stdlib.h>

#include "emit/emit_export.h"
#include "emit/emit_frame.h"
#include "wire/wire_word.h"

/* ---- pickle ------------------------------------------------------------------------- */

static void put_memo(struct axp__viz *z, char small, char large, uint32_t i)
{
    char bytes[5] = {large, (char)i, (char)(i >> 8), (char)(i >> 16),
                     (char)(i >> 24)};
    if (i < 256) bytes[0] = small;
    axp__out_bytes(z->o, bytes, i < 256 ? 2 : 5);
}

static void get(struct axp__viz *z, uint32_t memo)
{
    put_memo(z, 'h', 'j', memo);
}

static void remember(struct axp__viz *z, uint32_t memo)
{
    put_memo(z, 'q', 'r', memo);
}

static void put_int(struct axp__viz *z, uint64_t value)
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

void axp__viz_string(struct axp__viz *z, const char *text)
{
    axp__out_init(z->text, NULL);
    axp__out_utf8(z->text, text, axp__len_to(text, AXP__MOST_NAME));
    uint32_t n = (uint32_t)z->text->len;
    char head[5] = {'X', (char)n, (char)(n >> 8), (char)(n >> 16),
                    (char)(n >> 24)};
    axp__out_bytes(z->o, head, 5);
    axp__out_bytes(z->o, z->text->buffer, n);
}

static void put_key(struct axp__viz *z, enum axp__viz_key key)
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
    axp__viz_string(z, keys[key]);
    remember(z, key);
    z->is_known[key] = true;
}

static void key_int(struct axp__viz *z, enum axp__viz_key key, uint64_t value)
{
    put_key(z, key);
    put_int(z, value);
}

static void key_key(struct axp__viz *z, enum axp__viz_key key,
                    enum axp__viz_key value)
{
    put_key(z, key);
    put_key(z, value);
}

static void begin_dict(struct axp__viz *z)
{
    axp__out_bytes(z->o, "}(", 2);
}

static void end_dict(struct axp__viz *z)
{
    axp__out_char(z->o, 'u');
}

/* ---- frames ----------------------------------------------------------------------------- */

static void put_frame(struct axp__viz *z, uint32_t name)
{
    uint32_t *memo = &z->name_memo[name & (AXP__MAX_NAMES - 1)];
    if (*memo) {
        get(z, *memo);
        return;
    }
    struct axp__cap_name n = z->v->capture->name_at(z->v->capture, name);
    begin_dict(z);
    put_key(z, AXP__VIZ_FILENAME);
    axp__viz_string(z, n.file ? n.file : "");
    key_int(z, AXP__VIZ_LINE, n.line > 0 ? (uint64_t)n.line : 0);
    put_key(z, AXP__VIZ_NAME);
    axp__viz_string(z, n.text);
    end_dict(z);
    *memo = z->next_memo++;
    remember(z, *memo);
}

static void put_stack(struct axp__viz *z, uint32_t stack)
{
    axp_frame frames[AXP__VIZ_MOST_FRAMES];
    char text[AXP__FRAME_TEXT];
    size_t n = axp_view_stack(z->v, stack, frames, AXP__VIZ_MOST_FRAMES);
    for (size_t i = 0; i < n && i < AXP__VIZ_MOST_FRAMES; i++) {
        const axp_frame *f = &frames[i];
        begin_dict(z);
        put_key(z, AXP__VIZ_FILENAME);
        axp__viz_string(z, f->file ? f->file : f->module ? f->module : "");
        key_int(z, AXP__VIZ_LINE, f->line > 0 ? (uint64_t)f->line : 0);
        put_key(z, AXP__VIZ_NAME);
        axp__viz_string(z, axp__frame_text(f, text));
        end_dict(z);
        axp__viz_end_item(z);
    }
}

static bool widen_memo(struct axp__viz *z)
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

static void put_frames(struct axp__viz *z, uint32_t path)
{
    put_key(z, AXP__VIZ_FRAMES);
    if (path && !widen_memo(z)) {
        z->has_failed = true;
        path = 0;
    }
    if (!path) {
        axp__viz_begin_list(z);
        return;
    }
    if (z->path_memo[path]) {
        get(z, z->path_memo[path]);
        return;
    }
    axp__viz_begin_list(z);
    for (uint32_t i = path; i; i = z->paths.at[i].parent) {
        uint32_t name = z->paths.at[i].name;
        if (name >= AXP__MAX_NAMES) {
            put_stack(z, name - AXP__MAX_NAMES);
            continue;
        }
        put_frame(z, name);
        axp__viz_end_item(z);
    }
    z->path_memo[path] = z->next_memo++;
    remember(z, z->path_memo[path]);
}

/* ---- entries ------------------------------------------------------------------------------ */

void axp__viz_entry(struct axp__viz *z, enum axp__viz_key action,
                    axp_ns time_ns, const struct axp__block_at *b)
{
    begin_dict(z);
    key_key(z, AXP__VIZ_ACTION, action);
    key_int(z, AXP__VIZ_ADDR, b->address);
    key_int(z, AXP__VIZ_SIZE, b->bytes);
    key_int(z, AXP__VIZ_STREAM, 0);
    key_int(z, AXP__VIZ_TIME_US, time_ns / 1000);
    key_int(z, AXP__VIZ_TIME_NS, time_ns);
    put_frames(z, b->path);
    end_dict(z);
    axp__viz_end_item(z);
}

/* ---- segments --------------------------------------------------------------------------------- */

static void put_block(struct axp__viz *z, uint64_t address, uint64_t bytes,
                      const struct axp__block_at *b)
{
    begin_dict(z);
    key_int(z, AXP__VIZ_ADDRESS, address);
    key_int(z, AXP__VIZ_SIZE, bytes);
    key_int(z, AXP__VIZ_REQUESTED_SIZE, b ? bytes : 0);
    key_key(z, AXP__VIZ_STATE,
            b ? AXP__VIZ_ACTIVE_ALLOCATED : AXP__VIZ_INACTIVE);
    put_frames(z, b ? b->path : 0);
    end_dict(z);
    axp__viz_end_item(z);
}

/* Blocks in order with what is between them; the viewer counts addresses from
 * their sizes. Returns how many bytes are live. */
static uint64_t put_blocks(struct axp__viz *z,
                           const struct axp__block_map *blocks, size_t *next,
                           uint64_t from, uint64_t to)
{
    uint64_t at = from, live = 0;
    put_key(z, AXP__VIZ_BLOCKS);
    axp__viz_begin_list(z);
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

void axp__viz_segments(struct axp__viz *z, const struct axp__viz_segments *list,
                       uint32_t device)
{
    size_t next = 0;
    for (size_t i = 0; i < list->regions.n; i++) {
        uint64_t from = list->regions.at[i].from << AXP__BLOCKS_SHIFT;
        uint64_t to = list->regions.at[i].to << AXP__BLOCKS_SHIFT;
        if (to <= from) to = UINT64_MAX;
        begin_dict(z);
        key_int(z, AXP__VIZ_DEVICE, device);
        key_int(z, AXP__VIZ_ADDRESS, from);
        key_int(z, AXP__VIZ_TOTAL_SIZE, to - from);
        key_int(z, AXP__VIZ_STREAM, 0);
        key_key(z, AXP__VIZ_SEGMENT_TYPE, AXP__VIZ_LARGE);
        put_key(z, AXP__VIZ_SEGMENT_POOL_ID);
        put_int(z, 0);
        put_int(z, 0);
        axp__out_char(z->o, (char)0x86); /* TUPLE2 */
        put_frames(z, 0);
        uint64_t live = put_blocks(z, &list->blocks, &next, from, to);
        key_int(z, AXP__VIZ_ALLOCATED_SIZE, live);
        key_int(z, AXP__VIZ_ACTIVE_SIZE, live);
        key_int(z, AXP__VIZ_REQUESTED_SIZE, live);
        end_dict(z);
        axp__viz_end_item(z);
    }
}

/* ---- life ------------------------------------------------------------------------------------- */

bool axp__viz_init(struct axp__viz *z, const axp_view *v, struct axp__out *o)
{
    *z = (struct axp__viz){.v = v, .o = o, .next_memo = AXP__VIZ_N_KEYS};
    z->text = malloc(sizeof *z->text);
    z->name_memo = calloc(AXP__MAX_NAMES, sizeof *z->name_memo);
    return z->text && z->name_memo;
}

void axp__viz_fini(struct axp__viz *z)
{
    axp__paths_fini(&z->paths);
    free(z->text);
    free(z->name_memo);
    free(z->path_memo);
}
