/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The roofline in the JSON report. */
#include "emit/emit_roof.h"
#include "emit/emit_words.h"

/* Of the run, by what its outermost scopes declared. */
void axp__json_utilisation(struct axp__json *j, const struct axp__roof_run *r)
{
    bool is_any = r->flops_per_s > 0, is_known = is_any && r->peak > 0;
    axp__json_known(j, "flops", is_any, r->flops);
    axp__json_known(j, "flops_per_s", is_any, r->flops_per_s);
    axp__json_known(j, "peak_flops_per_s", is_known, r->peak);
    axp__json_text(j, "peak_dtype",
                   is_known ? axp__word_dtype(r->dtype ? r->dtype : AXP_F32)
                            : NULL);
    axp__json_text(j, "peak_isa", is_known ? r->isa : NULL);
    axp__json_known(j, "peak_threads", is_known && r->threads, r->threads);
    axp__json_known(j, "utilisation", is_known, r->flops_per_s / r->peak);
}

/* null: nothing was declared, or the machine is not known. */
void axp__json_roof(struct axp__json *j, const struct axp__roof *r)
{
    if (!r->is_known) {
        axp__json_text(j, "roofline", NULL);
        return;
    }
    axp__json_object(j, "roofline");
    axp__json_known(j, "flops_per_s", r->flops > 0, r->flops);
    axp__json_known(j, "bytes_per_s", r->bytes > 0, r->bytes);
    axp__json_known(j, "roof_flops_per_s", r->flops > 0, r->roof_flops);
    axp__json_known(j, "roof_bytes_per_s", r->roof_bytes > 0, r->roof_bytes);
    axp__json_f64(j, "share", r->share);
    axp__json_text(j, "bound_by", axp__roof_bound(r));
    axp__json_known(j, "threads", r->threads, r->threads);
    axp__json_bool(j, "is_raised", r->is_raised);
    axp__json_bool(j, "is_impossible", r->is_impossible);
    axp__json_end(j, '}');
}
