/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The calls that write a report; see emit_report.h. */
#include "emit/emit_report.h"

#include <stdlib.h>

#include "base/base_sized.h"
#include "base/base_number.h"
#include "emit/emit_short.h"
#include "record/record_thread.h"

struct job {
    const axp_view *v;
    axp_format format;
    const axp_report_options *options;
};

char *axp__applied(const axp_findings *f)
{
    size_t cap = 64, len = 0;
    for (size_t i = 0; i < AXP__N_THRESHOLDS; i++)
        cap += strlen(axp__thresholds[i].key) + 32;
    for (size_t i = 0; i < f->n_ignored; i++)
        cap += strlen(f->ignored[i]) + 16;
    char *line = malloc(cap);
    if (!line) return NULL;
    len = axp__append(line, cap, 0, "thresholds:");
    for (size_t i = 0; i < AXP__N_THRESHOLDS; i++) {
        axp__cell number;
        if (f->threshold[i] == axp__thresholds[i].value) continue;
        len = axp__append(line, cap, len, " ");
        len = axp__append(line, cap, len, axp__thresholds[i].key);
        len = axp__append(line, cap, len, "=");
        axp__short_number(number, f->threshold[i]);
        len = axp__append(line, cap, len, number);
    }
    bool is_changed = line[len - 1] != ':';
    len = axp__append(line, cap, len, is_changed ? ", else" : "");
    len = axp__append(line, cap, len, " the defaults");
    for (size_t i = 0; i < f->n_ignored; i++) {
        len = axp__append(line, cap, len, i ? " " : "; ignored: ");
        len = axp__append(line, cap, len, f->ignored[i]);
    }
    return line;
}

static const char all_formats[] =
#define REPORT(which, word, function) " " word
#include "emit/emit_report.def"
#undef REPORT
    ;

static axp_status find(axp_format format, axp__report_fn *fn)
{
    switch (format) {
#define REPORT(which, word, function)                                          \
    case which:                                                                \
        *fn = function;                                                        \
        return AXP_OK;
#include "emit/emit_report.def"
#undef REPORT
    }
    return axp__fail(AXP_E_INVALID, "%d is no report format: use one of%s",
                     (int)format, all_formats);
}

static axp_status emit(struct axp__out *o, void *ctx)
{
    const struct job *job = ctx;
    axp_report_options options = {0};
    if (job->options &&
        !axp__sized_take(&options, sizeof options, job->options,
                         AXP__SIZE_TO(axp_report_options, thresholds)))
        return axp__fail(AXP_E_INVALID, "axp_report_options has no valid size");
    axp__report_fn fn = NULL;
    axp_status status = find(job->format, &fn);
    if (status) return status;
    axp_findings *f;
    status = axp__analyze(job->v, options.thresholds, &f);
    if (status) return status;
    status = fn(job->v, f, &options, o);
    axp_findings_destroy(f);
    return status;
}

axp_status axp_report_write_ex(const axp_view *v, axp_format format,
                               const axp_report_options *o, FILE *to)
{
    struct job job = {v, format, o};
    if (!v || !to)
        return axp__fail(AXP_E_INVALID, "a report needs a view and a file");
    return axp__out_to_file(to, emit, &job);
}

axp_status axp_report_write(const axp_view *v, axp_format format, FILE *to)
{
    return axp_report_write_ex(v, format, NULL, to);
}

axp_status axp_report_export(const axp_view *v, const char *path,
                             axp_format format)
{
    struct job job = {v, format, NULL};
    if (!v) return axp__fail(AXP_E_INVALID, "a report needs a view");
    return axp__out_to_path(path, emit, &job);
}

void axp_print_summary(axp_profiler *p)
{
    axp_view *v = axp_snapshot(p);
    if (!v) return;
    axp_report_write(v, AXP_FORMAT_TEXT, stdout);
    axp_view_destroy(v);
}
