/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gpt_data.c: the synthetic text. */
#include "gpt_data.h"

#include <stdbool.h>

#include "gpt_memory.h"
#include "gpt_profile.h"
#include "gpt_random.h"

static bool is_among(uint32_t word, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] == word) return true;
    return false;
}

/* Draws distinct words. */
static void draw_choices(gpt_text *text, uint32_t *choices)
{
    for (size_t i = 0; i < GPT_TEXT_CHOICES; i++)
        do
            choices[i] = (uint32_t)(gpt_random(&text->random) % text->vocab);
        while (is_among(choices[i], choices, i));
}

void gpt_text_init(gpt_text *text, size_t vocab, uint64_t seed)
{
    *text = (gpt_text){.vocab = vocab, .random = seed};
    text->next = gpt_alloc("text", AXP_MEM_INPUT, vocab, sizeof *text->next);
    for (size_t word = 0; word < vocab; word++)
        for (size_t parity = 0; parity < 2; parity++)
            draw_choices(text, text->next[word][parity]);
}

void gpt_text_destroy(gpt_text *text)
{
    gpt_free(text->next);
    *text = (gpt_text){0};
}

static void advance(gpt_text *text)
{
    static const unsigned char pick[8] = {0, 0, 0, 0, 1, 1, 2, 3};
    const uint32_t *choices = text->next[text->last][text->before_last % 2];
    text->before_last = text->last;
    text->last = choices[pick[gpt_random(&text->random) >> 61]];
}

void gpt_text_batch(gpt_text *text, uint32_t *tokens, uint32_t *targets,
                    size_t count)
{
    AXP_SCOPE("data");
    AXP_CATEGORY(AXP_CAT_DATA);
    {
        /* Integers: no flops, and two words written for each. */
        AXP_SCOPE_WORK("batch", .bytes = 2.0 * (double)count * sizeof *tokens);
        for (size_t i = 0; i < count; i++) {
            tokens[i] = text->last;
            advance(text);
            targets[i] = text->last;
        }
    }
}
