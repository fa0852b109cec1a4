/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The one reader of words; see wire_decode.h. */
#include "wire/wire_decode.h"

void axp__decoder_init(struct axp__decoder *d, const uint64_t *words,
                       size_t n_words, uint64_t base_ticks)
{
    d->words = words;
    d->n_words = n_words;
    d->at = 0;
    d->base_ticks = base_ticks;
    d->is_damaged = false;
}

static bool stop_damaged(struct axp__decoder *d)
{
    d->is_damaged = true;
    d->at = d->n_words;
    return false;
}

bool axp__decoder_next_slow(struct axp__decoder *d, struct axp__wire_event *out)
{
    while (d->at < d->n_words && d->words[d->at]) {
        uint64_t head = d->words[d->at];
        enum axp__word_kind kind = axp__word_kind(head);
        size_t n = axp__record_words(d->words + d->at, d->n_words - d->at);
        if (!n) return stop_damaged(d);
        const uint64_t *payload = d->words + d->at + 1;
        d->at += n;

        if (kind == AXP__W_TIME) {
            d->base_ticks = payload[0];
            continue;
        }
        out->kind = kind;
        out->name = axp__word_name(head);
        out->ticks = d->base_ticks + axp__word_delta(head);
        out->payload = payload;
        out->n_payload = n - 1;
        if (kind == AXP__W_EXT) {
            out->ext = (enum axp__ext_kind)(payload[0] & 255);
            out->argument = (uint32_t)(payload[0] >> 32);
            out->payload++;
            out->n_payload--;
        }
        return true;
    }
    return false;
}
