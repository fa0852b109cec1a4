/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory tracking: current and peak, what each name held, what is unfreed. */
#include <axprof/axprof_read.h>
#include <string.h>

#include "example_check.h"

#define MB ((size_t)1024 * 1024)

int main(void)
{
    axp_profiler *profiler = axp_profiler_create(NULL);
    char bytes[32];
    CHECK(profiler);

    axp_record_alloc(profiler, "weights", 4 * MB);
    axp_record_alloc(profiler, "activations", 2 * MB);
    printf("Current: %s\n",
           axp_format_bytes(bytes, sizeof bytes, axp_current_memory(profiler)));
    printf("Peak: %s\n",
           axp_format_bytes(bytes, sizeof bytes, axp_peak_memory(profiler)));
    CHECK(axp_current_memory(profiler) == 6 * MB);

    axp_record_free(profiler, "activations", 2 * MB);
    CHECK(axp_current_memory(profiler) == 4 * MB);
    CHECK(axp_peak_memory(profiler) == 6 * MB);

    axp_view *view = axp_snapshot(profiler);
    axp_memory_name names[2];
    axp_leak leaks[2];
    CHECK(view);
    CHECK(axp_view_memory_names(view, names, 2) == 2);
    CHECK(!strcmp(names[0].name, "weights"));
    CHECK(names[0].at_peak_bytes == 4 * MB && names[1].at_peak_bytes == 2 * MB);
    CHECK(axp_view_leaks(view, leaks, 2) == 1);
    printf("Not freed: %s, %s\n", leaks[0].name,
           axp_format_bytes(bytes, sizeof bytes, leaks[0].bytes));
    CHECK(!strcmp(leaks[0].name, "weights") && leaks[0].bytes == 4 * MB);

    axp_view_destroy(view);
    axp_profiler_destroy(profiler);
    return 0;
}
