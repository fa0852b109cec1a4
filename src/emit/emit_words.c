/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Words for enums; see emit_words.h. */
#include "emit/emit_words.h"

#define PICK(words, i)                                                         \
    ((size_t)(i) < sizeof(words) / sizeof *(words) ? (words)[i] : NULL)

const char *axp__word_dtype(axp_dtype dtype)
{
    static const char *const words[] = {NULL,   "f64", "f32", "tf32", "f16",
                                        "bf16", "f8",  "i8",  "c64",  "c128"};
    return PICK(words, dtype);
}

const char *axp__word_mem(axp_mem kind)
{
    static const char *const words[] = {NULL,        "weight",     "gradient",
                                        "optimizer", "activation", "temporary",
                                        "input",     "cache"};
    return PICK(words, kind);
}

const char *axp__word_severity(axp_severity severity)
{
    static const char *const words[] = {"low", "medium", "high", "critical"};
    return PICK(words, severity);
}
