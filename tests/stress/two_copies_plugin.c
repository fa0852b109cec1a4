/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The plug-in of test_two_copies: records through the shared libaxprof_rt. */
#include "axprof/axprof_adapter.h"

#define PLUGIN __attribute__((visibility("default")))

PLUGIN void plugin_record(axp_profiler *p, int n);
PLUGIN axp_profiler *plugin_global(void);
PLUGIN axp_profiler *plugin_create(const char *path);
PLUGIN uint64_t plugin_count(axp_profiler *p, const char *name);
PLUGIN void plugin_enable(bool enabled);
PLUGIN void plugin_quiet(bool is_quiet);
PLUGIN void plugin_stop(axp_profiler *p, const char *name);

void plugin_record(axp_profiler *p, int n)
{
    for (int i = 0; i < n; i++) {
        AXP_SCOPE("both");
        AXP_SCOPE("plugin");
        AXP_SCOPE_IN(p, "both in");
        axp_record_alloc(p, "plugin", 10);
    }
}

axp_profiler *plugin_global(void)
{
    return axp_global();
}

axp_profiler *plugin_create(const char *path)
{
    return axp_profiler_create(&(axp_options){.path = path});
}

uint64_t plugin_count(axp_profiler *p, const char *name)
{
    return axp_call_count(p, name);
}

void plugin_enable(bool enabled)
{
    axp_set_enabled(axp_global(), enabled);
}

void plugin_quiet(bool is_quiet)
{
    if (is_quiet)
        axp_quiet_begin();
    else
        axp_quiet_undo();
}

void plugin_stop(axp_profiler *p, const char *name)
{
    axp_stop(p, name);
}
