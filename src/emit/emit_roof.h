/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What reports share of the roofline (emit_text_roof.c), and its members as
 * JSON (emit_json_roof.c). */
#ifndef AXP_EMIT_ROOF_H
#define AXP_EMIT_ROOF_H
#include "analyze/analyze_roof.h"
#include "emit/emit_json_out.h"

/* "24.7 GFLOP/s over the run, 14.9 % of 166 (f32 neon, 2 threads)"; "": nothing
 * was declared. */
char *axp__roof_about_run(const struct axp__roof_run *r, char *out,
                          size_t size);
struct axp__roof_row {
    axp_ns total_ns;
    size_t op; /* its place in v->ops */
};
/* Those that have a roof, most time first; malloc, NULL: no memory. */
struct axp__roof_row *axp__roof_rows(const axp_view *v,
                                     const struct axp__roofs *roofs, size_t *n);

/* "roofline" of an operation; members about the run, of an object that is
 * open. */
void axp__json_roof(struct axp__json *j, const struct axp__roof *r);
void axp__json_utilisation(struct axp__json *j, const struct axp__roof_run *r);

#endif
