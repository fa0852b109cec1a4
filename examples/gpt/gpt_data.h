/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_data.h: an endless synthetic text to learn from.
 *
 * A word is followed by one of four others, the likeliest half of the time.
 * Which four depends on the word, and on whether the word before it is odd. A
 * model soon learns the first and comes to GPT_TEXT_LAST_WORD; to come to
 * GPT_TEXT_ENTROPY, the best possible, its attention must learn to look back.
 */
#ifndef GPT_DATA_H
#define GPT_DATA_H
#include <stddef.h>
#include <stdint.h>

enum { GPT_TEXT_CHOICES = 4 };

/* Losses in nats. 1.75 bits, for chances of 1/2, 1/4, 1/8 and 1/8; and one bit
 * more, at most, for not knowing about the word before. */
#define GPT_TEXT_ENTROPY 1.2130075659799042
#define GPT_TEXT_LAST_WORD 1.9061547465398496

typedef uint32_t gpt_choices[GPT_TEXT_CHOICES];

typedef struct gpt_text {
    size_t vocab;           /* at least twice GPT_TEXT_CHOICES */
    gpt_choices (*next)[2]; /* [vocab]: what may follow */
    uint64_t random;
    uint32_t last, before_last;
} gpt_text;

void gpt_text_init(gpt_text *text, size_t vocab, uint64_t seed);
void gpt_text_destroy(gpt_text *text);

/* The next count words; targets are the same, one word on. */
void gpt_text_batch(gpt_text *text, uint32_t *tokens, uint32_t *targets,
                    size_t count);

#endif
