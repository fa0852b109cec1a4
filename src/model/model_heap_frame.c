/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The frame that a place of the heap is called by. */
#include "base/base_text.h"
#include "model/model_view.h"
#include "symbol/symbol_standard.h"

/* Files whose functions allocate for others. */
static bool is_library(const char *module)
{
    static const char *const names[] = {"libc.so", "libstdc++.so", "ld-linux",
                                        "libaxprof_"};
    const char *file = module ? axp__text_last_part(module) : "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(file, names[i], strlen(names[i]))) return true;
    return false;
}

const axp_frame *axp__heap_frame(const axp_frame *frames, size_t n)
{
    const axp_frame *first = NULL;
    for (size_t i = 0; i < n; i++) {
        const axp_frame *f = &frames[i];
        if (is_library(f->module)) continue;
        if (!axp__code_is_standard(f->function, f->file)) return f;
        if (!first) first = f;
    }
    return first ? first : frames; /* all of them are */
}
