/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a frame of a stack is called where it has no function's name. */
#ifndef AXP_EMIT_FRAME_H
#define AXP_EMIT_FRAME_H
#include "axprof/axprof_read.h"

#define AXP__FRAME_TEXT 300u

/* The function; else "MODULE+0xOFFSET", with the module's last name; else
 * "0xADDRESS". In buf, unless it is the function. */
const char *axp__frame_text(const axp_frame *f, char buf[AXP__FRAME_TEXT]);

#endif
