/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reports: a view and its findings, in one of the formats of emit_report.def.
 *
 * Input      names and metadata may hold anything: each format escapes them.
 * Same bytes the same view, format and options give the same bytes, whichever
 *            way they are written.
 * Failure    AXP_E_IO, AXP_E_NO_MEMORY, AXP_E_INVALID (options), with the
 *            reason in axp_last_error.
 */
#ifndef AXP_EMIT_REPORT_H
#define AXP_EMIT_REPORT_H
#include "analyze/analyze.h"
#include "emit/emit_out.h"
#include "model/model_view.h"

/* One report into `o`; `options` is never NULL. */
typedef axp_status (*axp__report_fn)(const axp_view *v, const axp_findings *f,
                                     const axp_report_options *options,
                                     struct axp__out *o);
axp_status axp__emit_text(const axp_view *v, const axp_findings *f,
                          const axp_report_options *options,
                          struct axp__out *o);
axp_status axp__emit_json(const axp_view *v, const axp_findings *f,
                          const axp_report_options *options,
                          struct axp__out *o);
axp_status axp__emit_markdown(const axp_view *v, const axp_findings *f,
                              const axp_report_options *options,
                              struct axp__out *o);

axp_status axp__emit_html(const axp_view *v, const axp_findings *f,
                          const axp_report_options *options,
                          struct axp__out *o);

/* "thresholds: rule.threshold=value …, else the defaults": what the findings
 * were made with, in words; malloc, NULL: no memory. May hold any names. */
char *axp__applied(const axp_findings *f);

/* How many findings are shown where the options do not say. */
#define AXP__SHOWN_FINDINGS 10

static inline size_t axp__shown_findings(const axp_findings *f,
                                         const axp_report_options *options)
{
    size_t most =
        options->max_findings ? options->max_findings : AXP__SHOWN_FINDINGS;
    return f->n < most ? f->n : most;
}

#endif
