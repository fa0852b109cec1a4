/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Writes the pages that the browser tests open, and beside each what the page
 * must show, computed here from the view's raw events without the emitter.
 *
 *   pages golden DIR           the six golden runs: NAME.html
 *   pages random DIR SEED N    a random run of about N events, with the truth
 *   pages big DIR N            N events in a plain training loop
 */
#include "golden/golden_traces.h"

#include "test_support.h"

#include "model/model_view.h"

static char path[4096];

static const char *in(const char *dir, const char *name, const char *ending)
{
    snprintf(path, sizeof path, "%s/%s%s", dir, name, ending);
    return path;
}

static void write_page(const axp_view *v, const char *to)
{
    if (axp_report_export(v, to, AXP_FORMAT_HTML)) {
        fprintf(stderr, "%s: %s\n", to, axp_last_error());
        exit(1);
    }
}

static int write_golden(const char *dir)
{
    golden_init();
    for (size_t i = 0; i < GOLDEN_N; i++) {
        axp_view *v = golden_view(i);
        write_page(v, in(dir, golden_names[i], ".html"));
        axp_view_destroy(v);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "golden")) return write_golden(argv[2]);
    fprintf(stderr, "usage: pages golden DIR\n");
    return 2;
}
