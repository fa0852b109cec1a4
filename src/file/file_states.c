/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* States of threads in a file; see file_states.h. */
#include "file/file_states.h"

#include "wire/wire_states.h"

#define LEAST_BYTES 8u /* of a record */

bool axp__file_states_check(const struct axp__block *b, const uint8_t *body)
{
    struct axp__bytes bytes = {body, body + b->body_bytes, false};
    for (uint32_t i = 0; i < b->n && !bytes.is_bad; i++)
        (void)axp__states_get(&bytes);
    return !bytes.is_bad && bytes.at == bytes.end;
}

static bool read_block(void *ctx, const struct axp__block *b,
                       struct axp__bytes body)
{
    struct axp__capture *c = ctx;
    for (uint32_t i = 0; i < b->n; i++) {
        struct axp__thread_states s = axp__states_get(&body);
        if (body.is_bad) break;
        c->states[c->n_states++] = s;
    }
    return true;
}

bool axp__file_states(struct axp__file *f, struct axp__capture *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < f->n_entries; i++) {
        const struct axp__block *b = &f->entry[i].block;
        if (b->kind != AXP__B_STATES) continue;
        if (b->n > b->body_bytes / LEAST_BYTES) {
            f->n_damaged++;
            f->entry[i].block.kind = AXP__B_NONE;
        } else {
            n += b->n;
        }
    }
    if (!n) return true;
    c->states = axp__cap_take(c, (size_t)n, sizeof *c->states);
    return c->states && axp__file_each_body(f, AXP__B_STATES, read_block, c);
}

bool axp__file_states_write(struct axp__pen *pen, const struct axp__capture *c)
{
    uint8_t bytes[AXP__STATES_BYTES];
    axp__pen_gather(pen, AXP__B_STATES, 0);
    for (size_t i = 0; i < c->n_states; i++)
        if (!axp__pen_records(pen, 1, bytes,
                              axp__states_put(bytes, &c->states[i])))
            return false;
    return axp__pen_flush(pen);
}
