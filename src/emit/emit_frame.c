/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "emit/emit_frame.h"

#include <stdio.h>
#include <string.h>

const char *axp__frame_text(const axp_frame *f, char buf[AXP__FRAME_TEXT])
{
    const char *slash = f->module ? strrchr(f->module, '/') : NULL;
    if (f->function) return f->function;
    snprintf(buf, AXP__FRAME_TEXT, "%.256s%s0x%llx",
             slash       ? slash + 1
             : f->module ? f->module
                         : "",
             f->module ? "+" : "", (unsigned long long)f->offset);
    return buf;
}
