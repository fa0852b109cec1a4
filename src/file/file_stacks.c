/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* STACKS blocks; see file_stacks.h. */
#include "file/file_stacks.h"

#include <string.h>

#include "tally/tally_modules.h"

/* Which table a block belongs to, and where it begins in it. */
static unsigned table_of(const struct axp__block *b, uint64_t *first)
{
    bool is_outside = b->seq >= AXP__STACKS_OUTSIDE;
    *first = is_outside ? b->seq - AXP__STACKS_OUTSIDE : b->seq;
    return is_outside;
}

/* One past the last id that a block may have; 0: none. A stack takes a byte. */
static uint64_t end_of(const struct axp__file *f, const struct axp__block *b,
                       uint64_t first)
{
    uint64_t n = b->n < b->body_bytes ? b->n : b->body_bytes;
    uint64_t end = first + n;
    /* Those before it are in the file too, if only damaged. */
    uint64_t most = f->bytes + AXP__STACK_FIRST;
    if (most > AXP__STACKS_OUTSIDE) most = AXP__STACKS_OUTSIDE;
    return first < most ? end < most ? end : most : 0;
}

static bool widen(struct axp__capture *c, struct axp__cap_stacks *s,
                  uint64_t end)
{
    if (end <= s->n) return true;
    const uint8_t **at = axp__cap_take(c, (size_t)end, sizeof *at);
    if (!at) return false;
    if (s->n) memcpy(at, s->at, s->n * sizeof *at);
    s->at = at;
    s->n = (uint32_t)end;
    return true;
}

static bool read_stacks(void *ctx, const struct axp__block *b,
                        struct axp__bytes body)
{
    struct axp__capture *c = ctx;
    uint64_t id;
    struct axp__cap_stacks *to = &c->stacks[table_of(b, &id)];
    size_t n = axp__bytes_left(&body);
    uint8_t *copy = axp__cap_take(c, n, 1);
    if (!copy) return false;
    memcpy(copy, body.at, n);
    body = (struct axp__bytes){copy, copy + n, false};
    for (uint64_t end = id + b->n; id < end && id < to->n; id++) {
        const uint8_t *at = body.at;
        bool is_there = axp__stack_get(&body, NULL, 0);
        if (body.is_bad) break;
        if (is_there && !to->at[id]) to->at[id] = at;
    }
    return true;
}

bool axp__file_stacks(struct axp__file *f, const struct axp__about *about,
                      struct axp__capture *c)
{
    uint64_t end[2] = {0, 0};
    for (size_t i = 0; i < f->n_entries; i++) {
        uint64_t first, last;
        if (f->entry[i].block.kind != AXP__B_STACKS) continue;
        unsigned table = table_of(&f->entry[i].block, &first);
        last = end_of(f, &f->entry[i].block, first);
        if (last > end[table]) end[table] = last;
    }
    if (!widen(c, &c->stacks[0], end[0]) || !widen(c, &c->stacks[1], end[1]) ||
        ((end[0] || end[1]) &&
         !axp__file_each_body(f, AXP__B_STACKS, read_stacks, c)))
        return false;
    if (!axp__cap_has_stacks(c)) return true;
    for (size_t i = 0; i < about->n; i++)
        if (!strncmp(about->pair[i].key, "map.", 4) &&
            !axp__cap_add_module(c, about->pair[i].value, about->pair[i].len))
            return false;
    return true;
}

/* ---- writing -------------------------------------------------------------------------- */

static size_t length_of(const uint8_t *stack)
{
    struct axp__bytes b = {stack, stack + AXP__STACK_BYTES(AXP__STACK_MOST),
                           false};
    (void)axp__stack_get(&b, NULL, 0);
    return (size_t)(b.at - stack);
}

bool axp__file_stacks_write(struct axp__pen *pen, const struct axp__capture *c)
{
    static const uint8_t none[] = {0};
    for (uint32_t table = 0; table < 2; table++) {
        const struct axp__cap_stacks *s = &c->stacks[table];
        uint32_t i = table ? 0 : AXP__STACK_FIRST;
        axp__pen_gather(pen, AXP__B_STACKS,
                        table ? AXP__STACKS_OUTSIDE : AXP__STACK_FIRST);
        for (; i < s->n; i++) {
            const uint8_t *at = s->at[i];
            if (!axp__pen_records(pen, 1, at ? at : none,
                                  at ? length_of(at) : 1))
                return false;
        }
        if (!axp__pen_flush(pen)) return false;
    }
    return true;
}

/* ---- questions ------------------------------------------------------------------------ */

bool axp__file_stacks_check(const struct axp__block *b, const uint8_t *body)
{
    struct axp__bytes bytes = {body, body + b->body_bytes, false};
    for (uint32_t i = 0; i < b->n && !bytes.is_bad; i++)
        (void)axp__stack_get(&bytes, NULL, 0);
    return !bytes.is_bad && bytes.at == bytes.end;
}

uint64_t axp__file_stacks_count(const struct axp__capture *c)
{
    uint64_t n = 0;
    for (unsigned table = 0; table < 2; table++)
        for (uint32_t i = 0; i < c->stacks[table].n; i++)
            n += c->stacks[table].at[i] != NULL;
    return n;
}
