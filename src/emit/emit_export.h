/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The exports: one function a format, behind one table (emit_formats.def).
 *
 * Place      behind axp_export and axp_export_write.
 * Output     each writes through struct axp__out, whose failures are told at
 *            its end: a format goes on and need not look.
 * Memory     a format holds a buffer, what each name is written as, and what is
 *            open: nothing that grows with the number of events, but where
 *            memory-viz has many devices and millions of events.
 */
#ifndef AXP_EMIT_EXPORT_H
#define AXP_EMIT_EXPORT_H
#include "emit/emit_out.h"
#include "model/model_view.h"

struct axp__export_format {
    axp_export_format id;
    const char *name, *description;
    axp_status (*write)(const axp_view *v, struct axp__out *o);
};

/* NULL: no such format. */
const struct axp__export_format *axp__export_format_at(axp_export_format id);

/* Bytes of a name or another text that formats write, at most. */
#define AXP__MOST_NAME 8192u

/* What formats write of a stack that write one for each place of the call tree:
 * all, unless a tree is so deep, or its names are so long, that they would fill
 * gigabytes. */
struct axp__stack_limit {
    size_t n_frames;   /* the innermost */
    size_t name_bytes; /* of each name, from its beginning */
};
/* False: no memory to find out. */
bool axp__export_stack(const axp_view *v, struct axp__stack_limit *most);

#define X(id, name, function, description)                                     \
    axp_status axp__emit_##function(const axp_view *v, struct axp__out *o);
#include "emit/emit_formats.def"
#undef X

#endif
