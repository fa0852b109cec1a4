/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that calls everything it has what axprof calls its own: scopes,
 * counters, a thread, tracks, memory, metadata. */
#include <time.h>

#include <axprof/axprof.h>

static const char *const texts[] = {"process batch",
                                    "process.count",
                                    "(other)",
                                    "(root)",
                                    "(seen from outside)",
                                    "process.cpu_cores",
                                    "process.rss_bytes",
                                    "cgroup.memory_bytes",
                                    "join wait",
                                    "mutex wait",
                                    "thread begins",
                                    "texts_program",
                                    "texts_program+0x1149"};

static void use(const char *text)
{
    axp_profiler *p = axp_global();
    struct timespec ms = {0, 1000000};
    axp_start(p, text);
    nanosleep(&ms, NULL);
    axp_record_alloc(p, text, 1000);
    axp_event(p, text, AXP_EVENT_CUSTOM, text);
    axp_stop(p, text);
    axp_counter(p, text, 7);
    axp_track_span(axp_track_create(p, text), text, 1000, 2000, NULL);
}

int main(void)
{
    axp_thread_name(axp_global(), "(seen from outside)");
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        use(texts[i]);
    return 0;
}
