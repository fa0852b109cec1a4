/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Words for types of events; see emit_record.h. */
#include "emit/emit_record.h"

const char *axp__word_event(unsigned type)
{
    static const char *const words[] = {"start", "end",    "instant", "alloc",
                                        "free",  "custom", "counter", "step"};
    return type < sizeof words / sizeof *words ? words[type] : "custom";
}
