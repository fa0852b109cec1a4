/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How the parts of a memory snapshot are written: emit_memory_viz.c says what
 * happened, emit_memory_viz_put.c puts it into a pickle.
 *
 * Pickle     protocol 2, only opcodes that the viewer's own reader knows.
 *            Keys, frames and lists of frames are written once and then
 *            referred to, so that an event is some 60 bytes.
 */
#ifndef AXP_EMIT_MEMORY_VIZ_H
#define AXP_EMIT_MEMORY_VIZ_H
#include "emit/emit_blocks.h"
#include "emit/emit_out.h"
#include "model/model_view.h"

enum axp__viz_key {
#define X(id, text) AXP__VIZ_##id,
#include "emit/emit_memory_viz.def"
#undef X
    AXP__VIZ_N_KEYS
};

#define AXP__VIZ_MOST_FRAMES 64u
/* In a path, after all names: the stack of an allocation. */
#define AXP__VIZ_STACK(id) (AXP__MAX_NAMES + (id))

struct axp__viz {
    const axp_view *v;
    struct axp__out *o;
    struct axp__out *text; /* one string, made valid */
    struct axp__paths paths;
    uint32_t *path_memo, *name_memo; /* 0: not written yet */
    uint32_t cap_path_memo, next_memo;
    bool is_known[AXP__VIZ_N_KEYS]; /* written, and remembered as its number */
    bool has_failed;
};

struct axp__viz_segments { /* of one device, once its trace is written */
    struct axp__regions regions;
    struct axp__block_map blocks; /* sorted */
};

bool axp__viz_init(struct axp__viz *z, const axp_view *v, struct axp__out *o);
void axp__viz_fini(struct axp__viz *z);
void axp__viz_string(struct axp__viz *z, const char *text);
/* ALLOC, FREE_REQUESTED or FREE_COMPLETED of a block, as an item of a list. */
void axp__viz_entry(struct axp__viz *z, enum axp__viz_key action,
                    axp_ns time_ns, const struct axp__block_at *b);
/* Items of a list too. */
void axp__viz_segments(struct axp__viz *z, const struct axp__viz_segments *list,
                       uint32_t device);

static inline void axp__viz_begin_list(struct axp__viz *z)
{
    axp__out_char(z->o, ']');
}

static inline void axp__viz_end_item(struct axp__viz *z) /* after each */
{
    axp__out_char(z->o, 'a');
}

#endif
