/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "emit/emit_frame.h"

#include <stdio.h>
#include <string.h>

#include "base/base_text.h"

const char *axp__frame_text(const axp_frame *f, char buf[AXP__FRAME_TEXT])
{
    if (f->function) return f->function;
    snprintf(buf, AXP__FRAME_TEXT, "%.256s%s0x%llx",
             f->module ? axp__text_last_part(f->module) : "",
             f->module ? "+" : "", (unsigned long long)f->offset);
    return buf;
}
