/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Public calls whose parts are not there yet: they say so, and never give an
<<<<<<< HEAD
 * empty result. LATER: files, diagnosis and reports replace these,
 * each in a folder of its own. */
=======
 * empty result. LATER: files and exports replace these, each in a folder of its
 * own. */
>>>>>>> main
#include "axprof/axprof_read.h"
#include "record/record_thread.h"

static axp_status later(const char *what)
{
    return axp__fail(AXP_E_UNSUPPORTED, "%s are not part of this version",
                     what);
}

axp_status axp_open(const char *const *paths, size_t n_paths, axp_view **out)
{
    (void)paths, (void)n_paths, (void)out;
    return later("trace files");
}

<<<<<<< HEAD
axp_findings *axp_analyze(const axp_view *v, const axp_thresholds *thresholds)
{
    (void)v, (void)thresholds;
    later("findings");
    return NULL;
}

size_t axp_findings_count(const axp_findings *f)
{
    (void)f;
    later("findings");
    return 0;
}

const axp_finding *axp_findings_at(const axp_findings *f, size_t i)
{
    (void)f, (void)i;
    later("findings");
    return NULL;
}

axp_status axp_findings_write(const axp_findings *f, FILE *to)
{
    (void)f, (void)to;
    return later("findings");
}

void axp_findings_destroy(axp_findings *f)
{
    (void)f;
}

axp_status axp_report_write(const axp_view *v, axp_format format, FILE *to)
{
    (void)v, (void)format, (void)to;
    return later("reports");
}

axp_status axp_report_write_ex(const axp_view *v, axp_format format,
                               const axp_report_options *o, FILE *to)
{
    (void)v, (void)format, (void)o, (void)to;
    return later("reports");
}

axp_status axp_report_export(const axp_view *v, const char *path,
                             axp_format format)
{
    (void)v, (void)path, (void)format;
    return later("reports");
}

void axp_print_summary(axp_profiler *p)
{
    (void)p;
    later("reports");
=======
axp_status axp_export(const axp_view *v, const char *path,
                      axp_export_format format)
{
    (void)v, (void)path, (void)format;
    return later("exports");
}

axp_status axp_export_write(const axp_view *v, axp_export_format format,
                            FILE *to)
{
    (void)v, (void)format, (void)to;
    return later("exports");
>>>>>>> main
}
