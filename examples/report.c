/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reports: the summary on standard output, and files in several formats. */
#include <axprof/axprof_read.h>
#include <string.h>

#include "example_check.h"

/* Whether the file is there and says so; it is removed. */
static int file_has(const char *path, const char *text)
{
    char line[4096];
    int found = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, text)) found = 1;
    if (f) fclose(f);
    return remove(path) == 0 && found;
}

int main(void)
{
    axp_profiler *profiler = axp_profiler_create(NULL);
    CHECK(profiler);
    axp_start(profiler, "forward_pass");
    work_for_ms(5);
    axp_stop(profiler, "forward_pass");
    axp_record_alloc(profiler, "tensor", 1024);
    axp_print_summary(profiler);

    axp_view *view = axp_snapshot(profiler);
    CHECK(view);
    CHECK(axp_report_export(view, "profile.txt", AXP_FORMAT_TEXT) == AXP_OK);
    CHECK(axp_report_export(view, "profile.json", AXP_FORMAT_JSON) == AXP_OK);
    CHECK(axp_report_export(view, "profile.md", AXP_FORMAT_MARKDOWN) == AXP_OK);
    CHECK(axp_report_export(view, "profile.html", AXP_FORMAT_HTML) == AXP_OK);
    CHECK(file_has("profile.txt", "Memory Statistics"));
    CHECK(file_has("profile.json", "\"total_allocated\": 1024"));
    CHECK(file_has("profile.md", "## Compute Statistics"));
    CHECK(file_has("profile.html", "<!DOCTYPE html>"));
    CHECK(axp_report_export(view, "/no/such/place", AXP_FORMAT_TEXT) ==
          AXP_E_IO);
    printf("%s\n", axp_last_error());

    axp_view_destroy(view);
    axp_profiler_destroy(profiler);
    return 0;
}
