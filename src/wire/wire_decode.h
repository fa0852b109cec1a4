/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Words back into events.
 *
 * Place    readers of a timeline: one decoder a chunk, in the chunk's order.
 * Input    untrusted: any sequence of words. A word that cannot be, or a
 *          payload that passes the end, ends the chunk.
 */
#ifndef AXP_WIRE_DECODE_H
#define AXP_WIRE_DECODE_H
#include <stdbool.h>
#include <stddef.h>

#include "base/base_atomic.h"
#include "wire/wire_word.h"

struct axp__decoder {
    const uint64_t *words;
    size_t n_words, at;
    uint64_t base_ticks;
    bool is_damaged; /* stopped at something impossible */
};

struct axp__wire_event {
    enum axp__word_kind kind;
    enum axp__ext_kind ext; /* where kind is AXP__W_EXT */
    uint32_t name;
    uint32_t argument; /* of an EXT */
    uint64_t ticks;
    const uint64_t *payload; /* after the EXT's own first word; undefined … */
    size_t n_payload;        /* … where this is 0 */
};

void axp__decoder_init(struct axp__decoder *d, const uint64_t *words,
                       size_t n_words, uint64_t base_ticks);
bool axp__decoder_next_slow(struct axp__decoder *d,
                            struct axp__wire_event *out);

/* False at the end. */
static inline bool axp__decoder_next(struct axp__decoder *d,
                                     struct axp__wire_event *out)
{
    uint64_t head = d->at < d->n_words ? d->words[d->at] : 0;
    if (axp__unlikely(!(AXP__PLAIN_KINDS >> (head & 15) & 1)))
        return axp__decoder_next_slow(d, out);
    d->at++;
    out->kind = axp__word_kind(head);
    out->name = axp__word_name(head);
    out->ticks = d->base_ticks + axp__word_delta(head);
    out->n_payload = 0;
    return true;
}

#endif
