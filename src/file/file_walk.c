/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From block to block of a file that is open; see file_walk.h. */
#include "file/file_walk.h"

#include <string.h>

void axp__file_walk_begin(struct axp__file_walk *w, const struct axp__file *f)
{
    w->f = f;
    w->entry = (struct axp__index_entry){0};
    w->n = 0;
    w->is_bad = false;
    w->at = f->block_at ? 0 : f->end + AXP__BLOCK_HEAD;
    w->end = w->at + f->index_bytes;
    w->bytes = (struct axp__bytes){w->buffer, w->buffer, false};
}

/* Moves what is left to the front and reads on. */
static bool fill(struct axp__file_walk *w)
{
    size_t left = axp__bytes_left(&w->bytes), n = sizeof w->buffer - left;
    if (n > w->end - w->at) n = (size_t)(w->end - w->at);
    memmove(w->buffer, w->bytes.at, left);
    if (!axp__file_read_at(w->f, w->at, w->buffer + left, n)) return false;
    w->at += n;
    w->bytes = (struct axp__bytes){w->buffer, w->buffer + left + n, false};
    return true;
}

static bool is_sound(const struct axp__index_entry *e, uint64_t from,
                     uint64_t end)
{
    uint8_t head[AXP__BLOCK_HEAD];
    struct axp__block b;
    axp__block_put(head, &e->block);
    return e->at >= from && e->at < end && e->at % 8 == 0 &&
           axp__block_get(head, &b) == AXP__BLOCK_OK &&
           axp__block_span(&b) <= end - e->at;
}

static bool next_in_index(struct axp__file_walk *w)
{
    uint64_t from =
        w->n ? w->entry.at + axp__block_span(&w->entry.block) : AXP__FILE_HEAD;
    if (axp__bytes_left(&w->bytes) < AXP__INDEX_ENTRY_MAX && w->at < w->end &&
        !fill(w))
        w->is_bad = true;
    if (w->is_bad) return false;
    bool has_next = axp__index_get(&w->bytes, &w->entry);
    w->is_bad =
        w->bytes.is_bad || (has_next && !is_sound(&w->entry, from, w->f->end));
    return has_next && !w->is_bad;
}

/* A head that changed since it was found is passed over. */
static bool next_head(struct axp__file_walk *w)
{
    while (w->at < w->f->n_blocks) {
        w->entry.at = axp__place_at(w->f->block_at, w->at++);
        if (axp__file_head_at(w->f, w->entry.at, &w->entry.block)) return true;
    }
    return false;
}

bool axp__file_walk_next(struct axp__file_walk *w)
{
    if (!(w->f->block_at ? next_head(w) : next_in_index(w))) return false;
    w->n++;
    return true;
}
