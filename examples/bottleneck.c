/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bottleneck analysis: what to change first, and what that is worth. */
#include <axprof/axprof_read.h>
#include <string.h>

#include "example_check.h"

static void run(axp_profiler *profiler)
{
    for (int i = 0; i < 4; i++) {
        axp_start(profiler, "matmul");
        work_for_ms(10);
        axp_stop(profiler, "matmul");
        axp_start(profiler, "relu");
        work_for_ms(1);
        axp_stop(profiler, "relu");
    }
    axp_record_alloc(profiler, "cache", 1 << 20); /* never freed */
}

static const axp_finding *find(const axp_findings *findings,
                               axp_finding_type type)
{
    for (size_t i = 0; i < axp_findings_count(findings); i++)
        if (axp_findings_at(findings, i)->type == type)
            return axp_findings_at(findings, i);
    return NULL;
}

int main(void)
{
    static const char *const names[] = {"low", "medium", "high", "critical"};
    axp_profiler *profiler = axp_profiler_create(NULL);
    CHECK(profiler);
    run(profiler);
    axp_view *view = axp_snapshot(profiler);
    CHECK(view);

    axp_findings *bottlenecks = axp_analyze(view, NULL);
    CHECK(bottlenecks);
    for (size_t i = 0; i < axp_findings_count(bottlenecks); i++) {
        const axp_finding *b = axp_findings_at(bottlenecks, i);
        printf("[%s] %s: %s\n", names[b->severity], b->name, b->description);
        printf("  Suggestion: %s\n", b->suggestion);
    }
    const axp_finding *slow = find(bottlenecks, AXP_SLOW_OPERATION);
    CHECK(slow && slow == axp_findings_at(bottlenecks, 0));
    CHECK(!strcmp(slow->name, "matmul") && slow->severity == AXP_CRITICAL);
    CHECK(slow->saving_is_bound && slow->saving_ns >= 40000000);
    const axp_finding *leak = find(bottlenecks, AXP_MEMORY_LEAK);
    CHECK(leak && !strcmp(leak->name, "cache"));
    CHECK(find(bottlenecks, AXP_MEMORY_HOTSPOT));
    CHECK(axp_findings_write(bottlenecks, stdout) == AXP_OK);
    axp_findings_destroy(bottlenecks);

    /* With a configuration of one's own. */
    const char *const ignore[] = {"memory_hotspot:cache"};
    const axp_thresholds thresholds = {.slow_op_pct = 99,
                                       .skip_memory_leaks = true,
                                       .ignore = ignore,
                                       .n_ignore = 1};
    bottlenecks = axp_analyze(view, &thresholds);
    CHECK(bottlenecks && axp_findings_count(bottlenecks) == 0);
    CHECK(axp_findings_write(bottlenecks, stdout) == AXP_OK);
    axp_findings_destroy(bottlenecks);

    axp_view_destroy(view);
    axp_profiler_destroy(profiler);
    return 0;
}
